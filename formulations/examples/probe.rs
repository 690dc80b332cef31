//! probe

use remat_formulations::{anneal::*, instance::*, schedule::*, simulate};
use std::time::Instant;
fn load(path: &str) -> Instance {
    let v: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let nodes = v["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| {
            let mut d: Vec<NodeId> = n["deps"][0]
                .as_array()
                .unwrap()
                .iter()
                .map(|x| NodeId(x.as_u64().unwrap() as u32))
                .collect();
            d.sort();
            let mut m = Node::forward(
                format!("{}", n["id"]),
                d,
                n["B"]["cost"].as_u64().unwrap(),
                n["B"]["mem"].as_u64().unwrap() * 1024,
            );
            m.fixed_bytes = n["B"]["fixed"].as_u64().unwrap() * 1024;
            m
        })
        .collect();
    Instance::new(InstanceData {
        name: "x".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        nodes,
    })
    .unwrap()
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let inst = load(&a[1]);
    let budget = (a[2].parse::<f64>().unwrap() * (1u64 << 30) as f64) as u64;
    let moves: u64 = a[3].parse().unwrap();
    let hot: f64 = a[4].parse().unwrap();
    let cold: f64 = a[5].parse().unwrap();
    let seed: u64 = a[6].parse().unwrap();
    let g = Graph::new(&inst, budget);
    let all = CheckmateSchedule::checkpoint_all(&inst);
    let r = simulate::checkmate(&inst, &all).unwrap();
    let t = Instant::now();
    if hot == 0.0 {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(2)
            .build()
            .unwrap();
        let o = pool.install(|| {
            search(
                &g,
                &all.retained,
                &PortfolioSettings {
                    seed,
                    rounds: 100,
                    time_limit: Some(std::time::Duration::from_secs(moves)),
                    target: r.cost,
                },
                &|| false,
                &mut |f| eprint!(" {:.1}s:{}", t.elapsed().as_secs_f64(), f.cost),
            )
        });
        println!(
            " best {:?} moves {} rounds {} {:.1}s",
            o.best.map(|b| b.cost),
            o.moves,
            o.rounds,
            t.elapsed().as_secs_f64()
        );
        return;
    }

    let mut c = Chain::new(&g, &all.retained, Random::new(seed, 0));
    let done = c.run(ChainSettings { moves, hot, cold }, &|| false);
    let s = t.elapsed().as_secs_f64();
    println!("base {} peak {} n {}", r.cost, r.peak_bytes, inst.len());
    match c.best() {
        None => println!("none {done} {s:.2}s"),
        Some(f) => {
            let sch = CheckmateSchedule::cheapest(&inst, f.retained.clone());
            let rp = simulate::checkmate(&inst, &sch).unwrap();
            println!(
                "cost {} replay {} peak {} budget {} fits {} | {:.2}s {:.0} moves/s",
                f.cost,
                rp.cost,
                rp.peak_bytes,
                budget,
                rp.peak_bytes <= budget,
                s,
                done as f64 / s
            );
        }
    }
}
