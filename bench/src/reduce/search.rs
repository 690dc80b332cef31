//! The search: steps in turn, each over blocks of halving sizes, then single edits while any of
//! them helps.

use super::Reducible;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Limits and settings of a reduction.
#[derive(Clone, Debug)]
pub struct ReduceSettings {
    /// Steps that are taken, by name; all unless stated. Unknown names have no effect.
    pub steps: Option<Vec<String>>,
    /// Largest number of calls of the predicate.
    pub tries: Option<u64>,
    /// Calls of the predicate side by side. The result does not depend on it.
    pub jobs: usize,
    /// Ends the search when it is set.
    pub stop: Arc<AtomicBool>,
}

impl Default for ReduceSettings {
    fn default() -> Self {
        ReduceSettings {
            steps: None,
            tries: None,
            jobs: 1,
            stop: Arc::default(),
        }
    }
}

/// Work on one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepTally {
    /// Name of the step.
    pub name: &'static str,
    /// Calls of the predicate.
    pub tries: u64,
    /// Calls that found a smaller thing.
    pub kept: u64,
}

/// Work so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls of the predicate that counted: the same on any number of jobs.
    pub tries: u64,
    /// Calls that found a smaller thing.
    pub kept: u64,
    /// The same by step, in order; steps of one name together.
    pub steps: Vec<StepTally>,
}

/// Reason for the end of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceEnd {
    /// No single edit leaves a thing that fails.
    Minimal,
    /// The limit on tries was reached.
    Tries,
    /// It was told to stop.
    Stopped,
}

/// The result of a reduction.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduced<T> {
    /// The smallest thing found that fails.
    pub smallest: T,
    /// Reason for the end.
    pub end: ReduceEnd,
    /// Work done.
    pub tally: Tally,
}

/// Makes a thing smaller while a predicate returns that it fails, until no single edit leaves a
/// thing that fails.
///
/// The predicate is called on smaller things only: the caller must make sure that `start` fails. It
/// must give the same answer for the same thing. Every smaller thing found is handed to `told` at
/// once.
///
/// ```
/// use remat_lp::{ModelBuilder, Sense};
/// use remat_bench::reduce::{ModelDraft, ReduceSettings, reduce};
/// let mut b = ModelBuilder::new(Sense::Maximise);
/// let x = b.add_col(3.0, 0.0..=3.5);
/// let y = b.add_col(2.0, 0.0..);
/// b.add_row(..=4.0, [(x, 1.0), (y, 1.25)]);
/// b.add_row(..=6.0, [(x, 1.0), (y, 3.0)]);
/// // Some program fails on each model that has a row with two entries.
/// let fails = |draft: &ModelDraft| {
///     let model = draft.model().unwrap();
///     let mut rows = (0..model.num_rows() as u32).map(remat_lp::RowId);
///     Ok::<_, ()>(rows.any(|i| model.row(i).count() == 2))
/// };
/// let start = ModelDraft::new(&b.build().unwrap());
/// let small = reduce(start, &ReduceSettings::default(), fails, |_, _| Ok(())).unwrap();
/// let model = small.smallest.model().unwrap();
/// assert_eq!((model.num_rows(), model.num_cols(), model.num_nonzeros()), (1, 2, 2));
/// assert!(model.costs() == [0.0, 0.0] && model.row_upper() == [0.0]);
/// ```
///
/// # Errors
/// The first error of the predicate or of `told`.
pub fn reduce<T: Reducible, E: Send>(
    start: T,
    settings: &ReduceSettings,
    fails: impl Fn(&T) -> Result<bool, E> + Sync,
    told: impl FnMut(&T, &Tally) -> Result<(), E>,
) -> Result<Reduced<T>, E> {
    let names = start.steps();
    let wanted = |name: &str| match &settings.steps {
        Some(steps) => steps.iter().any(|s| s == name),
        None => true,
    };
    let steps = (0..names.len()).filter(|&k| wanted(names[k])).collect();
    let mut tally = Tally::default();
    for &name in &names {
        if tally.steps.iter().all(|s| s.name != name) {
            tally.steps.push(StepTally {
                name,
                tries: 0,
                kept: 0,
            });
        }
    }
    let mut search = ReductionSearch {
        best: start,
        settings,
        fails,
        told,
        names,
        steps,
        tally,
        passed: BTreeSet::new(),
    };
    let end = search.run()?;
    Ok(Reduced {
        smallest: search.best,
        end,
        tally: search.tally,
    })
}

/// Fingerprint of a thing.
type ThingFingerprint = (u64, u64);

/// A candidate for the predicate, and the number of edits up to its last one.
struct ReductionCandidate<T> {
    thing: T,
    key: ThingFingerprint,
    end: usize,
}

struct ReductionSearch<'a, T, F, W> {
    best: T,
    settings: &'a ReduceSettings,
    fails: F,
    told: W,
    names: Vec<&'static str>,
    /// The steps to take.
    steps: Vec<usize>,
    tally: Tally,
    /// Things that do not fail.
    passed: BTreeSet<ThingFingerprint>,
}

