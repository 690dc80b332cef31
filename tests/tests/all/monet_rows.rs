//! The replay of MONeT's program against the program itself. The rows of "Program A" of the
//! benchmark description are evaluated one by one from the matrices, on random small instances and
//! schedules and on all published schedules.

use remat_instances::instance::{
    CostUnit, Implementation, InPlace, Instance, InstanceData, Node, NodeId, NodeKind,
    passing_in_plain_order,
};
use remat_instances::schedule::{BitMatrix, Choices, MonetSchedule, Schedule, ScheduleFile};
use remat_instances::{Semantics, simulate};
use remat_tests::{files, shared_data};

/// Objective and largest left side of the memory rows (16) to (18), or `None` if a row (1) to (12)
/// is violated.
///
/// One requirement is not in the published program: a node may not read a buffer after it was
/// overwritten.
fn rows(instance: &Instance, s: &MonetSchedule) -> Option<(i64, i64)> {
    let loss = instance.loss().unwrap().index();
    let stages = instance.len() - loss;
    let node = |i: usize| instance.node(NodeId::from(i));
    let bit = |m: &BitMatrix, t: usize, i: usize| m.get(t, i) as i64;
    let (r, st) = (|t, i| bit(&s.computed, t, i), |t, i| bit(&s.retained, t, i));
    let ip = |t, i| bit(&s.in_place, t, i);
    let mask = |i: usize| matches!(node(i).kind, NodeKind::ByProduct { .. });
    let on = |i: usize| node(i).in_place.as_ref().map(|o| o.on.index());
    let mem = |i: usize| node(i).output_bytes as i64;
    let local = |i: usize| {
        node(i)
            .passing
            .iter()
            .map(|u| u.index())
            .collect::<Vec<_>>()
    };
    let local_mem = |i: usize| local(i).iter().map(|u| mem(*u)).sum::<i64>();
    let fixed = |i: usize| node(i).fixed_bytes as i64;
    let overwritten = |t, u| (0..=loss).any(|v| on(v) == Some(u) && !mask(v) && ip(t, v) == 1);
    let p = |t, u| (r(t, u) == 1 && !overwritten(t, u)) as i64;
    let (mut cost, mut peak) = (0, 0);
    for t in 0..stages {
        let back = loss + t;
        let chosen = node(back)
            .implementations
            .get(s.backward_choice[t] as usize)?;
        let reads: Vec<_> = chosen
            .needs
            .iter()
            .map(|u| u.index())
            .filter(|u| *u <= loss)
            .collect();
        for i in 0..=loss {
            let how = s.forward_choice.get(t, i) as usize;
            let feasible = (t > 0 || st(0, i) == 0)
                && (t > 0 || mask(i) || r(0, i) == 1)
                && st(t + 1, i) <= st(t, i) + p(t, i)
                && ip(t, i) <= r(t, i)
                && (ip(t, i) == 0 || on(i).is_some())
                && (st(t + 1, i) == 0 || !overwritten(t, i))
                && (t == 0 || !reads.contains(&i) || p(t, i) + st(t + 1, i) >= 1);
            if !feasible {
                return None;
            }
            if let NodeKind::ByProduct { parent } = node(i).kind {
                let parent = parent.index();
                let alike = ip(t, i) >= ip(t, parent) + r(t, i) - 1 && ip(t, i) <= ip(t, parent);
                let choice = on(parent).is_some() && on(i).is_some();
                if r(t, i) > r(t, parent) || choice && !alike {
                    return None;
                }
            }
            if r(t, i) == 0 {
                continue;
            }
            for u in &node(i).implementations.get(how)?.needs {
                let u = u.index();
                let gone = (0..i).any(|v| on(v) == Some(u) && !mask(v) && ip(t, v) == 1);
                if r(t, u) + st(t, u) == 0 || gone {
                    return None;
                }
            }
            if ip(t, i) == 1 && !mask(i) {
                let taken = |v: usize| on(v) == on(i) && !mask(v) && ip(t, v) == 1;
                if (0..i).any(taken) {
                    return None;
                }
            }
        }
        let g = fixed((back).saturating_sub(1)) + if t > 0 { local_mem(back) } else { 0 };
        for j in 0..=loss {
            let held = |i: &usize| *i < j && st(t + 1, *i) == 0;
            let h: i64 = reads.iter().copied().filter(held).map(mem).sum();
            let before = |i: usize| if i < j { st(t + 1, i) } else { st(t, i) };
            peak = peak.max(g + h + (0..=loss).map(|i| mem(i) * before(i)).sum::<i64>());
            if r(t, j) == 0 {
                continue;
            }
            let way = &node(j).implementations[s.forward_choice.get(t, j) as usize];
            let (c, w) = match t {
                0 => (way.cost, way.workspace_bytes),
                _ => (way.recompute_cost, way.recompute_workspace_bytes),
            };
            cost += c as i64;
            let mut workspace = w;
            if let (1, Some(option)) = (ip(t, j), &node(j).in_place) {
                workspace = option.workspace_bytes;
                cost += option.cost_delta;
            }
            let near = local(j);
            let far = (0..=loss).filter(|i| *i != j && !(*i < j && near.contains(i)));
            let stored: i64 = far.map(|i| mem(i) * before(i)).sum();
            // Fixed memory of the loss is charged with its first run, and with each in place.
            let own = match j == loss && (t == 0 || ip(t, j) == 1) {
                true => g + (fixed(loss) - fixed(loss - 1)).max(0),
                false => g,
            };
            peak = peak.max(own + workspace + mem(j) + local_mem(j) + stored + h);
        }
        if t > 0 {
            let others = (0..=loss)
                .filter(|i| !reads.contains(i))
                .map(|i| mem(i) * st(t + 1, i));
            let stored = reads.iter().map(|i| mem(*i)).chain(others).sum::<i64>();
            let own = chosen.workspace_bytes + local_mem(back) + fixed(back) + mem(back);
            peak = peak.max(own + stored);
            cost += chosen.cost as i64;
        }
    }
    Some((cost, peak))
}

