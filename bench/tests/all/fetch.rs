//! `remat-bench fetch` on addresses of files.

use crate::common::{run_to, text};
use remat_bench::library::index::sha256;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The content that the manifest expects.
const RIGHT: &str = "one\n";

/// A folder with the source of one file, and a manifest for it.
struct Case {
    folder: TempDir,
}

impl Case {
    /// A source with this content.
    fn new(content: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        std::fs::create_dir(&source).unwrap();
        std::fs::write(source.join("far.txt"), content).unwrap();
        let entry = format!(
            "{{ name = \"near.txt\", from = \"far.txt\", bytes = {}, sha256 = \"{}\" }}",
            RIGHT.len(),
            sha256(RIGHT)
        );
        let manifest = format!(
            "[[suite]]\nname = \"own\"\nabout = \"a\"\nsource = \"file://{}/\"\npage = \"https://own\"\n\
             licence = \"l\"\nfiles = [{entry}]\n\
             [[suite]]\nname = \"asked\"\nabout = \"b\"\npage = \"https://ask\"\nlicence = \"l\"\n",
            text(&source)
        );
        std::fs::write(folder.path().join("data.toml"), manifest).unwrap();
        Case { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The file in the reader's folder.
    fn file(&self) -> PathBuf {
        self.path("into/own/near.txt")
    }

    /// Standard output and standard error of the command.
    fn fetch(&self, code: i32, more: &[&str]) -> (String, String) {
        let (into, manifest) = (self.path("into"), self.path("data.toml"));
        let fixed = [
            "fetch",
            "--into",
            text(&into),
            "--manifest",
            text(&manifest),
        ];
        let (out, err) = run_to(code, &[&fixed[..], more].concat());
        // Messages are wrapped.
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        (plain(&out), plain(&err).replace(" │", ""))
    }

    /// Writes the file in the reader's folder.
    fn put(&self, content: &str) {
        std::fs::create_dir_all(self.path("into/own")).unwrap();
        std::fs::write(self.file(), content).unwrap();
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_file_is_downloaded_once_and_then_left_alone() {
    let case = Case::new(RIGHT);
    let (out, _) = case.fetch(0, &[]);
    let asked = "asked: no stable address; ask at https://ask";
    assert_eq!(
        out,
        format!("own: 1 of 1 files are right, 1 downloaded {asked}")
    );
    assert_eq!(read(&case.file()), RIGHT);
    // The source is gone, so a second download would fail.
    std::fs::remove_file(case.path("source/far.txt")).unwrap();
    for more in [&["own"][..], &["own", "--check"]] {
        let (out, _) = case.fetch(0, more);
        assert_eq!(out, "own: 1 of 1 files are right, 0 downloaded");
    }
}

#[test]
fn a_wrong_or_truncated_source_is_not_written() {
    for content in ["two\n", "on"] {
        let case = Case::new(content);
        let (_, err) = case.fetch(2, &["own"]);
        for part in [
            "source/far.txt",
            &sha256(RIGHT),
            &sha256(content),
            "https://own",
        ] {
            assert!(err.contains(part), "{part}: {err}");
        }
        assert!(!case.file().exists(), "{content:?}");
    }
}

#[test]
fn a_wrong_file_is_named_and_stays() {
    let case = Case::new(RIGHT);
    case.put("on");
    for more in [&["own"][..], &["own", "--check"]] {
        let (out, err) = case.fetch(2, more);
        assert!(out.starts_with("own: 0 of 1 files are right"), "{out}");
        for part in [
            "near.txt has 2 bytes",
            &sha256("on"),
            &sha256(RIGHT),
            "delete wrong files",
        ] {
            assert!(err.contains(part), "{part}: {err}");
        }
        assert_eq!(read(&case.file()), "on");
    }
}

#[test]
fn a_check_writes_nothing() {
    let case = Case::new(RIGHT);
    let (_, err) = case.fetch(2, &["--check"]);
    assert!(err.contains("near.txt is missing"), "{err}");
    assert!(!case.path("into").exists());
}

#[test]
fn suites_without_an_address_name_their_page() {
    let case = Case::new(RIGHT);
    let (_, err) = case.fetch(2, &["asked"]);
    assert!(err.contains("ask at https://ask"), "{err}");
    let (_, err) = case.fetch(2, &["other"]);
    assert!(err.contains("the suites are own, asked"), "{err}");
}

#[test]
fn a_source_that_is_gone_is_named() {
    let case = Case::new(RIGHT);
    std::fs::remove_file(case.path("source/far.txt")).unwrap();
    let (_, err) = case.fetch(2, &["own"]);
    assert!(err.contains("source/far.txt: curl: (37)"), "{err}");
}
