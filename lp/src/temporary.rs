//! Temporary files and folders. Each has a random, unused name and is removed when its owner is
//! dropped.
//!
//! Programs that share a folder never take each other's names, even in containers with equal
//! process numbers, and the remains of a killed program do not interfere. A link at the place of a
//! new file or folder is not followed.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// Existing temporary files and folders, for a program that exits at once.
static PRESENT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Names to try before creation fails.
const ATTEMPTS: usize = 100;

/// Attempts, a millisecond apart, to lock the list when a program exits at once.
const LOOKS: usize = 100;

/// A file or folder that is removed when this value is dropped.
///
/// ```
/// use remat_lp::temporary::Temporary;
/// let folder = Temporary::folder(&std::env::temp_dir(), "remat-example-")?;
/// let file = folder.path().join("file");
/// std::fs::write(&file, "text")?;
/// drop(folder);
/// assert!(!file.exists());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
    is_folder: bool,
}

impl Temporary {
    /// Creates a file in a folder, open for writing, with the permissions of any new file. Its name
    /// begins with `start`.
    ///
    /// # Errors
    /// The error of the system.
    pub fn file(within: &Path, start: &str) -> Result<(Temporary, File)> {
        Temporary::claim(false, || name(within, start, ".part"), &File::create_new)
    }

    /// Creates a folder in a folder, accessible to its owner only. Its name begins with `start`.
    ///
    /// # Errors
    /// The error of the system.
    pub fn folder(within: &Path, start: &str) -> Result<Temporary> {
        let name = || name(within, start, "");
        Temporary::claim(true, name, &private_folder).map(|claimed| claimed.0)
    }

    /// Creates a file or folder at the first unused name.
    fn claim<T>(
        is_folder: bool,
        name: impl Fn() -> Result<PathBuf>,
        make: &dyn Fn(PathBuf) -> Result<T>,
    ) -> Result<(Temporary, T)> {
        for _ in 0..ATTEMPTS {
            let path = name()?;
            // The lock is held until the new path is listed, so that a program that exits at once
            // finds all paths.
            let mut present = present();
            match make(path.clone()) {
                Ok(made) => {
                    present.push(path.clone());
                    return Ok((Temporary { path, is_folder }, made));
                }
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        Err(Error::new(
            ErrorKind::AlreadyExists,
            "no free name was found in its folder",
        ))
    }

    /// The path of the file or folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the file or folder to a permanent place, replacing an existing file there.
    ///
    /// # Errors
    /// The error of the system; the file or folder is removed then.
    pub fn persist(self, place: &Path) -> Result<()> {
        std::fs::rename(&self.path, place)?;
        self.keep();
        Ok(())
    }

    /// Keeps the file or folder where it is, and returns its path.
    pub fn keep(mut self) -> PathBuf {
        let path = std::mem::take(&mut self.path);
        present().retain(|other| *other != path);
        path
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.path.as_os_str().is_empty() {
            return;
        }
        // A failure cannot be reported here.
        let _ = match self.is_folder {
            true => std::fs::remove_dir_all(&self.path),
            false => std::fs::remove_file(&self.path),
        };
        present().retain(|other| *other != self.path);
    }
}

/// Removes all existing temporary files and folders, for a program that exits at once. Keeps the
/// list locked, so threads that would create another one wait for the exit.
pub fn discard() {
    for _ in 0..LOOKS {
        let present = match PRESENT.try_lock() {
            Ok(present) => present,
            Err(TryLockError::Poisoned(present)) => present.into_inner(),
            // The thread that holds the lock may be the one that cannot continue.
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
        };
        for path in present.iter() {
            if std::fs::remove_file(path).is_err() {
                let _ = std::fs::remove_dir_all(path);
            }
        }
        std::mem::forget(present);
        return;
    }
}

fn present() -> MutexGuard<'static, Vec<PathBuf>> {
    PRESENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a random name.
fn name(within: &Path, start: &str, end: &str) -> Result<PathBuf> {
    let number = getrandom::u64()?;
    Ok(within.join(format!("{start}{number:016x}{end}")))
}

fn private_folder(path: PathBuf) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn names(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn what_has_a_name_already_is_left_alone() {
        let folder = Temporary::folder(&std::env::temp_dir(), "remat-names-").unwrap();
        let [theirs, ours] = ["theirs", "ours"].map(|n| folder.path().join(n));
        std::fs::write(&theirs, "theirs").unwrap();
        let tried = Cell::new(0);
        let in_turn = || {
            tried.set(tried.get() + 1);
            Ok(if tried.get() < 3 { &theirs } else { &ours }.clone())
        };
        let (file, _) = Temporary::claim(false, in_turn, &File::create_new).unwrap();
        assert_eq!((tried.get(), file.path()), (3, ours.as_path()));
        // Another program has removed our file.
        std::fs::remove_file(&ours).unwrap();
        drop(file);
        // All names are taken: the existing file stays, since only its owner removes it.
        let taken = || Ok(theirs.clone());
        let refused = Temporary::claim(false, taken, &File::create_new);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&theirs).unwrap(), b"theirs");
        assert_eq!(names(folder.path()), [theirs]);
    }

    #[test]
    fn moved_and_kept_ones_stay_and_others_go() {
        let folder = Temporary::folder(&std::env::temp_dir(), "remat-stay-").unwrap();
        let place = folder.path().join("place");
        let (file, _) = Temporary::file(folder.path(), ".").unwrap();
        let path = file.path().to_path_buf();
        file.persist(&place).unwrap();
        // The name now belongs to another file.
        std::fs::write(&path, "another").unwrap();
        assert!(path.exists() && place.exists());
        let inner = Temporary::folder(folder.path(), "in-").unwrap();
        std::fs::write(inner.path().join("file"), "text").unwrap();
        let gone = inner.path().to_path_buf();
        drop(inner);
        assert!(!gone.exists());
        let kept = Temporary::folder(folder.path(), "in-").unwrap().keep();
        assert!(kept.is_dir());
        let (file, _) = Temporary::file(folder.path(), ".").unwrap();
        assert!(file.persist(&folder.path().join("absent/place")).is_err());
        assert_eq!(names(folder.path()).len(), 3);
    }

    #[cfg(unix)]
    #[test]
    fn folders_are_their_owners_alone_and_links_are_not_followed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Temporary::folder(&std::env::temp_dir(), "remat-links-").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(folder.path()), 0o700);
        let (file, _) = Temporary::file(folder.path(), ".").unwrap();
        let plain = folder.path().join("plain");
        File::create(&plain).unwrap();
        assert_eq!(mode(file.path()), mode(&plain));
        let link = folder.path().join("link");
        symlink("absent", &link).unwrap();
        let taken = || Ok(link.clone());
        assert!(Temporary::claim(false, taken, &File::create_new).is_err());
        assert!(Temporary::claim(true, taken, &private_folder).is_err());
        assert!(link.is_symlink() && !folder.path().join("absent").exists());
    }
}
