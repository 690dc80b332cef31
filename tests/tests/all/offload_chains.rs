//! Chains with a link: published parameters, recorded values, enumeration.

use proptest::prelude::*;
use remat_formulations::baselines::chain::{Chain, StageParameters};
use remat_formulations::offload::chain::{
    Action, ChainMethod, ChainSearch, ChainTuning, Choices, Link, LinkedChain, Release, play,
};
use remat_tests::chains::{at_once, sequences, with_copies};
use remat_tests::shared_data;
use serde_json::Value;

fn number(v: &Value) -> Option<f64> {
    match v {
        Value::String(text) => {
            let (p, q) = text.split_once('/').unwrap();
            Some(p.parse::<f64>().unwrap() / q.parse::<f64>().unwrap())
        }
        v => v.as_f64(),
    }
}

fn list(v: &Value) -> Vec<u64> {
    v.as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_u64().unwrap())
        .collect()
}

/// A chain whose input may leave, and whose first backward step makes a gradient for it.
fn chain(input: u64, gradient: u64, stages: &[StageParameters]) -> LinkedChain {
    let mut chain = LinkedChain::of(&Chain::from_parameters(input, stages));
    chain.input_bytes = input;
    chain.stages[0].backward_bytes += gradient;
    chain
}

fn vectors() -> Option<Value> {
    let file = shared_data("offload")?.join("vectors.json");
    Some(serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap())
}

fn of_vector(c: &Value) -> (LinkedChain, Link, u64) {
    let all = |name: &str| list(&c[name]);
    let (a, delta) = (all("a"), all("delta"));
    let stages: Vec<StageParameters> = (0..all("u_F").len())
        .map(|k| StageParameters {
            forward_cost: all("u_F")[k],
            backward_cost: all("u_B")[k],
            output_bytes: a[k + 1],
            saved_bytes: all("abar")[k],
            gradient_bytes: delta[k + 1],
            forward_overhead_bytes: all("o_f")[k],
            backward_overhead_bytes: all("o_b")[k],
        })
        .collect();
    let link = Link {
        out: number(&c["beta_out"]).unwrap(),
        back: number(&c["beta_in"]).unwrap(),
    };
    (
        chain(a[0], delta[0], &stages),
        link,
        c["M"].as_u64().unwrap(),
    )
}

fn actions(v: &Value) -> Vec<Action> {
    v.as_array()
        .unwrap()
        .iter()
        .map(|t| {
            let (kind, stage) = t.as_str().unwrap().split_once(' ').unwrap();
            let stage = stage.parse::<usize>().unwrap() - 1;
            match kind {
                "F_all" => Action::SaveAll(stage),
                "F_ck" => Action::KeepInput(stage),
                "F_0" => Action::DropInput(stage),
                "B" => Action::Backward(stage),
                "O" => Action::Offload(stage),
                "P" => Action::Prefetch(stage),
                _ => panic!("{kind}"),
            }
        })
        .collect()
}

fn near(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * b.abs().max(1.0),
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// An exact search.
fn exact(chain: &LinkedChain, link: Link, memory_bytes: u64) -> ChainSearch<'_> {
    ChainSearch::new(chain, link, memory_bytes).exact()
}

