//! Memory: mimalloc, and an end in words where there is none left.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, Ordering};

/// The allocator. Trials of branchings copy linear programs of a megabyte and drop them: their
/// memory stays mapped.
pub struct Allocator;

static MIMALLOC: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Ends the program where there is no memory, as its threads cannot go on, with what the error of
/// an allocation would not give: a message without a backtrace, an exit code, and no half-written
/// files. In a process that only uses this library that error is left to the standard library.
fn checked(memory: *mut u8) -> *mut u8 {
    if !memory.is_null() || !crate::IS_PROGRAM.load(Ordering::Relaxed) {
        return memory;
    }
    static ENDING: AtomicBool = AtomicBool::new(false);
    if !ENDING.swap(true, Ordering::SeqCst) {
        crate::end_without_memory();
    }
    // Another thread, which waits for the end; or this one on its way there, which needs memory and
    // has none.
    std::thread::sleep(std::time::Duration::from_secs(2));
    std::process::abort()
}

// SAFETY: every call is passed on to mimalloc with the caller's own arguments, under the same
// contract; what it returns is returned, unless it is null, and then the program ends.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { MIMALLOC.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { MIMALLOC.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { MIMALLOC.realloc(memory, layout, size) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { MIMALLOC.dealloc(memory, layout) }
    }
}
