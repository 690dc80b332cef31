//! Adapters for extensions: they see the columns of the original model while the search works on
//! the presolved problem.
//!
//! Views are restored to the model's columns, and results are converted to the remaining columns. A
//! column that an extension [needs](crate::mip::Needs) remains or is fixed.

use crate::mip::extend::Decision;
use crate::mip::extend::Extensions;
use crate::mip::extend::{
    BranchingRule, CutRow, CutSink, Heuristic, NodeView, Propagator, Separator, SolutionSink,
};
use crate::mip::presolve::Postsolve;
use remat_lp::{Bounds, ColId, Model};
use std::sync::Arc;

/// The columns of the original model and the remaining ones.
pub(crate) struct Space {
    postsolve: Arc<Postsolve>,
    model: Arc<Model>,
    integer: Vec<bool>,
    /// Place of each needed column.
    place: Vec<Option<MappedPlace>>,
}

#[derive(Clone, Copy)]
enum MappedPlace {
    /// Column of the presolved problem.
    At(u32),
    Fixed(f64),
}

impl Extensions {
    /// The same extensions for the presolved problem of a model.
    pub fn after(&self, postsolve: &Arc<Postsolve>, model: &Arc<Model>) -> Extensions {
        if postsolve.steps.is_empty() && postsolve.kept.len() == postsolve.original {
            return self.clone();
        }
        let space = Arc::new(Space::new(postsolve, model, &self.needed(model.num_cols())));
        let mapped = |space: &Arc<Space>| space.clone();
        Extensions {
            branching: (self.branching.iter().cloned())
                .map(|rule| Arc::new(Mapped(mapped(&space), rule)) as Arc<dyn BranchingRule>)
                .collect(),
            separators: (self.separators.iter().cloned())
                .map(|sep| Arc::new(Mapped(mapped(&space), sep)) as Arc<dyn Separator>)
                .collect(),
            heuristics: (self.heuristics.iter().cloned())
                .map(|h| Arc::new(Mapped(mapped(&space), h)) as Arc<dyn Heuristic>)
                .collect(),
            propagators: (self.propagators.iter().cloned())
                .map(|p| Arc::new(Mapped(mapped(&space), p)) as Arc<dyn Propagator>)
                .collect(),
            selector: self.selector.clone(),
            stated: self.stated.clone(),
            steps: Vec::new(),
            is_mapped: true,
        }
    }
}

impl Space {
    fn new(postsolve: &Arc<Postsolve>, model: &Arc<Model>, needed: &[bool]) -> Self {
        let zeros = vec![0.0; postsolve.kept.len()];
        let restored = postsolve.restore(&zeros);
        let mut place: Vec<Option<MappedPlace>> = (restored.iter().zip(needed))
            .map(|(&value, &needed)| needed.then_some(MappedPlace::Fixed(value)))
            .collect();
        for (k, &j) in postsolve.kept.iter().enumerate() {
            if let Some(place) = place.get_mut(j as usize).filter(|p| p.is_some()) {
                *place = Some(MappedPlace::At(k as u32));
            }
        }
        Space {
            postsolve: postsolve.clone(),
            model: model.clone(),
            integer: (0..model.num_cols() as u32)
                .map(|j| model.is_integer(ColId(j)))
                .collect(),
            place,
        }
    }

