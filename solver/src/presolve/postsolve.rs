//! The way back from the reduced problem to the model given.

/// How a column that was taken out gets its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// It is constant.
    Fixed { col: u32, value: f64 },
    /// It is `constant + sum of factor * column`.
    Aggregated {
        col: u32,
        constant: f64,
        terms: Vec<(u32, f64)>,
    },
}

/// A stack of steps, undone last first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Postsolve {
    /// Columns of the model given.
    pub original: usize,
    /// Original column of every column of the reduced problem.
    pub kept: Vec<u32>,
    pub steps: Vec<Step>,
}

impl Postsolve {
    /// The point of the model given that belongs to one of the reduced problem.
    pub fn restore(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.original];
        for (&j, &v) in self.kept.iter().zip(x) {
            out[j as usize] = v;
        }
        for step in self.steps.iter().rev() {
            match step {
                Step::Fixed { col, value } => out[*col as usize] = *value,
                Step::Aggregated {
                    col,
                    constant,
                    terms,
                } => {
                    out[*col as usize] =
                        constant + terms.iter().map(|&(j, f)| f * out[j as usize]).sum::<f64>();
                }
            }
        }
        out
    }

    /// The point of the reduced problem that belongs to one of the model given.
    pub fn project(&self, original: &[f64]) -> Vec<f64> {
        self.kept.iter().map(|&j| original[j as usize]).collect()
    }
}
