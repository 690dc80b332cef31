//! Inputs: files, pipes and standard input, each read once.

use crate::failure::Failure;
use crate::interrupt;
use crate::visible::is_stream;
use remat_instances::document::LARGEST_DOCUMENT;
use remat_instances::name::escaped;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Size limit of a model, solution or certificate, in bytes of the file. It stops devices that
/// never end.
const LARGEST_TEXT: u64 = 16 << 30;

/// The bytes of an input, and its name for errors.
#[derive(Debug)]
pub struct Input {
    /// Name of the file, or `standard input`.
    pub name: String,
    /// Its bytes, packed or not.
    pub bytes: Vec<u8>,
}

/// Reads an instance, a plan or a schedule.
///
/// # Errors
/// [`Failure::Open`] has the file and the message of the system.
pub fn document(path: &Path) -> Result<Input, Failure> {
    // One byte more, so that the reader detects a file that is too large.
    read(path, LARGEST_DOCUMENT + 1)
}

/// Reads a model, a solution, a certificate or settings.
///
/// # Errors
/// As [`document`].
pub fn text(path: &Path) -> Result<Input, Failure> {
    let input = read(path, LARGEST_TEXT)?;
    if input.bytes.len() as u64 == LARGEST_TEXT {
        let problem = format!("it has {LARGEST_TEXT} bytes or more, the most that is read");
        return Err(fail(input.name, problem));
    }
    Ok(input)
}

/// An input's name in messages.
pub fn input_name(path: &Path) -> String {
    match is_stream(path) {
        true => "standard input".into(),
        false => escaped(&path.display().to_string()),
    }
}

/// Reads at most `most` bytes.
fn read(path: &Path, most: u64) -> Result<Input, Failure> {
    let _waiting = interrupt::reading();
    let mut bytes = Vec::new();
    if is_stream(path) {
        static TAKEN: AtomicBool = AtomicBool::new(false);
        if TAKEN.swap(true, Ordering::SeqCst) {
            return Err(Failure::Usage {
                problem: "two inputs are `-`, but standard input can be read once".into(),
                remedy: "name a file for one of them".into(),
            });
        }
        let name = input_name(path);
        let stdin = std::io::stdin().lock();
        let read = stdin.take(most).read_to_end(&mut bytes);
        read.map_err(|e| fail(name.clone(), e.to_string()))?;
        return Ok(Input { name, bytes });
    }
    let name = input_name(path);
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    match read {
        Ok(_) => Ok(Input { name, bytes }),
        Err(e) => Err(fail(
            name,
            match e.kind() {
                ErrorKind::NotFound => "there is no such file".into(),
                ErrorKind::IsADirectory => "it is a folder".into(),
                _ => e.to_string(),
            },
        )),
    }
}

fn fail(file: String, problem: String) -> Failure {
    Failure::Open {
        file,
        problem,
        remedy: None,
    }
}
