//! Keys of results: a job's content, and the key of the job before it in the chain.

use crate::error::GridError;
use crate::grid::Grid;
use crate::jobs::visits;
use crate::subject::{Facts, Sources, Subject};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Version of everything that determines an answer.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Hexadecimal digits of a key: enough for any number of results.
const DIGITS: usize = 40;

/// A job with its key, in the order of its chain's solves.
#[derive(Clone, Debug)]
pub struct Visit {
    /// Number of the job.
    pub job: usize,
    /// Key of its result.
    pub key: String,
    /// Budget in bytes.
    pub budget_bytes: u64,
    /// Facts about its instance.
    pub facts: Arc<Facts>,
    /// Positions among the chain's visits of the next smaller and larger budget of its row, both
    /// solved before.
    pub between: Option<(usize, usize)>,
}

/// Facts and keys of the jobs of a grid, each subject built once.
pub struct Survey<'g> {
    grid: &'g Grid,
    sources: &'g Sources,
    known: BTreeMap<usize, Arc<Facts>>,
}

impl<'g> Survey<'g> {
    /// A survey of a grid, with instance files that are at hand.
    pub fn of(grid: &'g Grid, sources: &'g Sources) -> Self {
        Survey {
            grid,
            sources,
            known: BTreeMap::new(),
        }
    }

    /// The jobs of a chain in the order of their solves.
    ///
    /// # Errors
    /// [`GridError`] for a job whose instance or options do not work.
    pub fn chain(&mut self, chain: usize) -> Result<Vec<Visit>, GridError> {
        let mut found: Vec<Visit> = Vec::new();
        for row in self.grid.rows(chain) {
            let Some(first) = row.first() else { continue };
            let facts = self.facts(*first)?;
            let mut budgets: Vec<(u64, usize)> = Vec::with_capacity(row.len());
            let bytes = self.budgets(&facts)?;
            let count = self.grid.budget_count();
            budgets.extend(row.iter().map(|job| (bytes[job % count], *job)));
            budgets.sort_unstable();
            let base = found.len();
            let order = visits(budgets.len());
            let place =
                |position: usize| base + order.iter().position(|v| v.0 == position).unwrap_or(0);
            for &(position, between) in &order {
                let (budget_bytes, job) = budgets[position];
                let before = found.last().map(|visit| visit.key.as_str());
                found.push(Visit {
                    job,
                    key: key(&facts, budget_bytes, before.filter(|_| self.grid.starts)),
                    budget_bytes,
                    facts: facts.clone(),
                    between: between.map(|(low, high)| (place(low), place(high))),
                });
            }
        }
        Ok(found)
    }

    /// The chains' jobs, in the order of jobs.
    ///
    /// # Errors
    /// As [`Survey::chain`].
    pub fn jobs(
        &mut self,
        chains: impl IntoIterator<Item = usize>,
    ) -> Result<Vec<Visit>, GridError> {
        let mut all = Vec::new();
        for chain in chains {
            all.extend(self.chain(chain)?);
        }
        all.sort_by_key(|visit| visit.job);
        Ok(all)
    }

    /// The subject of a job.
    ///
    /// # Errors
    /// As [`Survey::chain`].
    pub(crate) fn subject(&self, job: usize) -> Result<Subject, GridError> {
        self.grid.subject(self.sources, job)
    }

    fn facts(&mut self, job: usize) -> Result<Arc<Facts>, GridError> {
        let row = job / self.grid.budget_count();
        if let Some(facts) = self.known.get(&row) {
            return Ok(facts.clone());
        }
        let facts = Arc::new(self.subject(job)?.facts);
        self.known.insert(row, facts.clone());
        Ok(facts)
    }

    /// All budgets of a row in bytes, in the order of the file.
    fn budgets(&self, facts: &Facts) -> Result<Vec<u64>, GridError> {
        let mut bytes = Vec::new();
        for budgets in &self.grid.budgets {
            let own = budgets.bytes(facts.plain_peak_bytes);
            bytes.extend(own.map_err(|e| {
                let problem = format!("{}: {e}", facts.instance);
                GridError::key(
                    &self.grid.file,
                    "budgets",
                    problem,
                    "give the smaller one first",
                )
            })?);
        }
        Ok(bytes)
    }
}

/// The key of a result.
fn key(facts: &Facts, budget_bytes: u64, before: Option<&str>) -> String {
    let mut hash = Sha256::new();
    let budget = budget_bytes.to_string();
    let parts = [
        VERSION,
        &facts.digest,
        &facts.options,
        &facts.shape,
        &budget,
        before.unwrap_or("alone"),
    ];
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut text = hex(&hash.finalize());
    text.truncate(DIGITS);
    text
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
