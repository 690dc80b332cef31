//! The layout of an instance, searched for on the first request.

use super::{Layout, find};
use remat_instances::Semantics;
use remat_instances::instance::Instance;
use std::sync::{Arc, OnceLock};

/// A layout, once it has been searched for.
#[derive(Clone, Debug, Default)]
pub struct LazyLayout(OnceLock<Option<Arc<Layout>>>);

impl LazyLayout {
    /// The layout of an instance, which is the same each time; `None` if the instance has no equal
    /// layers, or more than `most_nodes` nodes.
    pub fn of(
        &self,
        instance: &Instance,
        semantics: Semantics,
        most_nodes: usize,
    ) -> Option<&Arc<Layout>> {
        let found = || {
            let layout = (instance.len() <= most_nodes).then(|| find(instance, semantics));
            layout.flatten().map(Arc::new)
        };
        self.0.get_or_init(found).as_ref()
    }
}
