//! Lists of texts, settings or lines; each may be removed.

use super::Reducible;
use std::hash::Hasher;
use std::sync::Arc;

/// A list of texts, each of which is kept or removed.
///
/// ```
/// use remat_bench::reduce::{Parts, ReduceSettings, reduce};
/// let parts = Parts::new("settings", ["cuts = false", "seed = 3", "presolve = false"]);
/// let fails = |p: &Parts| Ok::<_, ()>(p.kept().any(|text| text.starts_with("presolve")));
/// let small = reduce(parts, &ReduceSettings::default(), fails, |_, _| Ok(())).unwrap();
/// assert_eq!(small.smallest.kept().collect::<Vec<_>>(), ["presolve = false"]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    step: &'static str,
    texts: Arc<[String]>,
    kept: Vec<bool>,
}

impl Parts {
    /// Keeps all texts; `step` is the name of the one step that removes some.
    pub fn new<T: Into<String>>(step: &'static str, texts: impl IntoIterator<Item = T>) -> Self {
        let texts: Arc<[String]> = texts.into_iter().map(Into::into).collect();
        Parts {
            step,
            kept: vec![true; texts.len()],
            texts,
        }
    }

    /// The kept texts, in their order.
    pub fn kept(&self) -> impl Iterator<Item = &str> {
        let all = self.texts.iter().zip(&self.kept);
        all.filter(|(_, kept)| **kept)
            .map(|(text, _)| text.as_str())
    }

    /// Number of kept texts.
    pub fn len(&self) -> usize {
        self.kept().count()
    }

    /// Returns whether all texts are removed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The kept texts, one on each line.
    pub fn to_text(&self) -> String {
        self.kept().map(|text| format!("{text}\n")).collect()
    }
}

impl Reducible for Parts {
    type Edit = usize;

    fn steps(&self) -> Vec<&'static str> {
        vec![self.step]
    }

    fn edits(&self, _step: usize) -> Vec<usize> {
        (0..self.kept.len()).filter(|&k| self.kept[k]).collect()
    }

    fn apply(&mut self, edit: &usize) -> bool {
        std::mem::take(&mut self.kept[*edit])
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        for &kept in &self.kept {
            hasher.write_u8(kept.into());
        }
    }
}
