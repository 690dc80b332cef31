//! The best plan so far, kept as text: what an end without memory still writes.

use crate::files;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time between two plans that are kept, at least: to make one takes time.
const PAUSE: Duration = Duration::from_secs(1);
/// Bytes that are given back before the plan is written.
const RESERVE: usize = 4 << 20;

static BEST: Mutex<Option<Kept>> = Mutex::new(None);

struct Kept {
    path: PathBuf,
    text: String,
    cost: u64,
    at: Instant,
    /// Memory to write with.
    _reserve: Vec<u8>,
}

/// Keeps the plan of a cost that goes to a file, if it is better than the one before and that one
/// has been there for a while.
pub fn keep(path: &Path, cost: u64, plan: &dyn Fn() -> Option<String>) {
    let Ok(mut best) = BEST.lock() else {
        return;
    };
    let known = |kept: &Kept| cost >= kept.cost || kept.at.elapsed() < PAUSE;
    if best.as_ref().is_some_and(known) {
        return;
    }
    let Some(text) = plan() else {
        return;
    };
    *best = Some(Kept {
        path: path.into(),
        text,
        cost,
        at: Instant::now(),
        _reserve: vec![1; RESERVE],
    });
}

/// Writes the plan that is kept; the file, if there was one.
pub fn write() -> Option<PathBuf> {
    // Whoever holds the lock makes a plan, and waits for memory.
    let kept = BEST.try_lock().ok()?.take()?;
    let Kept {
        path,
        text,
        _reserve,
        ..
    } = kept;
    drop(_reserve);
    // To be compressed takes memory; a stream is nowhere to look for a plan later.
    let plain = path.extension().is_none_or(|e| e != "gz") && path != Path::new("-");
    let path = match plain {
        true => path,
        false => files::temporary_folder().ok()?.keep().join("plan.json"),
    };
    std::fs::write(&path, text).ok()?;
    Some(path)
}
