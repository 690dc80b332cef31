//! Large-neighbourhood search: the same program with most columns fixed, solved by a search of its own.
//!
//! RINS fixes what incumbent and relaxation agree on (Danna, Rothberg & Le Pape 2005); RENS fixes what is integral in
//! the relaxation and boxes the rest around it (Berthold 2014); crossover-like mutation fixes a random part of the
//! incumbent.

use crate::outcome::SolveError;
use crate::root::RootData;
use crate::settings::{Limits, Settings};
use crate::solver::Solver;
use crate::worker::Shared;
use std::sync::Arc;

/// What came of it.
pub(crate) struct Found {
    pub x: Option<Vec<f64>>,
    pub name: &'static str,
    pub ticks: u64,
    pub iterations: u64,
}

/// Runs the neighbourhood whose turn it is.
pub(crate) fn run(
    shared: &Shared,
    root: &RootData,
    turn: u64,
    ticks: u64,
) -> Result<Found, SolveError> {
    let mut p = (*shared.problem).clone();
    p.lower.copy_from_slice(&shared.lower);
    p.upper.copy_from_slice(&shared.upper);
    let relaxed = &root.solution.x;
    let mut name = "RENS";
    let (mut fixed, mut integers) = (0usize, 0usize);
    let mut random = super::Random::new(shared.settings.seed ^ turn.wrapping_mul(0x9e37_79b9));
    for j in 0..p.num_cols() {
        if !p.integer[j] {
            continue;
        }
        integers += 1;
        if p.lower[j] == p.upper[j] {
            fixed += 1;
            continue;
        }
        let near = (relaxed[j] - relaxed[j].round()).abs() <= 1e-6;
        let value = match &shared.incumbent {
            Some(i) if turn.is_multiple_of(2) => {
                name = "RINS";
                ((relaxed[j] - i.x[j]).abs() <= 1e-6).then_some(i.x[j])
            }
            Some(i) => {
                name = "mutation";
                // A different three quarters at every turn.
                (random.below(4) != 0).then_some(i.x[j])
            }
            None if near => Some(relaxed[j].round()),
            None => {
                p.lower[j] = p.lower[j].max(relaxed[j].floor());
                p.upper[j] = p.upper[j].min(relaxed[j].ceil());
                None
            }
        };
        if let Some(v) = value
            && v >= p.lower[j]
            && v <= p.upper[j]
        {
            (p.lower[j], p.upper[j]) = (v, v);
            fixed += 1;
        }
    }
    let nothing = Found {
        x: None,
        name,
        ticks: integers as u64,
        iterations: 0,
    };
    if fixed * 10 < integers * 4 {
        return Ok(nothing);
    }
    let settings = Settings {
        limits: Limits {
            nodes: Some(200),
            ticks: Some(ticks),
            interrupt: Some(shared.stop.clone()),
            ..Limits::default()
        },
        cutoff: shared.cutoff.is_finite().then_some(shared.cutoff),
        sub_mips: false,
        cut_rounds: shared.settings.cut_rounds.min(3),
        probing: false,
        restarts: false,
        threads: 1,
        opportunistic: false,
        pool_size: 1,
        starts: Vec::new(),
        log: false,
        ..shared.settings.clone()
    };
    let result = Solver::new(Arc::new(p.to_model()?), settings).run()?;
    Ok(Found {
        x: result.solution.map(|s| s.x),
        name,
        ticks: result.info.ticks,
        iterations: result.info.lp_iterations,
    })
}
