//! How long cuts are added at a node, and when that has come to little.

/// How long cuts are added.
#[derive(Clone, Copy, Debug)]
pub(super) struct CutEffort {
    /// Rounds at most.
    pub rounds: usize,
    /// At first cuts are separated after every solve, whatever else is missing.
    pub eager: bool,
    /// Cuts are looked for inside the relaxation, not at its vertex.
    pub inside: bool,
    /// What counts as an end.
    pub tail: Tail,
}

/// Where cutting is in its tail: in so many rounds the value has stayed within a share of itself, or of what it has gained on
/// the bound that was there before.
#[derive(Clone, Copy, Debug)]
pub struct Tail {
    /// Rounds of eager cutting.
    pub eager_rounds: usize,
    /// Rounds in which every relaxation is solved to its end.
    pub rounds: usize,
    /// Share of the value, for each round.
    pub of_value: f64,
    /// Share of what was gained.
    pub of_gain: f64,
}

impl Tail {
    /// Whether the last of some values are in it.
    pub(super) fn holds(&self, values: &[f64], before: f64, rounds: usize) -> bool {
        let Some((apart, most)) = spread(values, rounds + 1) else {
            return false;
        };
        let idle = self.of_value * rounds as f64 * most;
        apart <= idle.max(self.of_gain * (most - before))
    }
}

/// How far the last so many values are apart, and the largest of them; nothing where there are fewer.
pub(super) fn spread(values: &[f64], count: usize) -> Option<(f64, f64)> {
    let last = &values[values.len().checked_sub(count)?..];
    let most = last.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = last.iter().copied().fold(f64::INFINITY, f64::min);
    Some((most - least, most))
}
