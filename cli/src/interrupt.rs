//! Ctrl-C and SIGTERM: the first ends the search with the best result so far, the second ends the
//! program. The first ends the program, too, while it waits for input, or if the command has no
//! result to end with.

use crate::failure::note;
use remat_lp::temporary;
use remat_lp::waiting::{Waiting, is_waiting};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Message of the first interrupt, and true to suppress it.
static CAUGHT: OnceLock<(&'static str, bool)> = OnceLock::new();

/// True once the handler is installed.
static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Exit code after a signal, as of shells for Ctrl-C.
const ENDED: i32 = 130;

/// The flag that the first interrupt sets, or a time limit.
pub fn flag() -> Arc<AtomicBool> {
    INTERRUPTED.clone()
}

/// Catches interrupts from now on; the first one prints `message`.
pub fn catch(message: &'static str, quiet: bool) {
    // The first command in a process decides.
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

/// Installs the handler in commands that do not [`catch`] signals: a signal then removes
/// half-written files before it ends the program.
pub fn discard_parts() {
    if INSTALLED.load(Ordering::SeqCst) {
        return;
    }
    // It fails if signals are caught already.
    if ctrlc::try_set_handler(hear).is_ok() {
        INSTALLED.store(true, Ordering::SeqCst);
    }
}

/// Marks a read: an interrupt ends the program meanwhile.
pub fn reading() -> Waiting {
    let waiting = Waiting::begin();
    // An interrupt right before this call would go unnoticed.
    if CAUGHT.get().is_some() && INTERRUPTED.load(Ordering::SeqCst) {
        end();
    }
    waiting
}

/// Turns the signal for writes beyond the size limit of files (`ulimit -f`) into an error of the
/// write.
pub fn outlive_size_limits() {
    #[cfg(unix)]
    {
        use nix::sys::signal::{SigSet, Signal};
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGXFSZ);
        // Threads inherit the blocked signals.
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