/// A small generator of numbers, the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (((self.0 >> 33) as usize) * n) >> 31
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

fn random_instance(random: &mut Random) -> Instance {
    let forward = 2 + random.below(5);
    let backward = 1 + random.below(4);
    let mut nodes: Vec<Node> = Vec::new();
    let way = |random: &mut Random, mut needs: Vec<NodeId>| {
        needs.sort();
        needs.dedup();
        Implementation {
            name: "".into(),
            needs,
            cost: 5 + random.below(20) as u64,
            workspace_bytes: random.below(30) as i64 - 5,
            recompute_cost: 5 + random.below(20) as u64,
            recompute_workspace_bytes: random.below(30) as i64 - 5,
        }
    };
    for i in 0..forward + 1 + backward {
        let mut node = Node::forward(format!("n{i}"), vec![], 0, random.below(50) as u64);
        node.fixed_bytes = i as u64;
        let mut needs = Vec::new();
        if i > forward {
            let gradients = [
                NodeId::from(i - 1),
                NodeId::from(forward + random.below(i - forward)),
            ];
            needs.extend(gradients);
            node.kind = NodeKind::Backward {
                forward: None,
                gradient: Default::default(),
            };
            let variants = 1 + random.below(2);
            let ways = (0..variants).map(|_| {
                let mut needs = needs.clone();
                needs.extend((0..random.below(3)).map(|_| NodeId::from(random.below(forward))));
                way(random, needs)
            });
            node.implementations = ways.collect();
            nodes.push(node);
            continue;
        }
        let proper: Vec<_> = (0..i)
            .filter(|u| nodes[*u].kind == NodeKind::Forward)
            .collect();
        if i > 0 && i < forward && random.one_in(4) {
            let parent = proper[proper.len() - 1];
            node.kind = NodeKind::ByProduct {
                parent: NodeId::from(parent),
            };
            needs.push(NodeId::from(parent));
            node.in_place = nodes[parent].in_place.clone();
        } else {
            if i == forward {
                node.kind = NodeKind::Loss;
            }
            for _ in 0..(1 + random.below(2)).min(proper.len()) {
                needs.push(NodeId::from(proper[random.below(proper.len())]));
            }
            if let (Some(on), true) = (needs.first(), random.one_in(2)) {
                node.in_place = Some(InPlace {
                    on: *on,
                    cost_delta: random.below(6) as i64 - 3,
                    workspace_bytes: -3,
                });
            }
        }
        let variants = 1 + random.below(2);
        node.implementations = (0..variants).map(|_| way(random, needs.clone())).collect();
        nodes.push(node);
    }
    let passing = passing_in_plain_order(&nodes);
    for (node, passing) in nodes.iter_mut().zip(passing) {
        node.passing = passing;
    }
    let data = InstanceData {
        name: "random".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes,
    };
    Instance::new(data).unwrap()
}

