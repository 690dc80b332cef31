//! Map from the reduced problem back to the original model.

use crate::mip::cliques::{column, is_complement, value};
use serde::{Deserialize, Serialize};

/// Rule for the value of a removed column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum PostsolveStep {
    /// It is constant.
    Fixed { col: u32, value: f64 },
    /// It is `constant + sum of factor * column`.
    Aggregated {
        col: u32,
        constant: f64,
        terms: Vec<(u32, f64)>,
    },
    /// A literal (twice the column, plus one for the complement) is true if all `excluded` literals
    /// are false. The column may remain in the reduced problem, which then allows it to be smaller.
    Product { literal: u32, excluded: Vec<u32> },
    /// A column that the original model lacks. For a point of the original model its value is
    /// `constant + sum of factor * column`.
    Added {
        col: u32,
        constant: f64,
        terms: Vec<(u32, f64)>,
    },
    /// The kept column stands for `own + factor * gone`; bounds of both from before.
    Merged {
        kept: u32,
        gone: u32,
        factor: f64,
        own: (f64, f64),
        other: (f64, f64),
    },
}

/// A stack of steps, undone in reverse order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Postsolve {
    /// Number of columns of the original model.
    pub original: usize,
    /// Number of columns including added ones, which come last.
    pub width: usize,
    /// Original column of every column of the reduced problem.
    pub kept: Vec<u32>,
    pub steps: Vec<PostsolveStep>,
}

impl Postsolve {
    /// Composition with `next`, which starts from this map's reduced problem.
    pub fn then(&self, next: &Postsolve) -> Postsolve {
        let at = |j: u32| match self.kept.get(j as usize) {
            Some(&k) => k,
            // Added after all columns of this map.
            None => (self.width + j as usize - next.original) as u32,
        };
        let mut steps = self.steps.clone();
        steps.extend(next.steps.iter().map(|s| match s {
            PostsolveStep::Fixed { col, value } => PostsolveStep::Fixed {
                col: at(*col),
                value: *value,
            },
            PostsolveStep::Aggregated {
                col,
                constant,
                terms,
            } => PostsolveStep::Aggregated {
                col: at(*col),
                constant: *constant,
                terms: terms.iter().map(|&(j, f)| (at(j), f)).collect(),
            },
            PostsolveStep::Added {
                col,
                constant,
                terms,
            } => PostsolveStep::Added {
                col: at(*col),
                constant: *constant,
                terms: terms.iter().map(|&(j, f)| (at(j), f)).collect(),
            },
            PostsolveStep::Product { literal, excluded } => {
                let moved = |l: u32| 2 * at(column(l) as u32) + u32::from(is_complement(l));
                PostsolveStep::Product {
                    literal: moved(*literal),
                    excluded: excluded.iter().map(|&l| moved(l)).collect(),
                }
            }
            PostsolveStep::Merged {
                kept,
                gone,
                factor,
                own,
                other,
            } => PostsolveStep::Merged {
                kept: at(*kept),
                gone: at(*gone),
                factor: *factor,
                own: *own,
                other: *other,
            },
        }));
        Postsolve {
            original: self.original,
            width: self.width + next.width - next.original,
            kept: next.kept.iter().map(|&j| at(j)).collect(),
            steps,
        }
    }

