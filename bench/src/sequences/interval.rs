//! The interval form's loop of columns, rows and cuts.

use super::{Failure, Options};
use remat_formulations::checkmate::CheckmateGraph;
use remat_formulations::checkmate::interval::root_bound_recorded;
use remat_instances::Instance;
use remat_solver::price::{Journal, RootSettings, SeparationSettings};
use std::time::{Duration, Instant};

pub(super) fn run(
    instance: &Instance,
    graph: CheckmateGraph,
    options: &Options,
) -> Result<(), Failure> {
    let settings = RootSettings {
        cut_rounds: options.cuts,
        separation: SeparationSettings {
            limit: options.per_round,
            resource_cuts: options.memory_cuts,
            ..Default::default()
        },
        alternate: options.alternate,
        eager_cuts: options.eager,
        // The recorded format knows no deletions.
        purge_age: if options.is_recorded() {
            0
        } else {
            options.purge
        },
        time_limit: Some(Duration::from_secs_f64(options.seconds)),
        ..Default::default()
    };
    let clock = Instant::now();
    let budget = graph.capacity + instance.static_bytes();
    let journal = match options.is_recorded() {
        true => Some(Box::new(options.recorder()?) as Box<dyn Journal>),
        false => None,
    };
    let root = root_bound_recorded(instance, budget, &settings, journal)?;
    println!(
        "{:?}: {:.2}, proven {} ({} before cuts), {} cuts; {} rows, {} columns, {} rounds, {} pivots",
        root.status,
        root.lp_value,
        root.safe_bound,
        root.plain_bound,
        root.cuts,
        root.rows,
        root.cols,
        root.rounds,
        root.iterations
    );
    println!(
        "seconds: LP {:.2}, pricing {:.2}, separation {:.2}, all {:.2}",
        root.lp_seconds,
        root.pricing_seconds,
        root.separation_seconds,
        clock.elapsed().as_secs_f64()
    );
    Ok(())
}
