//! The sizes of a linear network's data, and the memory of a checkpoint set (Hong et al., equations
//! 6 and 9 to 12).

/// Sizes `d_0 .. d_n` of the input, the layers' outputs and the final output, with prefix sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerSizes {
    bytes: Vec<u64>,
    /// `before[i] = d_0 + .. + d_{i-1}`.
    before: Vec<u64>,
}

/// Reason why a list is not a list of layer sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizesError {
    /// There is no input.
    #[error("the list of sizes is empty; give at least the size of the input")]
    Empty,
    /// The memory in use would not fit into 64 bits.
    #[error("the sizes add up to more than 2^62 bytes")]
    TooLarge,
}

/// Reason why a list of layers is not a checkpoint set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "checkpoints must ascend from 0 to {last}, both included, without repetition; entry {at} does not"
)]
pub struct CheckpointError {
    /// Position in the list, or its length if the last layer is missing.
    pub at: usize,
    /// The last layer.
    pub last: usize,
}

/// A checkpoint set and the memory it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Ascending, with 0 (the input) and the last layer.
    pub checkpoints: Vec<usize>,
    /// Its peak in bytes, under the model of the algorithm that made it.
    pub peak_bytes: u64,
}

/// Checks that a list ascends from 0 to `last`, both included.
pub(super) fn check(checkpoints: &[usize], last: usize) -> Result<(), CheckpointError> {
    let ascends = |at: usize| match at {
        0 => checkpoints[0] == 0,
        _ => checkpoints[at] > checkpoints[at - 1] && checkpoints[at] <= last,
    };
    if let Some(at) = (0..checkpoints.len()).find(|&at| !ascends(at)) {
        return Err(CheckpointError { at, last });
    }
    if checkpoints.last() == Some(&last) {
        Ok(())
    } else {
        let at = checkpoints.len();
        Err(CheckpointError { at, last })
    }
}

impl LayerSizes {
    /// Sizes in bytes, from the input in `bytes[0]` (0 if it is not counted).
    ///
    /// # Errors
    /// [`SizesError`] for an empty list, or sizes of more than 2^62 bytes together.
    pub fn new(bytes: Vec<u64>) -> Result<Self, SizesError> {
        if bytes.is_empty() {
            return Err(SizesError::Empty);
        }
        let mut before = Vec::with_capacity(bytes.len() + 1);
        let mut sum = 0u64;
        before.push(0);
        for &d in &bytes {
            sum = sum
                .checked_add(d)
                .filter(|&s| s <= 1 << 62)
                .ok_or(SizesError::TooLarge)?;
            before.push(sum);
        }
        Ok(LayerSizes { bytes, before })
    }

    /// Index of the last layer, `n`.
    pub fn last(&self) -> usize {
        self.bytes.len() - 1
    }

    /// Size of one layer's output, `d_i`.
    #[inline]
    pub fn size(&self, i: usize) -> u64 {
        self.bytes[i]
    }

    /// `d_from + .. + d_{to-1}`.
    #[inline]
    pub fn sum(&self, from: usize, to: usize) -> u64 {
        self.before[to] - self.before[from]
    }

    /// Equation 6: all checkpoints, and the largest segment between two of them, at once.
    ///
    /// # Errors
    /// [`CheckpointError`] if the list is no checkpoint set.
    pub fn static_peak(&self, checkpoints: &[usize]) -> Result<u64, CheckpointError> {
        check(checkpoints, self.last())?;
        let kept: u64 = checkpoints.iter().map(|&i| self.size(i)).sum();
        let segment = checkpoints
            .windows(2)
            .map(|w| self.sum(w[0] + 1, w[1]))
            .max();
        Ok(kept + segment.unwrap_or(0))
    }

    /// Equations 9 to 12: the largest `m(i)` over the checkpoints `i` after the first. `m(i)` is
    /// the memory when the backward pass reaches `i`. It consists of the checkpoints up to `i`, the
    /// segment before it, and a gradient buffer. The buffer is as large as the largest of that
    /// segment and the checkpoint `h` before it.
    ///
    /// `m(0)` is not defined (there is no checkpoint before); for a network without layers the peak
    /// is the input.
    ///
    /// # Errors
    /// [`CheckpointError`] if the list is no checkpoint set.
    pub fn dynamic_peak(&self, checkpoints: &[usize]) -> Result<u64, CheckpointError> {
        check(checkpoints, self.last())?;
        let mut kept = self.size(0);
        let mut peak = kept;
        for w in checkpoints.windows(2) {
            let (h, i) = (w[0], w[1]);
            kept += self.size(i);
            let buffer = self.bytes[h..i].iter().max().copied().unwrap_or(0);
            peak = peak.max(kept + self.sum(h + 1, i) + buffer);
        }
        Ok(peak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_figure_1() {
        // Checkpoints 0, 2, 5; segments {1} and {3, 4}.
        let sizes = LayerSizes::new(vec![10, 1, 20, 2, 3, 40]).unwrap();
        assert_eq!(sizes.static_peak(&[0, 2, 5]), Ok(70 + 5));
        // m(5) = 70 + 5 + max(20, 2, 3); m(2) = 30 + 1 + max(10, 1).
        assert_eq!(sizes.dynamic_peak(&[0, 2, 5]), Ok(95));
        assert_eq!(sizes.dynamic_peak(&[0, 1, 2, 3, 4, 5]), Ok(76 + 3));
    }

    #[test]
    fn lists_that_are_no_checkpoint_set_are_refused() {
        let sizes = LayerSizes::new(vec![1, 2, 3]).unwrap();
        let refused = |list: &[usize]| sizes.static_peak(list).unwrap_err().at;
        assert_eq!(refused(&[1, 2]), 0);
        assert_eq!(refused(&[0, 1, 1, 2]), 2);
        assert_eq!(refused(&[0, 1]), 2);
        assert_eq!(refused(&[0, 3]), 1);
        assert_eq!(refused(&[]), 0);
        assert_eq!(LayerSizes::new(vec![]), Err(SizesError::Empty));
        assert_eq!(LayerSizes::new(vec![1 << 62, 1]), Err(SizesError::TooLarge));
    }
}
