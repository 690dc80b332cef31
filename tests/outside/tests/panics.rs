//! A panic in any function of a program from outside, on any worker, ends the solve with that
//! panic.

use remat_formulations::{Budget, Instance, Solve};
use remat_instances::schedule::BitMatrix;
use remat_instances::simulate::{Replay, ReplayError};
use remat_outside::{KeepOrRecompute, Knapsack, KnapsackProblem, KnapsackRow, KnapsackWalk};
use remat_search::anneal::{Delta, Flip, Found, Landscape, Walk, Xoshiro256};
use remat_search::{
    BoundProof, Formulation, Listener, Problem, Progress, Settings, SolveError, Start, Watch,
};
use remat_solver::price::{
    Branch, Branching, Columns, Open, Priced, Pricing, RowTraits, Rows, Separation, TreeProof,
};
use remat_tests::graphs::{Numbers, training};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// A function that panics, and the calls it survives.
#[derive(Clone, Debug)]
struct Fault(&'static str, Arc<AtomicU32>);

impl Fault {
    fn called(&self, function: &str) {
        if self.0 == function && self.1.fetch_sub(1, Ordering::Relaxed) == 0 {
            panic!("injected into {function}");
        }
    }
}

/// Something with a fault.
#[derive(Clone, Debug)]
struct Faulty<T> {
    inner: T,
    fault: Fault,
}

impl Walk for Faulty<KnapsackWalk<'_>> {
    type Sets = BitMatrix;

    fn evaluate(&mut self, flip: Flip) -> Delta {
        self.fault.called("evaluate");
        self.inner.evaluate(flip)
    }
    fn apply(&mut self, flip: Flip) {
        self.fault.called("apply");
        self.inner.apply(flip);
    }
    fn excess(&self) -> f64 {
        self.fault.called("excess");
        self.inner.excess()
    }
    fn cost(&self) -> u64 {
        self.inner.cost()
    }
    fn retained(&self) -> BitMatrix {
        self.fault.called("retained");
        self.inner.retained()
    }
    fn look_around(&mut self) {
        self.fault.called("look_around");
    }
    fn anywhere(&self, random: &mut Xoshiro256) -> Option<Flip> {
        self.fault.called("anywhere");
        self.inner.anywhere(random)
    }
}

impl Landscape for Faulty<Knapsack> {
    type Sets = BitMatrix;
    type Walk<'g> = Faulty<KnapsackWalk<'g>>;
    fn nodes(&self) -> usize {
        self.inner.nodes()
    }
    fn mean_cost(&self) -> f64 {
        self.inner.mean_cost()
    }
    fn byte_price(&self) -> f64 {
        self.inner.byte_price()
    }
    fn absence_price(&self) -> f64 {
        self.inner.absence_price()
    }
    fn walk<'g>(&'g self, start: &BitMatrix) -> Faulty<KnapsackWalk<'g>> {
        self.fault.called("walk");
        Faulty {
            inner: self.inner.walk(start),
            fault: self.fault.clone(),
        }
    }
}

impl Columns for Faulty<Knapsack> {
    type Column = u32;
    fn blocks(&self) -> usize {
        self.inner.blocks()
    }
    fn block(tensor: &u32) -> usize {
        Knapsack::block(tensor)
    }
    fn cost(&self, tensor: &u32) -> u64 {
        self.inner.cost(tensor)
    }
    fn offset(&self) -> u64 {
        self.inner.offset()
    }
    fn base_cost(&self) -> u64 {
        self.inner.base_cost()
    }
    fn cost_upper_bound(&self) -> u64 {
        self.inner.cost_upper_bound()
    }
}

impl Rows for Faulty<Knapsack> {
    type Row = KnapsackRow;
    type Part = ();
    fn start(&self) -> (Vec<KnapsackRow>, Vec<u32>) {
        self.fault.called("start");
        self.inner.start()
    }
    fn row_traits(&self, row: &KnapsackRow) -> RowTraits {
        self.inner.row_traits(row)
    }
    fn right_side(&self, row: &KnapsackRow) -> i64 {
        self.inner.right_side(row)
    }
    fn parts(&self, row: &KnapsackRow, note: &mut dyn FnMut(usize, ())) {
        self.inner.parts(row, note);
    }
    fn coefficient(&self, row: &KnapsackRow, (): (), tensor: &u32) -> i64 {
        self.fault.called("coefficient");
        self.inner.coefficient(row, (), tensor)
    }
}

impl Pricing for Faulty<Knapsack> {
    type Exclusions = ();
    fn no_exclusions(&self) {}
    fn price(&self, _: &(), rows: &[KnapsackRow], y: &[f64], limit: usize, t: f64) -> Priced<u32> {
        self.fault.called("price");
        self.inner.price(&(), rows, y, limit, t)
    }
    fn lagrangian_bound(&self, _: &(), rows: &[KnapsackRow], duals: &[f64]) -> u64 {
        self.fault.called("lagrangian_bound");
        self.inner.lagrangian_bound(&(), rows, duals)
    }
}

impl Separation for Faulty<Knapsack> {
    type Point = Vec<f64>;
    fn point(&self, columns: &mut dyn Iterator<Item = (u32, f64)>, s: &[f64]) -> Vec<f64> {
        self.fault.called("point");
        self.inner.point(columns, s)
    }
}

impl Branching for Faulty<Knapsack> {
    type Quantity = u32;
    fn open(&self, point: &Vec<f64>, limit: usize) -> Vec<Open<u32>> {
        self.fault.called("open");
        self.inner.open(point, limit)
    }
    fn branch_row(&self, branch: &Branch<u32>) -> KnapsackRow {
        self.fault.called("branch_row");
        self.inner.branch_row(branch)
    }
}

