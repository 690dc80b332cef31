//! Findings of searches that other commands have printed: bounds by budget, heuristics, and progress
//! over time.

use serde::{Deserialize, Serialize};

/// Bounds, heuristics and progress.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Findings {
    bounds: Vec<BoundAt>,
    heuristics: Vec<Heuristic>,
    searches: Vec<Search>,
}

/// A proven bound for a budget.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct BoundAt {
    budget_bytes: u64,
    cost: u64,
    scope: String,
}

/// A heuristic's plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Heuristic {
    name: String,
    peak_bytes: u64,
    cost: u64,
}

/// A search over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Search {
    name: String,
    /// Unit of the values: `%` over no recomputation, or empty for objectives.
    unit: &'static str,
    /// Seconds, best value, bound.
    looks: Vec<(f64, Option<f64>, Option<f64>)>,
}

/// A file that holds no findings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: no findings of a search are in it")]
pub struct UnknownFindings {
    /// The file.
    pub file: String,
}

/// The object of `solve --json` or `sweep --json`, in part.
#[derive(Deserialize)]
struct Printed {
    points: Option<Vec<Point>>,
    #[serde(flatten)]
    own: Point,
}

#[derive(Deserialize)]
struct Point {
    budget_bytes: Option<u64>,
    bound: Option<u64>,
    bound_scope: Option<String>,
    #[serde(default)]
    baselines: Vec<Baseline>,
}

#[derive(Deserialize)]
struct Baseline {
    name: String,
    cost: u64,
    peak_memory_bytes: u64,
}

impl Findings {
    /// Reads the object that `solve` or `sweep` prints with `--json`, or the log that `solve` or
    /// `mip` writes on standard error, and adds its findings.
    ///
    /// # Errors
    /// [`UnknownFindings`] names a file of another kind.
    ///
    /// ```
    /// let mut findings = remat_report::html::Findings::default();
    /// findings.read("solve.log", "  1.0 s  gap 4.00%  best 5.0 s (+25.00%)  bound 4.8 s (+20.00%)\n")?;
    /// assert!(findings.read("notes.txt", "bring milk\n").is_err());
    /// # Ok::<(), remat_report::html::UnknownFindings>(())
    /// ```
    pub fn read(&mut self, file: &str, text: &str) -> Result<(), UnknownFindings> {
        let before = self.count();
        match serde_json::from_str::<Printed>(text) {
            Ok(printed) => {
                let points = printed.points.into_iter().flatten();
                for point in points.chain([printed.own]) {
                    self.point(point);
                }
            }
            Err(_) => self.log(file, text),
        }
        match self.count() > before {
            true => Ok(()),
            false => Err(UnknownFindings { file: file.into() }),
        }
    }

    /// The bound for a budget and its scope, if one is known.
    pub fn bound(&self, budget_bytes: u64) -> Option<(u64, &str)> {
        // A bound for a larger budget holds for a smaller one.
        let valid = self
            .bounds
            .iter()
            .filter(|b| b.budget_bytes >= budget_bytes);
        let best = valid.max_by_key(|b| b.cost)?;
        Some((best.cost, &best.scope))
    }

    /// Adds a proven bound for a budget.
    pub fn add_bound(&mut self, budget_bytes: u64, cost: u64, scope: &str) {
        self.bounds.push(BoundAt {
            budget_bytes,
            cost,
            scope: scope.into(),
        });
    }

    fn count(&self) -> usize {
        self.bounds.len() + self.heuristics.len() + self.searches.len()
    }

    fn point(&mut self, point: Point) {
        if let (Some(budget_bytes), Some(cost)) = (point.budget_bytes, point.bound) {
            self.add_bound(budget_bytes, cost, &point.bound_scope.unwrap_or_default());
        }
        for one in point.baselines {
            let found = Heuristic {
                name: one.name,
                peak_bytes: one.peak_memory_bytes,
                cost: one.cost,
            };
            if !self.heuristics.contains(&found) {
                self.heuristics.push(found);
            }
        }
    }

    fn log(&mut self, file: &str, text: &str) {
        let mut solve: Vec<_> = text.lines().filter_map(solve_line).collect();
        let mip: Vec<_> = text.lines().filter_map(mip_line).collect();
        let (unit, looks) = match solve.is_empty() {
            true => ("", mip),
            false => ("%", std::mem::take(&mut solve)),
        };
        if !looks.is_empty() {
            self.searches.push(Search {
                name: file.into(),
                unit,
                looks,
            });
        }
    }
}

type Look = (f64, Option<f64>, Option<f64>);

/// A line of `solve`: `1.0 s  gap 1.25%  best 126.4 ms (+6.08%)  bound 124.8 ms (+4.75%)`.
fn solve_line(line: &str) -> Option<Look> {
    let (seconds, rest) = line.split_once(" s  ")?;
    let seconds = seconds.trim().parse().ok()?;
    let percent = |name: &str| -> Option<f64> {
        let (_, after) = rest.split_once(name)?;
        let (_, inside) = after.split_once('(')?;
        inside.split_once("%)")?.0.parse().ok()
    };
    let bound = percent("bound ")?;
    Some((seconds, percent("best "), Some(bound)))
}

/// A row of the table of `mip`: nodes, open, iterations, bound, best, gap, memory, time.
fn mip_line(line: &str) -> Option<Look> {
    let rest = line.get(1..)?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [_, _, _, bound, best, _, .., time] = words.as_slice() else {
        return None;
    };
    words[0].parse::<u64>().ok()?;
    let seconds = time.strip_suffix('s')?.parse().ok()?;
    Some((seconds, best.parse().ok(), bound.parse().ok()))
}
