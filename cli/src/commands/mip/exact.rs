//! Answers in rational numbers: the option, JSON, words.

use crate::arguments::MipArguments;
use crate::failure::{Failure, note};
use crate::files;
use remat_lp::Model;
use remat_solver::mip::{ExactClaim, Settings};
use schemars::JsonSchema;
use serde::Serialize;

/// Refuses a proof for a model whose file has a number that a double does not hold. For a search,
/// the number is noted.
///
/// # Errors
/// [`Failure::Open`].
pub(super) fn held(model: &Model, arguments: &MipArguments) -> Result<(), Failure> {
    let Some(rounded) = model.rounded() else {
        return Ok(());
    };
    let file = files::input_name(&arguments.file);
    if arguments.exact || arguments.certificate.is_some() {
        return Err(Failure::Open {
            file,
            problem: rounded.to_string(),
            remedy: Some("scale the row so that its numbers have at most 15 digits, or leave out --exact and --certificate".into()),
        });
    }
    note(
        &format!("{file}: {rounded}; it is rounded"),
        arguments.quiet,
    );
    Ok(())
}

/// Applies the option: gaps are 0 by default.
pub(super) fn apply(settings: &mut Settings, arguments: &MipArguments) {
    if !arguments.exact {
        return;
    }
    let preset = Settings::default();
    settings.exact = true;
    if arguments.gap.is_none() && settings.relative_gap == preset.relative_gap {
        settings.relative_gap = 0.0;
    }
    if arguments.absolute_gap.is_none() && settings.absolute_gap == preset.absolute_gap {
        settings.absolute_gap = 0.0;
    }
}

/// Claims settled in rational numbers, or the reason against them.
#[derive(Serialize, JsonSchema)]
pub struct ExactJson<'a> {
    /// Objective of the exact solution as a fraction; null without one.
    objective: Option<&'a str>,
    /// Proven bound as a fraction; null without one.
    bound: Option<&'a str>,
    /// Reason why the claim is not settled; null for a settled claim.
    problem: Option<&'a str>,
}

impl<'a> ExactJson<'a> {
    pub fn of(claim: &'a ExactClaim) -> Self {
        ExactJson {
            objective: claim.objective.as_deref(),
            bound: claim.bound.as_deref(),
            problem: claim.problem.as_deref(),
        }
    }
}

/// Lines of the summary.
pub(super) fn lines(claim: &ExactClaim) -> Vec<String> {
    let told = |name: &str, value: &Option<String>| {
        let value = value.as_ref()?;
        Some(format!("exact      {name} {value}"))
    };
    let settled = match &claim.problem {
        Some(problem) => format!("exact      not settled: {problem}"),
        None if claim.objective.is_none() => "exact      nothing is feasible".into(),
        None => "exact      proven in rational numbers".into(),
    };
    let values = [
        told("objective", &claim.objective),
        told("bound", &claim.bound),
    ];
    std::iter::once(settled)
        .chain(values.into_iter().flatten())
        .collect()
}