/// A nearly executable schedule: random storage, repaired by recomputation, then a few random
/// changes.
fn random_schedule(random: &mut Random, instance: &Instance) -> MonetSchedule {
    let (stages, columns) = MonetSchedule::shape(instance).unwrap();
    let mut s = MonetSchedule {
        computed: BitMatrix::new(stages, columns),
        retained: BitMatrix::new(stages + 1, columns),
        in_place: BitMatrix::new(stages, columns),
        forward_choice: Choices::new(stages, columns),
        backward_choice: vec![0; stages],
    };
    for t in 0..stages {
        let back = instance.node(NodeId::from(columns - 1 + t));
        s.backward_choice[t] = random.below(back.implementations.len()) as u16;
        let reads = back.implementations[s.backward_choice[t] as usize]
            .needs
            .clone();
        for i in (0..columns).rev() {
            let id = NodeId::from(i);
            let node = instance.node(id);
            s.forward_choice
                .set(t, i, random.below(node.implementations.len()) as u16);
            let by_product = matches!(node.kind, NodeKind::ByProduct { .. });
            let there = s.retained.get(t, i);
            let keep = there && (reads.contains(&id) || random.one_in(2));
            let wanted = (reads.contains(&id) && !keep) || (t == 0 && !by_product);
            if wanted || s.computed.get(t, i) || random.one_in(12) {
                s.computed.set(t, i, true);
                for need in node.needs() {
                    if !s.retained.get(t, need.index()) {
                        s.computed.set(t, need.index(), true);
                    }
                }
                if let NodeKind::ByProduct { parent } = node.kind {
                    s.computed.set(t, parent.index(), true);
                    for need in instance.needs(parent) {
                        s.computed.set(t, need.index(), true);
                    }
                }
            }
            let store = keep || s.computed.get(t, i) && random.one_in(3);
            s.retained
                .set(t + 1, i, store && (there || s.computed.get(t, i)));
        }
        for i in 0..columns {
            let node = instance.node(NodeId::from(i));
            let Some(option) = &node.in_place else {
                continue;
            };
            if let NodeKind::ByProduct { parent } = node.kind {
                let both = s.computed.get(t, i) && s.in_place.get(t, parent.index());
                s.in_place.set(t, i, both);
            } else if s.computed.get(t, i) && random.one_in(4) {
                s.in_place.set(t, i, true);
                s.retained.set(t + 1, option.on.index(), false);
            }
        }
    }
    for _ in 0..random.below(3) {
        let (t, i) = (random.below(stages), random.below(columns));
        let matrix = [&mut s.computed, &mut s.retained, &mut s.in_place]
            .into_iter()
            .nth(random.below(3))
            .unwrap();
        let old = matrix.get(t, i);
        matrix.set(t, i, !old);
    }
    if random.one_in(40) {
        s.backward_choice[0] += 2;
    }
    s
}

#[test]
fn the_replay_is_the_program_on_random_schedules() {
    let (mut possible, mut impossible, mut in_place) = (0, 0, 0);
    for seed in 0..40_000 {
        let random = &mut Random(seed);
        let instance = random_instance(random);
        let schedule = random_schedule(random, &instance);
        let replay = simulate::monet(&instance, &schedule);
        match (rows(&instance, &schedule), &replay) {
            (Some((cost, peak)), Ok(replay)) => {
                let found = (replay.cost as i64, replay.peak_bytes as i64);
                assert_eq!(found, (cost, peak), "seed {seed}");
                possible += 1;
                in_place += (schedule.in_place.count_ones() > 0) as usize;
            }
            (None, Err(_)) => impossible += 1,
            (rows, _) => panic!("seed {seed}: rows say {rows:?}, the replay {replay:?}"),
        }
    }
    println!("{possible} possible ({in_place} with in-place steps), {impossible} impossible");
    assert!(possible > 5_000 && impossible > 5_000 && in_place > 1_000);
}

#[test]
fn the_replay_is_the_program_on_published_schedules() {
    let Some(folder) = shared_data("zoo") else {
        return;
    };
    let mut count = 0;
    for path in files(&folder.join("solutions"), "json") {
        let file = ScheduleFile::open(&path).unwrap();
        if file.semantics() != Semantics::Monet {
            continue;
        }
        let graph = folder
            .join("graphs")
            .join(format!("{}.json", file.instance()));
        let instance = remat_instances::read(graph).unwrap();
        let Schedule::Monet(schedule) = file.schedule(&instance).unwrap().schedule else {
            panic!("{}", path.display());
        };
        let replay = simulate::monet(&instance, &schedule).unwrap();
        let found = (replay.cost as i64, replay.peak_bytes as i64);
        assert_eq!(
            Some(found),
            rows(&instance, &schedule),
            "{}",
            path.display()
        );
        count += 1;
    }
    println!("{count} published schedules agree in cost and peak");
    assert!(count > 0);
}
