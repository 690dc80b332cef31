//! `remat-bb exec`, `profile` and `train-check`, which run on libtorch. A program without libtorch
//! refuses them.

#[cfg(feature = "torch")]
mod exec;
pub(super) mod objects;
#[cfg(feature = "torch")]
mod profile;
#[cfg(feature = "torch")]
mod session;
#[cfg(feature = "torch")]
mod train_check;

#[cfg(feature = "torch")]
pub use {exec::run as exec, profile::run as profile, train_check::run as train_check};

#[cfg(not(feature = "torch"))]
mod without {
    use crate::arguments::{ExecArguments, ProfileArguments, TrainCheckArguments};
    use crate::failure::{Exit, Failure};

    fn missing(command: &str) -> Result<Exit, Failure> {
        Err(Failure::Usage {
            problem: format!("{command} needs libtorch, and this program was built without it"),
            remedy: "plans of PyTorch models run in Python without it (remat_bb.torch.compile); for this command, in the \
                     source tree: scripts/setup-torch.sh, then cargo build --release --features torch"
                .into(),
        })
    }

    /// Explains how to build the program with libtorch.
    ///
    /// # Errors
    /// [`Failure::Usage`], always.
    pub fn exec(_: &ExecArguments) -> Result<Exit, Failure> {
        missing("exec")
    }

    /// As [`exec`].
    ///
    /// # Errors
    /// [`Failure::Usage`], always.
    pub fn profile(_: &ProfileArguments) -> Result<Exit, Failure> {
        missing("profile")
    }

    /// As [`exec`].
    ///
    /// # Errors
    /// [`Failure::Usage`], always.
    pub fn train_check(_: &TrainCheckArguments) -> Result<Exit, Failure> {
        missing("train-check")
    }
}

#[cfg(not(feature = "torch"))]
pub use without::{exec, profile, train_check};
