//! `tree GRAPH BUDGET_GIB BEST SECONDS`: the tree alone, with the cost of a known schedule as cutoff.
use remat_formulations::checkmate::{Graph, interval::*};
use remat_formulations::instance::{ReadOptions, read_instance};
use remat_formulations::schedule::{BitMatrix, CheckmateSchedule};
use std::sync::atomic::*;
struct Ex { best: AtomicU64, t: std::time::Instant, last: AtomicU64, shown: AtomicU64, graph: Graph }
impl Exchange for Ex {
    fn best(&self) -> Option<u64> { Some(self.best.load(Ordering::Relaxed)) }
    fn offer(&self, r: BitMatrix) {
        let n = self.graph.len();
        let s = (0..n).map(|t| r.ones(t).count()).sum::<usize>();
        eprintln!("offer {s}");
    }
    fn schedule(&self) -> Option<CheckmateSchedule> { None }
    fn progress(&self, bound: u64, nodes: u64, it: u64) {
        if bound != self.last.swap(bound, Ordering::Relaxed) || nodes >= self.shown.load(Ordering::Relaxed) + 200 {
            self.shown.store(nodes, Ordering::Relaxed);
            eprintln!("{:.2} bound {bound} nodes {nodes} it {it}", self.t.elapsed().as_secs_f64());
        }
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let inst = read_instance(std::path::Path::new(&a[1]), &ReadOptions::default()).unwrap();
    let inst = inst.single_implementation().0;
    let b = (a[2].parse::<f64>().unwrap() * (1u64 << 30) as f64) as u64;
    let graph = Graph::new(&inst, b).unwrap();
    let ex = Ex { best: AtomicU64::new(a[3].parse().unwrap()), t: std::time::Instant::now(), last: 0.into(), shown: 0.into(), graph: graph.clone() };
    let mut s = TreeSettings::default();
    s.root.time_limit = Some(std::time::Duration::from_secs_f64(a[4].parse().unwrap()));
    if let Some(v) = a.get(5) { s.strong_candidates = v.parse().unwrap(); }
    if let Some(v) = a.get(6) { s.node_cut_rounds = v.parse().unwrap(); }
    let o = search(graph, &s, &ex).unwrap();
    println!("{:?} bound {} root {} nodes {} it {} cuts {} {:.1}s", o.end, o.bound, o.root_bound, o.nodes, o.iterations, o.cuts, ex.t.elapsed().as_secs_f64());
}
