//! Threads for parallel work.

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::thread;
use std::time::Duration;

/// Time in which the threads of an incomplete pool end.
const END_OF_THREADS: Duration = Duration::from_millis(10);

/// A pool of `threads` threads (0: one per core), or of fewer if the system has no more.
///
/// Other threads for the same work must be started before the pool.
///
/// # Errors
/// The error of the pool, if the system has no thread at all.
///
/// ```
/// let pool = remat_solver::threads::pool(2)?;
/// assert_eq!(pool.install(|| rayon::join(|| 3, || 4)), (3, 4));
/// # Ok::<(), rayon::ThreadPoolBuildError>(())
/// ```
pub fn pool(threads: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    most_of(threads, |threads| {
        ThreadPoolBuilder::new().num_threads(threads).build()
    })
}

/// Builds with `threads` threads, then half of them, a quarter, ..., one, until a build succeeds.
fn most_of<P, E>(threads: usize, build: impl Fn(usize) -> Result<P, E>) -> Result<P, E> {
    let mut built = build(threads);
    let mut threads = match threads {
        0 => thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    while built.is_err() && threads > 1 {
        thread::sleep(END_OF_THREADS);
        threads /= 2;
        built = build(threads);
    }
    built
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_has_what_the_system_has() {
        let system = |has: usize| move |asked: usize| (asked <= has).then_some(asked).ok_or(asked);
        assert_eq!(most_of(16, system(16)), Ok(16));
        assert_eq!(most_of(16, system(5)), Ok(4));
        assert_eq!(most_of(3, system(1)), Ok(1));
        assert_eq!(most_of(16, system(0)), Err(1));
        assert_eq!(most_of(1, system(0)), Err(1));
        // 0 means one per core, which `build` resolves.
        assert_eq!(most_of(0, system(0)), Ok(0));
    }
}