    /// The point of the original model that corresponds to a point of the reduced problem.
    pub fn restore(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.width];
        for (&j, &v) in self.kept.iter().zip(x) {
            out[j as usize] = v;
        }
        for step in self.steps.iter().rev() {
            match step {
                PostsolveStep::Added { .. } => {}
                PostsolveStep::Fixed { col, value } => out[*col as usize] = *value,
                PostsolveStep::Aggregated {
                    col,
                    constant,
                    terms,
                } => {
                    out[*col as usize] =
                        constant + terms.iter().map(|&(j, f)| f * out[j as usize]).sum::<f64>();
                }
                PostsolveStep::Merged {
                    kept,
                    gone,
                    factor,
                    own,
                    other,
                } => {
                    let sum = out[*kept as usize];
                    // Range that the bounds of one column leave for the other.
                    let (a, b) = ((sum - own.1) / factor, (sum - own.0) / factor);
                    let (low, high) = (a.min(b).max(other.0), a.max(b).min(other.1));
                    let part = 0.0f64.max(low).min(high.max(low));
                    out[*gone as usize] = part;
                    out[*kept as usize] = sum - factor * part;
                }
                PostsolveStep::Product { literal, excluded } => {
                    let product = !excluded.iter().any(|&l| value(l, &out) > 0.5);
                    out[column(*literal)] = f64::from(product != is_complement(*literal));
                }
            }
        }
        out.truncate(self.original);
        out
    }

    /// The point of the reduced problem that corresponds to a point of the original model.
    pub fn project(&self, original: &[f64]) -> Vec<f64> {
        let mut point = original.to_vec();
        point.resize(self.width, 0.0);
        for step in &self.steps {
            match step {
                PostsolveStep::Merged {
                    kept, gone, factor, ..
                } => point[*kept as usize] += factor * point[*gone as usize],
                PostsolveStep::Added {
                    col,
                    constant,
                    terms,
                } => {
                    let sum = terms.iter().map(|&(j, f)| f * point[j as usize]);
                    point[*col as usize] = constant + sum.sum::<f64>();
                }
                _ => {}
            }
        }
        self.kept.iter().map(|&j| point[j as usize]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merged_column_is_split_within_both_bounds() {
        let post = |factor: f64, own: (f64, f64), other: (f64, f64)| Postsolve {
            original: 2,
            width: 2,
            kept: vec![0],
            steps: vec![PostsolveStep::Merged {
                kept: 0,
                gone: 1,
                factor,
                own,
                other,
            }],
        };
        for (factor, own, other) in [
            (1.0, (0.0, 1.0), (0.0, 1.0)),
            (-1.0, (-2.0, 1.0), (3.0, 5.0)),
            (2.0, (0.0, f64::INFINITY), (-1.0, 4.0)),
        ] {
            let p = post(factor, own, other);
            for a in 0..3 {
                for b in 0..3 {
                    let x = [own.0 + f64::from(a), other.0 + f64::from(b)];
                    if x[0] > own.1 || x[1] > other.1 {
                        continue;
                    }
                    let sum = p.project(&x);
                    let y = p.restore(&sum);
                    assert_eq!(p.project(&y), sum);
                    assert!(own.0 <= y[0] && y[0] <= own.1 && other.0 <= y[1] && y[1] <= other.1);
                    assert!(factor == 2.0 || y.iter().all(|v| v.fract() == 0.0));
                }
            }
        }
    }

    #[test]
    fn two_ways_back_make_one() {
        // x0 = 2 + x1 and x2 = 5 first; then x3 (now column 1) = 4 and x1 (now column 0) = 1 + x4.
        let first = Postsolve {
            original: 5,
            width: 5,
            kept: vec![1, 3, 4],
            steps: vec![
                PostsolveStep::Aggregated {
                    col: 0,
                    constant: 2.0,
                    terms: vec![(1, 1.0)],
                },
                PostsolveStep::Fixed { col: 2, value: 5.0 },
            ],
        };
        let second = Postsolve {
            original: 3,
            width: 3,
            kept: vec![2],
            steps: vec![
                PostsolveStep::Fixed { col: 1, value: 4.0 },
                PostsolveStep::Aggregated {
                    col: 0,
                    constant: 1.0,
                    terms: vec![(2, 1.0)],
                },
            ],
        };
        let both = first.then(&second);
        assert_eq!(both.restore(&[7.0]), vec![10.0, 8.0, 5.0, 4.0, 7.0]);
        assert_eq!(first.restore(&second.restore(&[7.0])), both.restore(&[7.0]));
        assert_eq!(both.project(&[10.0, 8.0, 5.0, 4.0, 7.0]), vec![7.0]);
    }
}
