//! Files that are written beside their place and moved there, so that nobody ever sees half of one.
//!
//! A link is followed to the file that it names, an existing file keeps its permissions, and what
//! is no regular file (a device, a pipe) is written to as it is.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Files that are being written, under the names that they have until they are whole.
static PARTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Links that are followed from one to the next before they count as a circle, as in Linux.
const LINKS: usize = 40;

/// Writes a file of so many parts, one after the other.
///
/// ```
/// use remat_lp::whole_file;
/// let path = std::env::temp_dir().join(format!("whole-file-{}", std::process::id()));
/// whole_file::attempt(&path)?;
/// whole_file::write(&path, &[b"one", b" two"])?;
/// assert_eq!(std::fs::read(&path)?, b"one two");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// The words of the system. What was there before is there still, unless it was written to in place.
pub fn write(path: &Path, parts: &[&[u8]]) -> Result<()> {
    place(path)?.write(parts)
}

/// Tries whether [`write()`] could write a file, and leaves all as it is.
///
/// # Errors
/// The words of the system: the folder is missing, the name is too long or that of a folder, there is
/// no permission.
pub fn attempt(path: &Path) -> Result<()> {
    match place(path)? {
        Place::Beside { part, .. } => Part::create(part).map(drop),
        Place::Within(target) => OpenOptions::new().append(true).open(target).map(drop),
        // A pipe whose reader is not there yet would block.
        Place::Device(_) => Ok(()),
    }
}

/// Removes what is left of files that are being written, for a program that ends at once.
pub fn discard() {
    // Whoever holds the list may be the one who cannot go on.
    if let Ok(parts) = PARTS.try_lock() {
        for part in parts.iter() {
            let _ = std::fs::remove_file(part);
        }
    }
}

/// The file that a path means: itself, or the one that a link leads to.
///
/// # Errors
/// The words of the system, such as a circle of links.
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
enum Place {
    /// Beside its place, then moved there.
    Beside {
        part: PathBuf,
        target: PathBuf,
        permissions: Option<Permissions>,
    },
    /// In its place: its folder takes no further files.
    Within(PathBuf),
    /// No regular file.
    Device(PathBuf),
}

fn place(path: &Path) -> Result<Place> {
    let target = target(path)?;
    let found = match std::fs::metadata(&target) {
        Ok(found) if found.is_dir() => return Err(Error::other("it is a folder")),
        Ok(found) if !found.is_file() => return Ok(Place::Device(target)),
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
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // Short, as the name of the file may be as long as the system lets it be.
    let name = format!(
        ".{}.{}.part",
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    );
    let part = folder(&target).join(OsString::from(name));
    let refused = || Part::create(part.clone()).err().map(|e| e.kind());
    if found.is_some() && refused() == Some(ErrorKind::PermissionDenied) {
        return Ok(Place::Within(target));
    }
    Ok(Place::Beside {
        part,
        target,
        permissions: found,
    })
}

impl Place {
    fn write(self, parts: &[&[u8]]) -> Result<()> {
        let (mut file, finish) = match self {
            Place::Device(target) => (OpenOptions::new().write(true).open(target)?, None),
            Place::Within(target) => {
                let mut options = OpenOptions::new();
                (options.write(true).truncate(true).open(target)?, None)
            }
            Place::Beside {
                part,
                target,
                permissions,
            } => {
                let (part, file) = Part::create(part)?;
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
        std::fs::rename(&part.0, target)
    }
}

/// A file under its name for the time being, which is removed unless it was moved.
struct Part(PathBuf);

impl Part {
    fn create(path: PathBuf) -> Result<(Part, File)> {
        parts().push(path.clone());
        let part = Part(path);
        let file = File::create_new(&part.0)?;
        Ok((part, file))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        parts().retain(|part| *part != self.0);
    }
}

fn parts() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    PARTS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own for a test.
    fn folder_of(test: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("whole-file-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let name = |e: Result<std::fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = std::fs::read_dir(folder).unwrap().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = folder_of("replaced");
        let path = folder.join("x".repeat(250));
        for text in ["one", "two"] {
            attempt(&path).unwrap();
            write(&path, &[text.as_bytes()]).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            assert_eq!(names(&folder).len(), 1);
        }
        for bad in [
            folder.clone(),
            folder.join("none/file"),
            folder.join("x".repeat(300)),
            path.join("file"),
        ] {
            assert!(attempt(&bad).is_err(), "{}", bad.display());
            assert!(write(&bad, &[b"three"]).is_err(), "{}", bad.display());
        }
        assert_eq!(names(&folder).len(), 1);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_permissions_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = folder_of("links");
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
        assert_eq!(
            names(&folder),
            ["circle", "dangling", "file", "link", "new"]
        );
        std::fs::set_permissions(&file, Permissions::from_mode(0o400)).unwrap();
        assert!(
            attempt(&file)
                .unwrap_err()
                .to_string()
                .contains("write-protected")
        );
        write(Path::new("/dev/null"), &[b"four"]).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }
}
