//! Ctrl-C and SIGTERM: the first ends the work with the best result so far, the second the program.
//! The first ends the program, too, where it still waits for input, or has nothing to end with.

use crate::failure::note;
use remat_lp::temporary;
use remat_lp::waiting::{Waiting, is_waiting};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Message of the first interrupt that ends work, and true for a quiet one.
static CAUGHT: OnceLock<(&'static str, bool)> = OnceLock::new();

/// True once interrupts come here.
static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Exit code of a program that a signal ends, as shells have it for Ctrl-C.
const ENDED: i32 = 130;

/// Set by the first interrupt, or by a time limit that sets it itself.
pub fn flag() -> Arc<AtomicBool> {
    INTERRUPTED.clone()
}

/// Catches interrupts from now on; `message` is what the first one says.
pub fn catch(message: &'static str, quiet: bool) {
    // The first work decides, of several in one process.
    let _ = CAUGHT.set((message, quiet));
    if INSTALLED.load(Ordering::SeqCst) {
        return;
    }
    match ctrlc::set_handler(hear) {
        Ok(()) => INSTALLED.store(true, Ordering::SeqCst),
        Err(error) => note(
            &format!("Ctrl-C will end the program at once: {error}"),
            quiet,
        ),
    }
}

/// Has a signal remove half-written files before it ends the program, in commands that do not
/// [`catch`] it.
pub fn discard_parts() {
    if INSTALLED.load(Ordering::SeqCst) {
        return;
    }
    // It fails where signals are caught already.
    if ctrlc::try_set_handler(hear).is_ok() {
        INSTALLED.store(true, Ordering::SeqCst);
    }
}

/// A read that an interrupt does not wait for.
pub fn reading() -> Waiting {
    let waiting = Waiting::begin();
    // One that came just before would have no further look at it.
    if CAUGHT.get().is_some() && INTERRUPTED.load(Ordering::SeqCst) {
        end();
    }
    waiting
}

/// Has a write beyond the largest size of a file (`ulimit -f`) fail like any other, where a signal
/// would end the program.
pub fn outlive_size_limits() {
    #[cfg(unix)]
    {
        use nix::sys::signal::{SigSet, Signal};
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGXFSZ);
        // Threads begin with what the one that starts them blocks.
        let _ = signals.thread_block();
    }
}

fn hear() {
    let first = !INTERRUPTED.swap(true, Ordering::SeqCst);
    match CAUGHT.get() {
        Some((message, quiet)) if first && !is_waiting() => note(message, *quiet),
        _ => end(),
    }
}

fn end() {
    temporary::discard();
    std::process::exit(ENDED);
}
