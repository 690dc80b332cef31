//! Speed of the annealing: one element is one evaluated move, so the throughput is moves per second
//! on one core.

#![allow(missing_docs)] // criterion_group! makes an undocumented public function

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use remat_formulations::anneal::CheckmateLandscape;
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::{simulate, zoo};
use remat_lp::random::Xoshiro256;
use remat_search::anneal::{Chain, ChainSettings, Observer};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts moves.
#[derive(Default)]
struct Moves(AtomicU64);

impl Observer for Moves {
    fn report(&self, moves: u64, _: Option<u64>) {
        self.0.fetch_add(moves, Ordering::Relaxed);
    }
}

/// A run over all temperatures at 60% of the peak without recomputation.
fn moves(c: &mut Criterion) {
    let mut group = c.benchmark_group("anneal");
    group.sample_size(10);
    for model in ["vgg16", "resnet50", "unet", "gpt2", "resnet152"] {
        let instance = zoo::build(&model.parse().expect("a model's name")).expect("defaults build");
        let start = CheckmateSchedule::checkpoint_all(&instance);
        let peak = simulate::checkmate(&instance, &start)
            .expect("executable")
            .peak_bytes;
        let graph = CheckmateLandscape::new(&instance, peak / 10 * 6);
        let run = |moves: &Moves| {
            let mut chain = Chain::new(&graph, &start.retained.to_bits(), Xoshiro256::new(1, 0));
            let settings = ChainSettings {
                moves: 1 << 19,
                hot: 0.5,
                cold: 0.001,
                target: 0,
                time: None,
                seek: None,
            };
            chain.run(settings, moves);
        };
        let moves = Moves::default();
        run(&moves);
        group.throughput(Throughput::Elements(moves.0.into_inner()));
        group.bench_function(model, |b| b.iter(|| run(black_box(&Moves::default()))));
    }
    group.finish();
}

criterion_group!(benches, moves);
criterion_main!(benches);
