//! Writes files beside their place and then moves them there, so that a reader never sees a partial
//! file.
//!
//! A link is followed to its target, an existing file keeps its permissions, and a special file (a
//! device, a pipe) is written directly.

use crate::temporary::Temporary;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

/// Links to follow before they count as a circle, as in Linux.
const LINKS: usize = 40;

/// Writes a file from parts, one after the other.
///
/// ```
/// use remat_lp::{temporary::Temporary, whole_file};
/// let folder = Temporary::folder(&std::env::temp_dir(), "remat-example-")?;
/// let path = folder.path().join("file");
/// whole_file::attempt(&path)?;
/// whole_file::write(&path, &[b"one", b" two"])?;
/// assert_eq!(std::fs::read(&path)?, b"one two");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// The error of the system. The old content is kept, unless the file was written in place.
pub fn write(path: &Path, parts: &[&[u8]]) -> Result<()> {
    place(path)?.write(parts)
}

/// Checks whether [`write()`] could write a file, without changing it.
///
/// # Errors
/// The error of the system: a missing folder, a name that is too long or names a folder, a missing
/// permission.
pub fn attempt(path: &Path) -> Result<()> {
    match place(path)? {
        OutputPlace::Beside { target, .. } => part(&target).map(drop),
        OutputPlace::Within(target) => OpenOptions::new().append(true).open(target).map(drop),
        // A pipe without a reader would block.
        OutputPlace::Device(_) => Ok(()),
    }
}

/// The file that a path names: itself, or the target of its links.
///
/// # Errors
/// The error of the system, such as a circle of links.
pub fn target(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => {
                let to = std::fs::read_link(&path)?;
                path = folder(&path).join(to);
            }
            Ok(_) => return Ok(path),
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(path),
            Err(e) => return Err(e),
        }
    }
    Err(Error::other("its links lead in a circle"))
}

/// The folder in which a path is.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Ways to write a file.
enum OutputPlace {
    /// In a new file beside the target, then moved there.
    Beside {
        target: PathBuf,
        permissions: Option<Permissions>,
    },
    /// In place, because its folder does not accept new files.
    Within(PathBuf),
    /// A special file, written directly.
    Device(PathBuf),
}

fn place(path: &Path) -> Result<OutputPlace> {
    let target = target(path)?;
    let found = match std::fs::metadata(&target) {
        Ok(found) if found.is_dir() => return Err(Error::other("it is a folder")),
        Ok(found) if !found.is_file() => return Ok(OutputPlace::Device(target)),
        Ok(found) => Some(found.permissions()),
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        Err(e) => return Err(e),
    };
    if target.file_name().is_none() {
        return Err(Error::other("it has no file name"));
    }
    if !folder(&target).is_dir() {
        return Err(Error::other("its folder does not exist"));
    }
    if found.as_ref().is_some_and(Permissions::readonly) {
        return Err(Error::other("it is write-protected"));
    }
    let refused = || part(&target).err().map(|e| e.kind());
    if found.is_some() && refused() == Some(ErrorKind::PermissionDenied) {
        return Ok(OutputPlace::Within(target));
    }
    Ok(OutputPlace::Beside {
        target,
        permissions: found,
    })
}

impl OutputPlace {
    fn write(self, parts: &[&[u8]]) -> Result<()> {
        let (mut file, finish) = match self {
            OutputPlace::Device(target) => (OpenOptions::new().write(true).open(target)?, None),
            OutputPlace::Within(target) => {
                let mut options = OpenOptions::new();
                (options.write(true).truncate(true).open(target)?, None)
            }
            OutputPlace::Beside {
                target,
                permissions,
            } => {
                let (part, file) = part(&target)?;
                if let Some(permissions) = permissions {
                    file.set_permissions(permissions)?;
                }
                (file, Some((part, target)))
            }
        };
        for bytes in parts {
            file.write_all(bytes)?;
        }
        let Some((part, target)) = finish else {
            return file.flush();
        };
        file.sync_all()?;
        part.persist(&target)
    }
}

/// Creates a file beside the target. Its name is short, since the target's name may already have
/// the greatest length that the system allows.
fn part(target: &Path) -> Result<(Temporary, File)> {
    Temporary::file(folder(target), ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_folder() -> Temporary {
        Temporary::folder(&std::env::temp_dir(), "remat-whole-file-").unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let name = |e: Result<std::fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = std::fs::read_dir(folder).unwrap().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let temporary = new_folder();
        let folder = temporary.path();
        let path = folder.join("x".repeat(250));
        for text in ["one", "two"] {
            attempt(&path).unwrap();
            write(&path, &[text.as_bytes()]).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            assert_eq!(names(folder).len(), 1);
        }
        for bad in [
            folder.to_path_buf(),
            folder.join("none/file"),
            folder.join("x".repeat(300)),
            path.join("file"),
        ] {
            assert!(attempt(&bad).is_err(), "{}", bad.display());
            assert!(write(&bad, &[b"three"]).is_err(), "{}", bad.display());
        }
        assert_eq!(names(folder).len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_permissions_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let temporary = new_folder();
        let folder = temporary.path();
        let [file, link, dangling, circle] =
            ["file", "link", "dangling", "circle"].map(|n| folder.join(n));
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        symlink("file", &link).unwrap();
        symlink("new", &dangling).unwrap();
        symlink("circle", &circle).unwrap();
        write(&link, &[b"one"]).unwrap();
        write(&dangling, &[b"two"]).unwrap();
        assert!(write(&circle, &[b"three"]).is_err());
        assert_eq!(std::fs::read(&file).unwrap(), b"one");
        assert_eq!(std::fs::read(folder.join("new")).unwrap(), b"two");
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(names(folder), ["circle", "dangling", "file", "link", "new"]);
        std::fs::set_permissions(&file, Permissions::from_mode(0o400)).unwrap();
        assert!(
            attempt(&file)
                .unwrap_err()
                .to_string()
                .contains("write-protected")
        );
        write(Path::new("/dev/null"), &[b"four"]).unwrap();
    }
}