struct FaultyProblem<'a> {
    inner: KnapsackProblem<'a>,
    knapsack: Arc<Faulty<Knapsack>>,
}

impl Problem for FaultyProblem<'_> {
    type Landscape = Faulty<Knapsack>;
    type Program = Faulty<Knapsack>;
    type Schedule = BitMatrix;
    const THRESHOLDS: &'static [f64] = KnapsackProblem::THRESHOLDS;
    fn landscape(&self) -> &Faulty<Knapsack> {
        self.knapsack.fault.called("landscape");
        &self.knapsack
    }
    fn program(&self) -> Option<Arc<Faulty<Knapsack>>> {
        self.knapsack.fault.called("program");
        Some(self.knapsack.clone())
    }
    fn everything(&self) -> &BitMatrix {
        self.inner.everything()
    }
    fn known(&self, watch: &Watch<'_>) -> Vec<Found> {
        self.knapsack.fault.called("known");
        self.inner.known(watch)
    }
    fn near(&self, knapsack: &Faulty<Knapsack>, kept: &Vec<f64>, threshold: f64) -> BitMatrix {
        self.knapsack.fault.called("near");
        self.inner.near(&knapsack.inner, kept, threshold)
    }
    fn columns(&self, knapsack: &Faulty<Knapsack>, found: &Found) -> Vec<u32> {
        self.knapsack.fault.called("columns");
        self.inner.columns(&knapsack.inner, found)
    }
    fn judge(&self, found: Found) -> Result<(BitMatrix, Replay), ReplayError> {
        self.knapsack.fault.called("judge");
        self.inner.judge(found)
    }
    fn proof(&self, _: &Faulty<Knapsack>, _: &TreeProof<Faulty<Knapsack>>) -> Option<BoundProof> {
        self.knapsack.fault.called("proof");
        None
    }
}

impl Formulation for Faulty<KeepOrRecompute> {
    type Schedule = BitMatrix;
    type Problem<'a> = FaultyProblem<'a>;
    fn plain(&self) -> Result<Replay, ReplayError> {
        self.fault.called("plain");
        self.inner.plain()
    }
    fn problem<'a>(
        &'a self,
        budget_bytes: u64,
        starts: &'a [BitMatrix],
    ) -> Result<Start<FaultyProblem<'a>>, SolveError> {
        self.fault.called("problem");
        let Start::Open(inner, bound) = self.inner.problem(budget_bytes, starts)? else {
            panic!("the budget needs no search");
        };
        let knapsack = Arc::new(Faulty {
            inner: inner.landscape().clone(),
            fault: self.fault.clone(),
        });
        Ok(Start::Open(FaultyProblem { inner, knapsack }, bound))
    }
}

impl Listener for Faulty<()> {
    fn is_interrupted(&self) -> bool {
        self.fault.called("is_interrupted");
        false
    }
    fn progress(&self, _: &Progress) {
        self.fault.called("progress");
    }
}

/// Text of the panic that a solve with a fault ends with.
fn text_of(instance: &Instance, fault: Fault, threads: usize) -> String {
    let formulation = Faulty {
        inner: KeepOrRecompute::new(instance).unwrap(),
        fault: fault.clone(),
    };
    let name = fault.0;
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let listener = Faulty { inner: (), fault };
        let settings = Settings {
            rounds: 20,
            gap: 0.0,
            threads,
            prove: true,
            ..Settings::default()
        };
        // A feasible schedule is known, so that its columns are requested.
        let nothing = formulation.inner.nothing();
        let solve = Solve::of(formulation, Budget::Percent(60.0)).settings(settings);
        let solve = solve.start(nothing);
        let run = AssertUnwindSafe(|| solve.listener(&listener).outcome().map(|o| o.0.cost()));
        let end = match catch_unwind(run) {
            Ok(end) => format!("no panic: {end:?}"),
            Err(payload) => payload
                .downcast::<String>()
                .map_or("?".into(), |text| *text),
        };
        let _ = send.send(end);
    });
    let end = receive.recv_timeout(Duration::from_secs(60));
    end.unwrap_or_else(|_| panic!("a panic in {name} hangs the solve"))
}

#[test]
fn a_panic_of_any_function_ends_the_solve_with_it() {
    // Small enough to be solved to the end, large enough to branch.
    let instance = training(60, &mut Numbers::new(7));
    let functions = [
        ("plain", 0),
        ("problem", 0),
        ("landscape", 0),
        ("program", 0),
        ("known", 0),
        ("walk", 1),
        ("evaluate", 2_000),
        ("apply", 500),
        ("excess", 2_000),
        ("retained", 3),
        ("look_around", 3),
        ("anywhere", 2_000),
        ("start", 0),
        ("coefficient", 50),
        ("price", 1),
        ("lagrangian_bound", 0),
        ("point", 1),
        ("open", 1),
        ("branch_row", 2),
        ("near", 1),
        ("columns", 0),
        ("judge", 0),
        ("proof", 0),
        ("is_interrupted", 1),
        ("progress", 0),
    ];
    for (function, calls) in functions {
        for threads in [1, 4] {
            let fault = Fault(function, Arc::new(AtomicU32::new(calls)));
            let text = text_of(&instance, fault, threads);
            assert_eq!(
                text,
                format!("injected into {function}"),
                "{threads} threads"
            );
        }
    }
}