impl<T, E, F, W> ReductionSearch<'_, T, F, W>
where
    T: Reducible,
    E: Send,
    F: Fn(&T) -> Result<bool, E> + Sync,
    W: FnMut(&T, &Tally) -> Result<(), E>,
{
    fn run(&mut self) -> Result<ReduceEnd, E> {
        self.halve()?;
        while self.end().is_none() {
            let mut is_smaller = false;
            for step in self.steps.clone() {
                is_smaller |= self.pass(step, 1)?;
            }
            if !is_smaller && self.end().is_none() {
                return Ok(ReduceEnd::Minimal);
            }
        }
        Ok(self.end().unwrap_or(ReduceEnd::Minimal))
    }

    /// Tries blocks of all edits of a step, of half of them, of a quarter, and so on. All steps
    /// have blocks of one share before any has smaller ones: fewer rows leave fewer columns to try.
    fn halve(&mut self) -> Result<(), E> {
        let mut open = self.steps.clone();
        let mut halvings = 0;
        while !open.is_empty() && self.end().is_none() {
            let mut left = Vec::new();
            for &step in &open {
                let count = self.best.edits(step).len();
                let size = count.checked_shr(halvings).unwrap_or(0).max(1);
                self.pass(step, size)?;
                if size > 1 {
                    left.push(step);
                }
            }
            open = left;
            halvings += 1;
        }
        Ok(())
    }

    /// Tries the edits of a step in blocks of `size`; returns whether one of them made it smaller.
    fn pass(&mut self, step: usize, size: usize) -> Result<bool, E> {
        let edits = self.best.edits(step);
        let (mut at, mut is_smaller) = (0, false);
        while at < edits.len() && self.end().is_none() {
            let (candidates, next) = self.candidates(&edits, at, size);
            let found = self.first_failing(&candidates)?;
            if self.settings.stop.load(Ordering::Relaxed) {
                // Verdicts of interrupted calls do not count.
                return Ok(is_smaller);
            }
            let asked = found.map_or(candidates.len(), |k| k + 1) as u64;
            let kept = u64::from(found.is_some());
            self.count(step, asked, kept);
            let clean = found.unwrap_or(candidates.len());
            self.passed
                .extend(candidates[..clean].iter().map(|c| c.key));
            at = next;
            if let Some(candidate) = found.and_then(|k| candidates.into_iter().nth(k)) {
                at = candidate.end;
                self.best = candidate.thing;
                is_smaller = true;
                (self.told)(&self.best, &self.tally)?;
            }
        }
        Ok(is_smaller)
    }

    /// The next candidates, as many as there are jobs and tries left, and the index of the edit to
    /// continue with.
    fn candidates(
        &self,
        edits: &[T::Edit],
        from: usize,
        size: usize,
    ) -> (Vec<ReductionCandidate<T>>, usize) {
        let left = (self.settings.tries).map_or(u64::MAX, |most| most - self.tally.tries);
        let most = (self.settings.jobs.max(1) as u64).min(left) as usize;
        let mut found: Vec<ReductionCandidate<T>> = Vec::new();
        let mut at = from;
        while at < edits.len() && found.len() < most {
            let end = edits.len().min(at + size);
            let mut thing = self.best.clone();
            let mut is_changed = false;
            for edit in &edits[at..end] {
                is_changed |= thing.apply(edit);
            }
            at = end;
            if !is_changed || !thing.is_valid() {
                continue;
            }
            let key = key(&thing);
            if self.passed.contains(&key) || found.iter().any(|c| c.key == key) {
                continue;
            }
            found.push(ReductionCandidate { thing, key, end });
        }
        (found, at)
    }

    /// The first candidate that fails. The predicate runs on all of them in parallel.
    fn first_failing(&self, candidates: &[ReductionCandidate<T>]) -> Result<Option<usize>, E> {
        let fails = &self.fails;
        if let [one] = candidates {
            return Ok(fails(&one.thing)?.then_some(0));
        }
        let verdicts: Vec<Result<bool, E>> = std::thread::scope(|scope| {
            let asked: Vec<_> = candidates
                .iter()
                .map(|c| scope.spawn(move || fails(&c.thing)))
                .collect();
            let answered = asked.into_iter().map(|thread| match thread.join() {
                Ok(verdict) => verdict,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            answered.collect()
        });
        for (k, verdict) in verdicts.into_iter().enumerate() {
            if verdict? {
                return Ok(Some(k));
            }
        }
        Ok(None)
    }

    fn count(&mut self, step: usize, tries: u64, kept: u64) {
        self.tally.tries += tries;
        self.tally.kept += kept;
        let name = self.names[step];
        if let Some(tally) = self.tally.steps.iter_mut().find(|s| s.name == name) {
            tally.tries += tries;
            tally.kept += kept;
        }
    }

    fn end(&self) -> Option<ReduceEnd> {
        if self.settings.stop.load(Ordering::Relaxed) {
            return Some(ReduceEnd::Stopped);
        }
        let most = self.settings.tries?;
        (self.tally.tries >= most).then_some(ReduceEnd::Tries)
    }
}

/// Two hashes of the same bytes, so that two different things have different keys.
fn key(thing: &impl Reducible) -> ThingFingerprint {
    let mut first = DefaultHasher::new();
    thing.fingerprint(&mut first);
    let mut second = DefaultHasher::new();
    second.write_u64(first.finish());
    thing.fingerprint(&mut second);
    (first.finish(), second.finish())
}
