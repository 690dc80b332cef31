//! Files and folders for the time being: a name at random, a place that nothing else has, and an
//! end with their maker.
//!
//! Programs that share a folder, in containers with one process number too, never take each other's
//! names, and what a killed one has left is in nobody's way. A link at the place of a new file or
//! folder is not followed.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// Those that are there, for a program that ends at once.
static PRESENT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Names that are tried before a folder counts as full of them.
const ATTEMPTS: usize = 100;

/// Looks at the list, a millisecond apart, of a program that ends at once.
const LOOKS: usize = 100;

/// A file or folder that goes when this does.
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
    /// A new file in a folder, with the permissions that any new file has, open for writing. Its
    /// name begins with `start`.
    ///
    /// # Errors
    /// The words of the system.
    pub fn file(within: &Path, start: &str) -> Result<(Temporary, File)> {
        Temporary::claim(false, || name(within, start, ".part"), &File::create_new)
    }

    /// A new folder in a folder, which its owner alone can look into. Its name begins with `start`.
    ///
    /// # Errors
    /// The words of the system.
    pub fn folder(within: &Path, start: &str) -> Result<Temporary> {
        let name = || name(within, start, "");
        Temporary::claim(true, name, &private_folder).map(|claimed| claimed.0)
    }

    /// Takes the first of the names that nothing has.
    fn claim<T>(
        is_folder: bool,
        name: impl Fn() -> Result<PathBuf>,
        make: &dyn Fn(PathBuf) -> Result<T>,
    ) -> Result<(Temporary, T)> {
        for _ in 0..ATTEMPTS {
            let path = name()?;
            // Held until it is listed: a program that ends at once meets all that there is.
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

    /// Its place.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves it to a place where it stays, over what is there.
    ///
    /// # Errors
    /// The words of the system; then it is gone.
    pub fn persist(self, place: &Path) -> Result<()> {
        std::fs::rename(&self.path, place)?;
        self.keep();
        Ok(())
    }

    /// Leaves it where it is; its place.
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
        // Nobody is left to be told if this fails.
        let _ = match self.is_folder {
            true => std::fs::remove_dir_all(&self.path),
            false => std::fs::remove_file(&self.path),
        };
        present().retain(|other| *other != self.path);
    }
}

/// Removes all that is there, for a program that ends at once: whoever makes another one waits for
/// that end.
pub fn discard() {
    for _ in 0..LOOKS {
        let present = match PRESENT.try_lock() {
            Ok(present) => present,
            Err(TryLockError::Poisoned(present)) => present.into_inner(),
            // Whoever holds the list may be the one who cannot go on.
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

/// A name at random.
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
        // Somebody else moved ours away and has the name now.
        std::fs::remove_file(&ours).unwrap();
        drop(file);
        // No free name: what is there stays there, its maker alone removes it.
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
        // The name is another's by now.
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
