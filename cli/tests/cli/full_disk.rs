//! Full disks, and limits on file sizes. Results are shown or written elsewhere, the exit code is
//! an error's, and no partial file is left.
#![cfg(unix)]

use crate::common::{TREE, chain, command, knapsack, object, run_to, text, three_rows};
use std::path::Path;
use std::process::{Command, Output};

/// Runs a command line where regular files must stay empty.
fn without_room(line: &[&str], temporary: &Path) -> (Output, String, String) {
    let script = "ulimit -f 0; exec \"$0\" \"$@\"";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_remat-bb")])
        .args(line)
        .env("TMPDIR", temporary)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    (output, out, err)
}

fn count(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_plan_beyond_the_size_of_files_goes_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 6);
    let [here, temporary] = ["here", "temporary"].map(|n| folder.path().join(n));
    std::fs::create_dir(&here).unwrap();
    std::fs::create_dir(&temporary).unwrap();
    let plan = here.join("plan.json");
    let line = ["solve", text(&graph), "--budget", "80%", "-q", "--out"];
    run_to(0, &[&line[..], &[text(&plan)]].concat());
    let expected = std::fs::read_to_string(&plan).unwrap();
    let other = here.join("other.json");
    let (output, out, err) = without_room(&[&line[..], &[text(&other)]].concat(), &temporary);
    assert_eq!(output.status.code(), Some(2), "{out}\n{err}");
    assert!(out.contains(&expected) && out.contains("optimal"), "{out}");
    assert!(err.contains("standard output instead"), "{err}");
    // The existing plan is unchanged.
    let (output, _, err) = without_room(&[&line[..], &[text(&plan)]].concat(), &temporary);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert_eq!(std::fs::read_to_string(&plan).unwrap(), expected);
    assert_eq!((count(&here), count(&temporary)), (1, 0));
}

#[test]
fn a_search_whose_files_cannot_be_written_shows_its_result_and_fails() {
    let folder = tempfile::tempdir().unwrap();
    let model = knapsack(folder.path());
    let [here, temporary] = ["here", "temporary"].map(|n| folder.path().join(n));
    std::fs::create_dir(&here).unwrap();
    std::fs::create_dir(&temporary).unwrap();
    let (out, _) = run_to(0, &["mip", text(&model), "-q", "--json"]);
    let objective = object(&out)["objective"].clone();
    let [state, proof] = ["m.state", "m.vipr"].map(|n| here.join(n));
    for (option, file) in [("--checkpoint", &state), ("--certificate", &proof)] {
        let line = ["mip", text(&model), "-q", "--json", option, text(file)];
        let (output, out, err) = without_room(&line, &temporary);
        assert_eq!(output.status.code(), Some(2), "{out}\n{err}");
        let result = object(&out);
        assert_eq!(result["objective"], objective);
        assert_eq!(
            (&result["status"], &result[&option[2..]]),
            (&"optimal".into(), &false.into())
        );
        assert!(
            err.contains("cannot write") && err.contains(text(file)),
            "{err}"
        );
        assert_eq!((count(&here), count(&temporary)), (0, 0));
        let (out, _) = run_to(0, &line);
        assert_eq!(object(&out)[&option[2..]], true);
        std::fs::remove_file(file).unwrap();
    }
    // Nodes that cannot be moved to the disk end the search like the memory limit.
    let model = three_rows(folder.path());
    let limited = [
        "mip",
        text(&model),
        "-q",
        "--json",
        "--memory-limit",
        "20kB",
    ];
    let (output, out, err) = without_room(&[&limited[..], &TREE].concat(), &temporary);
    assert_eq!(output.status.code(), Some(0), "{out}\n{err}");
    let result = object(&out);
    assert_eq!(result["end"], "memory limit");
    assert!(
        result["objective"].is_number() && err.contains("node files"),
        "{err}"
    );
    assert_eq!(count(&temporary), 0);
}

#[test]
fn a_certificate_on_a_full_disk_is_a_failure() {
    if !Path::new("/dev/full").exists() {
        println!("skipped: there is no /dev/full");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let model = knapsack(folder.path());
    for (option, gone) in [
        ("--certificate", "certificate"),
        ("--checkpoint", "checkpoint"),
    ] {
        let line = ["mip", text(&model), "-q", "--json", option, "/dev/full"];
        let (out, err) = run_to(2, &line);
        let result = object(&out);
        assert_eq!(
            (&result["status"], &result[gone]),
            (&"optimal".into(), &false.into())
        );
        assert!(err.contains("cannot write /dev/full: No space"), "{err}");
    }
    let odd = folder.path().join("odd.lp");
    std::fs::write(
        &odd,
        "min\n x\nst\n 2 x - 2 y = 1\nbounds\n x <= 5\n y <= 5\ngeneral\n x y\nend\n",
    )
    .unwrap();
    let line = ["mip", text(&odd), "-q", "--certificate", "/dev/full"];
    let output = command(&line).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("infeasible")
    );
}
