//! Running time of the dynamic programs on chains as the chains grow: Hong et al.'s Algorithms 3, 5
//! and 6, and rotor.
//!
//! `cargo bench -p remat-bench --bench chain_dp`; a recorded run is in `results/chain_dp.txt`.
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use remat_formulations::baselines::chain::{Chain, StageParameters};
use remat_formulations::baselines::hong::{
    LayerSizes, checkpoint_selection, dynamic_selection, dynamic_selection_quadratic,
};
use remat_formulations::baselines::rotor;
use std::hint::black_box;
use std::time::Duration;

/// A fixed sequence of numbers below `2^31` (a linear congruential generator), the same in every
/// run.
fn numbers(count: usize) -> impl Iterator<Item = u64> {
    let mut state = 1u64;
    (0..count).map(move |_| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        state >> 33
    })
}

fn sizes(layers: usize) -> LayerSizes {
    LayerSizes::new(numbers(layers + 1).map(|x| 1 + x % (64 << 20)).collect()).unwrap()
}

fn chain(stages: usize) -> Chain {
    let list: Vec<u64> = numbers(4 * stages).collect();
    let stages: Vec<StageParameters> = list
        .chunks(4)
        .map(|x| StageParameters {
            forward_cost: 1 + x[0] % 1000,
            backward_cost: 2 + x[0] % 2000,
            output_bytes: (1 + x[1] % 64) << 20,
            saved_bytes: (65 + x[2] % 128) << 20,
            gradient_bytes: (1 + x[1] % 64) << 20,
            forward_overhead_bytes: (x[3] % 16) << 20,
            backward_overhead_bytes: (x[3] % 32) << 20,
        })
        .collect();
    Chain::from_parameters(1 << 20, &stages)
}

fn selections(criterion: &mut Criterion) {
    type Algorithm = fn(&LayerSizes) -> remat_formulations::baselines::hong::Selection;
    let table: [(&str, Algorithm, &[usize]); 3] = [
        (
            "hong/algorithm_3",
            checkpoint_selection,
            &[50, 100, 200, 400],
        ),
        (
            "hong/algorithm_5",
            dynamic_selection_quadratic,
            &[100, 1_000, 10_000],
        ),
        (
            "hong/algorithm_6",
            dynamic_selection,
            &[100, 1_000, 10_000, 100_000, 1_000_000],
        ),
    ];
    for (name, algorithm, lengths) in table {
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10);
        for &layers in lengths {
            let sizes = sizes(layers);
            group.throughput(Throughput::Elements(layers as u64));
            group.bench_with_input(BenchmarkId::from_parameter(layers), &sizes, |b, sizes| {
                b.iter(|| algorithm(black_box(sizes)))
            });
        }
        group.finish();
    }
}

/// Rotor's whole solve, with 500 slots, at half of the memory that saving everything takes.
fn rotor_growth(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rotor/500_slots");
    group.sample_size(10);
    group.warm_up_time(Duration::from_millis(500));
    for stages in [50, 100, 200, 350] {
        let chain = chain(stages);
        let budget = chain.stages.iter().map(|s| s.saved_bytes).sum::<u64>() / 2;
        group.bench_with_input(BenchmarkId::from_parameter(stages), &chain, |b, chain| {
            b.iter(|| rotor::solve(black_box(chain), budget, rotor::RotorSettings::default()))
        });
    }
    group.finish();
}

criterion_group!(benches, selections, rotor_growth);
criterion_main!(benches);