#[test]
fn recorded_chains_have_their_values() {
    let Some(vectors) = vectors() else { return };
    for c in vectors["chains"].as_array().unwrap() {
        let name = c["name"].as_str().unwrap();
        let (chain, link, memory) = of_vector(c);
        let want = &c["expected"];
        for (field, choices) in [
            ("pofo", Choices::Both),
            ("rotor", Choices::Recompute),
            ("offload_only", Choices::Offload),
        ] {
            let plan = exact(&chain, link, memory).choices(choices).run();
            assert!(
                near(plan.as_ref().map(|p| p.makespan), number(&want[field])),
                "{name} {field}: {plan:?} {}",
                want[field]
            );
            if let Some(plan) = plan {
                assert!(plan.is_exact);
                let played =
                    play(&chain, link, memory, &plan.actions, Release::Continuous).unwrap();
                assert!(
                    near(played.map(|p| p.makespan()), number(&want[field])),
                    "{name} {field} played {played:?} {:?}",
                    plan.actions
                );
                assert!(
                    play(&chain, link, memory, &plan.actions, Release::AtOnce)
                        .unwrap()
                        .is_some()
                );
            }
        }
        for (field, release, value) in [
            ("pofo", Release::Continuous, "pofo"),
            ("pofo", Release::AtOnce, "pofo_converted"),
            ("rotor", Release::AtOnce, "rotor"),
            ("offload_only", Release::Continuous, "offload_only"),
            ("offload_only", Release::AtOnce, "offload_only_converted"),
            ("at_once_best_fifo", Release::AtOnce, "at_once_best_fifo"),
        ] {
            let sequence = &c["sequences"][field];
            if sequence.is_null() {
                continue;
            }
            let played = play(&chain, link, memory, &actions(sequence), release).unwrap();
            assert!(
                near(played.map(|p| p.makespan()), number(&want[value])),
                "{name} {field} {value} {played:?}"
            );
            if let Some(idle) = c["idle"].get(value).filter(|v| !v.is_null()) {
                let p = played.unwrap();
                for (f, x) in [
                    ("idle_forward", p.idle_forward),
                    ("idle_barrier", p.idle_barrier),
                    ("idle_backward", p.idle_backward),
                ] {
                    assert!(
                        near(Some(x), number(&idle[f])),
                        "{name} {value} {f} {p:?} {idle}"
                    );
                }
            }
        }
    }
}

#[test]
fn recorded_parts_have_their_times_and_fronts() {
    let Some(vectors) = vectors() else { return };
    let all = vectors["chains"].as_array().unwrap();
    let of_name = |name: &Value| of_vector(all.iter().find(|c| c["name"] == *name).unwrap());
    let part = |c: &Value| {
        let stage = |name: &str| c[name].as_u64().unwrap() as usize - 1;
        stage("i")..=stage("j")
    };
    for c in vectors["c_delta"].as_array().unwrap() {
        let (chain, link, memory) = of_name(&c["chain"]);
        let (kept, due) = (c["A"].as_u64().unwrap(), c["D"].as_f64().unwrap());
        let found = exact(&chain, link, memory).part_time(part(c), kept, due);
        assert!(near(found, number(&c["value"])), "{c} {found:?}");
    }
    for f in vectors["fronts"].as_array().unwrap() {
        let (chain, link, memory) = of_name(&f["chain"]);
        let found = exact(&chain, link, memory).part_ways(part(f));
        let wanted = f["triples"].as_array().unwrap().iter().map(|t| {
            let triple = [&t[0], &t[1], &t[2]].map(|x| number(x).unwrap());
            (triple[0] as u64, triple[1], triple[2])
        });
        let wanted: Vec<_> = wanted.filter(|way| way.0 <= memory).collect();
        assert_eq!(found.len(), wanted.len(), "{f} {found:?}");
        for way in wanted {
            let is_there = found.iter().any(|one| {
                one.0 == way.0 && near(Some(one.1), Some(way.1)) && near(Some(one.2), Some(way.2))
            });
            assert!(is_there, "{f} {found:?}");
        }
    }
}

#[test]
fn as_many_sequences_as_are_known() {
    // Layers without the loss: 1, 2, 3, 4.
    assert_eq!([1, 2, 3, 4].map(|l| sequences(l + 1).len()), [2, 6, 22, 90]);
}

