//! The best plan so far, kept as text, to be written when memory runs out.

use crate::files;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Minimum time between two kept plans: making their text takes time.
const PAUSE: Duration = Duration::from_secs(1);
/// Reserved bytes that are freed before the plan is written.
const RESERVE: usize = 4 << 20;

static BEST: Mutex<Option<Kept>> = Mutex::new(None);

struct Kept {
    path: PathBuf,
    text: String,
    cost: u64,
    at: Instant,
    /// Reserved memory for the write.
    _reserve: Vec<u8>,
}

/// Keeps a plan for a file, if it costs less than the kept one and this is older than the pause.
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

/// Writes the kept plan; returns its file, or `None` without a plan.
pub fn write() -> Option<PathBuf> {
    // A thread that holds the lock makes a plan, and waits for memory.
    let kept = BEST.try_lock().ok()?.take()?;
    let Kept {
        path,
        text,
        _reserve,
        ..
    } = kept;
    drop(_reserve);
    // Compression needs memory, and a plan on a stream would be hard to find.
    let plain = path.extension().is_none_or(|e| e != "gz") && path != Path::new("-");
    let path = match plain {
        true => path,
        false => files::temporary_folder().ok()?.keep().join("plan.json"),
    };
    std::fs::write(&path, text).ok()?;
    Some(path)
}
