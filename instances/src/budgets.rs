//! Lists and ranges of budgets as a user writes them.

use crate::budget::{Budget, BudgetError, format_bytes};
use std::str::FromStr;

/// Maximum number of budgets of a range.
const MOST: u64 = 1000;

/// Several budgets: `FROM..TO:COUNT`, evenly spaced with both ends, or a list with commas.
///
/// ```
/// use remat_instances::budgets::Budgets;
/// let range: Budgets = "40%..100%:4".parse()?;
/// assert_eq!(range.len(), 4);
/// assert_eq!(range.bytes(1000)?, [400, 600, 800, 1000]);
/// assert_eq!("10,50%".parse::<Budgets>()?.bytes(40)?, [10, 20]);
/// assert!("100%..40%:4".parse::<Budgets>()?.bytes(1000).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Budgets {
    /// A list.
    List(Vec<Budget>),
    /// A range.
    Range {
        /// The first budget.
        from: Budget,
        /// The last budget.
        to: Budget,
        /// Number of budgets, from 1 to 1000.
        count: u64,
    },
}

/// Reason why budgets cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetsError {
    /// One budget cannot be read.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// A range without a number of budgets.
    #[error("the number of budgets is missing")]
    NoCount,
    /// A wrong number of budgets.
    #[error("the number of budgets is {0:?}, not a number from 1 to 1000")]
    Count(String),
    /// A range that goes down.
    #[error("the first budget ({}) is above the last ({})", format_bytes(*.from), format_bytes(*.to))]
    Down {
        /// The first budget in bytes.
        from: u64,
        /// The last budget in bytes.
        to: u64,
    },
}

impl FromStr for Budgets {
    type Err = BudgetsError;

    fn from_str(text: &str) -> Result<Self, BudgetsError> {
        let one = |part: &str| part.trim().parse::<Budget>();
        let Some((from, rest)) = text.split_once("..") else {
            let list = text.split(',').map(one).collect::<Result<_, _>>()?;
            return Ok(Budgets::List(list));
        };
        let (to, count) = rest.rsplit_once(':').ok_or(BudgetsError::NoCount)?;
        let count = match count.trim().parse() {
            Ok(read) if (1..=MOST).contains(&read) => read,
            _ => return Err(BudgetsError::Count(count.into())),
        };
        Ok(Budgets::Range {
            from: one(from)?,
            to: one(to)?,
            count,
        })
    }
}

impl Budgets {
    /// Number of budgets.
    pub fn len(&self) -> usize {
        match self {
            Budgets::List(list) => list.len(),
            Budgets::Range { count, .. } => *count as usize,
        }
    }

    /// Returns whether there is no budget.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The budgets in bytes, in their order; percentages are of `peak_bytes`.
    ///
    /// # Errors
    /// [`BudgetsError::Down`].
    pub fn bytes(&self, peak_bytes: u64) -> Result<Vec<u64>, BudgetsError> {
        let (from, to, count) = match self {
            Budgets::List(list) => return Ok(list.iter().map(|b| b.bytes(peak_bytes)).collect()),
            Budgets::Range { from, to, count } => (from, to, *count),
        };
        let (from, to) = (from.bytes(peak_bytes), to.bytes(peak_bytes));
        if from > to {
            return Err(BudgetsError::Down { from, to });
        }
        let span = u128::from(to - from);
        let steps = u128::from((count - 1).max(1));
        let at = |k: u64| from + (span * u128::from(k) / steps) as u64;
        Ok((0..count).map(at).collect())
    }
}