    /// Runs a function on a view in the model's columns.
    fn restored<T>(&self, node: &NodeView<'_>, run: impl FnOnce(&NodeView<'_>) -> T) -> T {
        let x = self.postsolve.restore(node.x);
        let incumbent = node.incumbent.map(|x| self.postsolve.restore(x));
        let mut reduced_costs = vec![0.0; x.len()];
        for (j, place) in self.place.iter().enumerate() {
            if let Some(MappedPlace::At(k)) = place {
                reduced_costs[j] = node.reduced_costs[*k as usize];
            }
        }
        let (lower, upper) = self.bounds(node.lower, node.upper);
        run(&NodeView {
            x: &x,
            reduced_costs: &reduced_costs,
            lower: &lower,
            upper: &upper,
            integer: &self.integer,
            incumbent: incumbent.as_deref(),
            ..*node
        })
    }

    /// Bounds of the needed columns at a node; bounds of the model for all others.
    fn bounds(&self, lower: &[f64], upper: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut l, mut u) = (
            self.model.col_lower().to_vec(),
            self.model.col_upper().to_vec(),
        );
        for (j, place) in self.place.iter().enumerate() {
            (l[j], u[j]) = match place {
                Some(MappedPlace::At(k)) => (lower[*k as usize], upper[*k as usize]),
                Some(MappedPlace::Fixed(v)) => (*v, *v),
                None => continue,
            };
        }
        (l, u)
    }

    /// Place of a column.
    ///
    /// # Panics
    /// If no extension needs the column.
    fn place(&self, col: ColId) -> MappedPlace {
        let place = self.place.get(col.index()).copied().flatten();
        place.unwrap_or_else(|| {
            panic!(
                "column {} is not among those that the extension said it needs: name it in `needs`",
                col.0
            )
        })
    }

    fn tightened(&self, bounds: &[(ColId, Bounds)]) -> Vec<(ColId, Bounds)> {
        let mut out = Vec::new();
        for &(col, b) in bounds {
            match self.place(col) {
                MappedPlace::At(k) => out.push((ColId(k), b)),
                MappedPlace::Fixed(v) if b.lower <= v && v <= b.upper => {}
                // The node is infeasible: crossing bounds say so.
                MappedPlace::Fixed(_) => out.push((ColId(0), Bounds::new(1.0, 0.0))),
            }
        }
        out
    }

    fn row(&self, bounds: Bounds, entries: &[(ColId, f64)]) -> (Bounds, Vec<(ColId, f64)>) {
        let (mut left, mut shift) = (Vec::new(), 0.0);
        for &(col, a) in entries {
            match self.place(col) {
                MappedPlace::At(k) => left.push((ColId(k), a)),
                MappedPlace::Fixed(v) => shift += a * v,
            }
        }
        (
            Bounds::new(bounds.lower - shift, bounds.upper - shift),
            left,
        )
    }
}

/// An extension in the columns of the original model.
struct Mapped<E: ?Sized>(Arc<Space>, Arc<E>);

impl BranchingRule for Mapped<dyn BranchingRule> {
    fn branch(&self, node: &NodeView<'_>) -> Option<Vec<Decision>> {
        let children = self.0.restored(node, |view| self.1.branch(view))?;
        let mapped = children.into_iter().map(|child| Decision {
            bounds: self.0.tightened(&child.bounds),
            rows: (child.rows.iter())
                .map(|(entries, bounds)| {
                    let (bounds, entries) = self.0.row(*bounds, entries);
                    (entries, bounds)
                })
                .collect(),
        });
        Some(mapped.collect())
    }
}

impl Separator for Mapped<dyn Separator> {
    fn separate(&self, node: &NodeView<'_>, sink: &mut CutSink) {
        let mut given = CutSink::default();
        (self.0).restored(node, |view| self.1.separate(view, &mut given));
        sink.rows.extend(given.rows.into_iter().map(|row| {
            let (bounds, entries) = self.0.row(row.bounds, &row.entries);
            CutRow { bounds, entries }
        }));
    }

    fn is_lazy(&self) -> bool {
        self.1.is_lazy()
    }
}

impl Heuristic for Mapped<dyn Heuristic> {
    fn name(&self) -> &'static str {
        self.1.name()
    }

    fn run(&self, node: &NodeView<'_>, budget: u64, sink: &mut SolutionSink) -> u64 {
        let mut given = SolutionSink::default();
        let ticks = (self.0).restored(node, |view| self.1.run(view, budget, &mut given));
        sink.restored.extend(given.points);
        ticks + self.0.place.len() as u64
    }
}

impl Propagator for Mapped<dyn Propagator> {
    fn propagate(&self, lower: &[f64], upper: &[f64]) -> Vec<(ColId, Bounds)> {
        let (lower, upper) = self.0.bounds(lower, upper);
        self.0.tightened(&self.1.propagate(&lower, &upper))
    }
}
