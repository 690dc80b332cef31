//! Times at which copies are made.

/// Time at which tensors may leave and come back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CopyPhase {
    /// Any time.
    #[default]
    Any,
    /// Copies to the host are complete when the loss starts, copies back are issued after it has
    /// run, and a tensor goes and comes at most once.
    Loss,
}
