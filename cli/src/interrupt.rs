//! Ctrl-C and SIGTERM: the first ends the work with the best result so far, the second the program.

use crate::failure::note;
use remat_lp::whole_file;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Exit code of a program that a signal ends, as shells have it for Ctrl-C.
const ENDED: i32 = 130;

/// Set by the first interrupt, or by a time limit that sets it itself.
pub fn flag() -> Arc<AtomicBool> {
    INTERRUPTED.clone()
}

/// Catches interrupts from now on; `message` is what the first one says.
pub fn catch(message: &'static str, quiet: bool) {
    let handler = move || {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            end();
        }
        note(message, quiet);
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        note(
            &format!("Ctrl-C will end the program at once: {error}"),
            quiet,
        );
    }
}

/// Has a signal remove half-written files before it ends the program, in commands that do not
/// [`catch`] it.
pub fn discard_parts() {
    // It fails where signals are caught already.
    let _ = ctrlc::try_set_handler(end);
}

fn end() {
    whole_file::discard();
    std::process::exit(ENDED);
}
