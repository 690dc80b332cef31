//! All cuts found so far: a cut that was rejected, or left the relaxation, may be violated later.

use super::{Context, Cut};

struct Pooled {
    cut: Cut,
    hash: u64,
    /// Rounds since it was last violated.
    age: u32,
}

/// Cuts outside and inside the relaxation: the latter are never violated, so they do no harm.
#[derive(Default)]
pub(crate) struct CutPool {
    cuts: Vec<Pooled>,
    nonzeros: usize,
}

const AGE_LIMIT: u32 = 12;
const NONZERO_LIMIT: usize = 1_000_000;

fn hash(cut: &Cut) -> u64 {
    let mut h = cut.entries.len() as u64;
    for &(j, a) in &cut.entries {
        let digits = (a * 1e6).round() as i64 as u64;
        h = (h ^ u64::from(j).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ digits)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9)
            .rotate_left(29);
    }
    h
}

impl CutPool {
    /// Adds the cuts of a round, and returns them with all other violated cuts.
    pub fn exchange(&mut self, c: &Context<'_>, found: Vec<Cut>) -> Vec<Cut> {
        let mut violated = Vec::new();
        let mut known: Vec<u64> = Vec::new();
        for p in &mut self.cuts {
            p.age += 1;
            p.cut.efficacy = c.efficacy(&p.cut.entries, p.cut.rhs);
            if p.cut.efficacy > 1e-4 {
                p.age = 0;
                known.push(p.hash);
                violated.push(p.cut.clone());
            }
        }
        self.cuts.retain(|p| p.age <= AGE_LIMIT);
        self.nonzeros = self.cuts.iter().map(|p| p.cut.entries.len()).sum();
        known.sort_unstable();
        let mut new: Vec<(u64, Cut)> = found.into_iter().map(|cut| (hash(&cut), cut)).collect();
        // Keeps the one with the smallest side of several equal ones.
        new.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.rhs.total_cmp(&b.1.rhs)));
        new.dedup_by_key(|n| n.0);
        for (hash, cut) in new {
            if known.binary_search(&hash).is_ok() {
                continue;
            }
            violated.push(cut.clone());
            if self.nonzeros < NONZERO_LIMIT {
                self.nonzeros += cut.entries.len();
                self.cuts.push(Pooled { cut, hash, age: 0 });
            }
        }
        violated
    }
}
