//! Things that are reduced, as files.

use crate::reduce::InstanceDraft;
use crate::reduce::arguments::ReduceKind;
use crate::reduce::{ModelDraft, Parts, Reducible};
use remat_instances::write_instance;
use remat_lp::{lp_format, mps};
use serde::Serialize;

/// Counts of a thing; null for parts that its kind does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sizes {
    rows: Option<usize>,
    cols: Option<usize>,
    nonzeros: Option<usize>,
    integers: Option<usize>,
    nodes: Option<usize>,
    edges: Option<usize>,
    lines: Option<usize>,
    settings: Option<usize>,
}

impl Sizes {
    /// The same with a number of settings.
    pub fn with_settings(self, settings: Option<usize>) -> Self {
        Sizes { settings, ..self }
    }

    /// The sizes with the names of the counted parts.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, usize)> {
        let all = [
            ("row", self.rows),
            ("column", self.cols),
            ("nonzero", self.nonzeros),
            ("integer", self.integers),
            ("node", self.nodes),
            ("edge", self.edges),
            ("line", self.lines),
            ("setting", self.settings),
        ];
        all.into_iter()
            .filter_map(|(name, size)| Some((name, size?)))
    }
}

/// A thing that a command can be run on.
pub trait Subject: Reducible {
    /// Its kind.
    const KIND: ReduceKind;

    /// Its file; `None` if it has no valid form.
    fn text(&self, is_lp: bool) -> Option<String>;

    /// Counts of its parts.
    fn sizes(&self) -> Sizes;
}

impl Subject for ModelDraft {
    const KIND: ReduceKind = ReduceKind::Model;

    fn text(&self, is_lp: bool) -> Option<String> {
        let model = self.model().ok()?;
        Some(match is_lp {
            true => lp_format::to_string(&model),
            false => mps::to_string(&model),
        })
    }

    fn sizes(&self) -> Sizes {
        let Ok(model) = self.model() else {
            return Sizes::default();
        };
        Sizes {
            rows: Some(model.num_rows()),
            cols: Some(model.num_cols()),
            nonzeros: Some(model.num_nonzeros()),
            integers: Some(remat_bb::commands::integers(&model)),
            ..Sizes::default()
        }
    }
}

impl Subject for InstanceDraft {
    const KIND: ReduceKind = ReduceKind::Instance;

    fn text(&self, _is_lp: bool) -> Option<String> {
        Some(write_instance(&self.instance().ok()?))
    }

    fn sizes(&self) -> Sizes {
        let Ok(instance) = self.instance() else {
            return Sizes::default();
        };
        let edges = instance.ids().map(|v| instance.needs(v).len()).sum();
        Sizes {
            nodes: Some(instance.len()),
            edges: Some(edges),
            ..Sizes::default()
        }
    }
}

impl Subject for Parts {
    const KIND: ReduceKind = ReduceKind::Lines;

    fn text(&self, _is_lp: bool) -> Option<String> {
        Some(self.to_text())
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            lines: Some(self.len()),
            ..Sizes::default()
        }
    }
}
