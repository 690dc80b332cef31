//! The allocator: mimalloc, and an error message when memory runs out.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, Ordering};

/// The allocator. Its freed memory stays mapped: branching trials often copy and drop linear
/// programs of a megabyte.
pub struct Allocator;

static MIMALLOC: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Ends the program if an allocation failed: its threads cannot continue. The program prints a
/// message without a backtrace, removes half-written files and returns its exit code. The standard
/// library handles the error in a process that only uses this library.
fn checked(memory: *mut u8) -> *mut u8 {
    if !memory.is_null() || !crate::IS_PROGRAM.load(Ordering::Relaxed) {
        return memory;
    }
    static ENDING: AtomicBool = AtomicBool::new(false);
    if !ENDING.swap(true, Ordering::SeqCst) {
        crate::end_without_memory();
    }
    // Another thread waits here for the end. The ending thread comes here if it fails to allocate.
    std::thread::sleep(std::time::Duration::from_secs(2));
    std::process::abort()
}

// SAFETY: every call is passed on to mimalloc with the caller's own arguments, under the same
// contract. Its result is returned; a null ends the program.
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