fn random_chain() -> impl Strategy<Value = (LinkedChain, Link, u64)> {
    let stage = (
        1u64..20,
        1u64..20,
        1u64..9,
        0u64..12,
        0u64..7,
        0u64..4,
        0u64..6,
    );
    (
        prop::collection::vec(stage, 1..6),
        0u64..8,
        1u64..9,
        1u64..9,
        1u64..4,
        0u64..100,
    )
        .prop_map(|(stages, input, out, back, divisor, share)| {
            let stages: Vec<StageParameters> = stages
                .into_iter()
                .map(|(f, b, a, more, d, of, ob)| StageParameters {
                    forward_cost: f,
                    backward_cost: b,
                    output_bytes: a,
                    saved_bytes: a + more,
                    gradient_bytes: d,
                    forward_overhead_bytes: of,
                    backward_overhead_bytes: ob,
                })
                .collect();
            let chain = chain(input, 0, &stages);
            let kept: u64 = stages
                .iter()
                .map(|s| s.saved_bytes + s.gradient_bytes)
                .sum();
            let high = input + kept / 2 + 10;
            let link = Link {
                out: out as f64 / divisor as f64,
                back: back as f64 / divisor as f64,
            };
            (chain, link, (high * share).div_ceil(100).max(1))
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn the_search_finds_what_enumeration_finds((chain, link, memory) in random_chain()) {
        let stages = chain.len();
        let best = |list: &[Vec<Action>], release| {
            let times = list.iter().filter_map(|actions| play(&chain, link, memory, actions, release).unwrap());
            times.map(|p| p.makespan()).min_by(f64::total_cmp)
        };
        let plain = sequences(stages);
        let saving: Vec<_> = plain.iter().filter(|s| s.iter().all(|a| !matches!(a, Action::KeepInput(_) | Action::DropInput(_)))).cloned().collect();
        let copied = |list: &[Vec<Action>]| list.iter().flat_map(|s| with_copies(s, stages)).collect::<Vec<_>>();
        for (choices, list) in [(Choices::Both, copied(&plain)), (Choices::Recompute, plain.clone()), (Choices::Offload, copied(&saving))] {
            let plan = exact(&chain, link, memory).choices(choices).run();
            let wanted = best(&list, Release::Continuous);
            prop_assert!(near(plan.as_ref().map(|p| p.makespan), wanted), "{:?} {:?} {:?}", choices, plan, wanted);
            if let Some(plan) = plan {
                let played = play(&chain, link, memory, &plan.actions, Release::Continuous).unwrap();
                prop_assert!(near(played.map(|p| p.makespan()), wanted));
                prop_assert!(play(&chain, link, memory, &plan.actions, Release::AtOnce).unwrap().is_some());
                // Fewer slots and labels give a sequence as well, but no faster one.
                let tuning = ChainTuning { slots: 7, ways: 2, labels: 3, ..ChainTuning::default() };
                let coarse = ChainSearch::new(&chain, link, memory).choices(choices).tuning(tuning).run();
                if let Some(coarse) = coarse {
                    let played = play(&chain, link, memory, &coarse.actions, Release::Continuous).unwrap().map(|p| p.makespan());
                    prop_assert!(played.is_some_and(|p| p <= coarse.makespan + 1e-9 && p >= plan.makespan - 1e-9), "{:?} {:?}", played, coarse);
                    prop_assert!(coarse.bound <= plan.makespan + 1e-9, "{:?} {:?}", coarse, plan);
                }
            }
        }
    }

    #[test]
    fn rows_replay_to_their_makespans_and_none_is_below_the_best((chain, link, memory) in random_chain()) {
        let stages = chain.len();
        let plain = sequences(stages);
        let copied = plain.iter().flat_map(|s| with_copies(s, stages));
        let times = copied.filter_map(|actions| at_once(&chain, link, memory, &actions));
        // The input of the loss stays, and copies go first in, first out, in the rows as well.
        let best = times.min_by(f64::total_cmp);
        let rows = exact(&chain, link, memory).rows().unwrap();
        for one in &rows.rows {
            let makespan = one.played.makespan();
            let replayed = at_once(&chain, link, memory, &one.actions);
            prop_assert!(near(replayed, Some(makespan)), "{:?} {:?}", one, replayed);
            prop_assert!(best.is_some_and(|best| best <= makespan + 1e-9), "{:?} {:?}", one, best);
            let computations = |a: &Action| !matches!(a, Action::Offload(_) | Action::Prefetch(_));
            let list: Vec<Action> = one.actions.iter().copied().filter(computations).collect();
            prop_assert!(plain.contains(&list), "{:?}", one);
        }
        let time = |row| rows.get(row).map_or(f64::INFINITY, |one| one.played.makespan());
        let rotor = time(ChainMethod::Rotor);
        let pofo = time(ChainMethod::Pofo);
        prop_assert!(pofo <= rotor && pofo <= time(ChainMethod::OffloadOnly));
        prop_assert!(time(ChainMethod::Autocapper) <= rotor + 1e-9);
        prop_assert!(time(ChainMethod::Autocapper) <= time(ChainMethod::Greedy) + 1e-9);
        // Where the best fits, so does POFO's.
        prop_assert!(best.is_none() || rows.get(ChainMethod::Pofo).is_some());
    }
}
