//! FTRAN, BTRAN, factorisation and whole pivots, at bases half-way through a solve. The programs
//! are Netlib's `pilot` and `greenbeb` and the relaxation of `air04` where `../shared` has them,
//! otherwise a generated transportation program.

#![allow(missing_docs)] // criterion_group makes an undocumented function.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use remat_lp::kernels::Kernels;
use remat_lp::{ColId, Limits, Model, ModelBuilder, Sense, Settings, Solver, mps};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

/// Pivots of one measurement.
const PIVOTS: u64 = 100;

fn programs() -> Vec<(String, Arc<Model>)> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let mut found: Vec<(String, Arc<Model>)> = ["netlib/pilot", "netlib/greenbeb", "miplib3/air04"]
        .iter()
        .filter_map(|name| {
            let model = mps::read(shared.join(format!("{name}.mps.gz"))).ok()?;
            Some((name.rsplit('/').next()?.to_string(), Arc::new(model)))
        })
        .collect();
    if found.is_empty() {
        found.push(("transportation".into(), Arc::new(transportation(60, 80))));
    }
    found
}

/// Costs that look random, supplies and demands that balance.
fn transportation(sources: usize, sinks: usize) -> Model {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let cols: Vec<Vec<ColId>> = (0..sources)
        .map(|i| {
            (0..sinks)
                .map(|j| b.add_col(((i * 7919 + j * 104_729) % 997) as f64, 0.0..))
                .collect()
        })
        .collect();
    for row in &cols {
        b.add_row(..=sinks as f64, row.iter().map(|&c| (c, 1.0)));
    }
    for j in 0..sinks {
        b.add_row(sources as f64 - 1.0.., cols.iter().map(|row| (row[j], 1.0)));
    }
    b.build().expect("the program is well-formed")
}

/// A solver half-way to the optimum.
fn half_way(model: &Arc<Model>) -> Solver {
    let settings = Settings::default();
    let mut whole = Solver::new(model.clone(), settings.clone());
    whole.solve();
    let mut half = Solver::new(model.clone(), settings);
    half.set_limits(Limits {
        iterations: Some(whole.stats().iterations() / 2),
        ..Default::default()
    });
    half.solve();
    half
}

fn benches(c: &mut Criterion) {
    for (name, model) in programs() {
        let solver = half_way(&model);
        let mut kernels = Kernels::new(solver.clone());
        let mut group = c.benchmark_group(&name);
        group.bench_function("factor", |b| b.iter(|| black_box(kernels.factor())));
        let cols = kernels.nonbasic();
        let mut next = 0;
        group.bench_function("ftran", |b| {
            b.iter(|| {
                next = (next + 1) % cols.len();
                black_box(kernels.ftran(cols[next]))
            })
        });
        let mut row = 0;
        group.bench_function("btran", |b| {
            b.iter(|| {
                row = (row + 1) % model.num_rows();
                black_box(kernels.btran(row))
            })
        });
        group.sample_size(10);
        group.bench_function(format!("{PIVOTS} pivots"), |b| {
            b.iter_batched(
                || {
                    let mut s = solver.clone();
                    s.set_limits(Limits {
                        iterations: Some(PIVOTS),
                        ..Default::default()
                    });
                    s
                },
                |mut s| black_box(s.solve()),
                BatchSize::LargeInput,
            )
        });
        group.finish();
    }
}

criterion_group!(simplex, benches);
criterion_main!(simplex);
