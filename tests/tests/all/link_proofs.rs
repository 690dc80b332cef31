//! Proofs of bounds with a link: written by root and tree, judged by an independent checker.

use crate::forged::Verdicts;
use remat_check::proof::{self as checker, Proof};
use remat_formulations::AnyFormulation;
use remat_formulations::offload::CopyPhase;
use remat_formulations::offload::exact::{ExactOutcome, ExactSearch, ExactSettings};
use remat_formulations::offload::interval::{LinkGraph, ProofLimits, prove, tree_proof};
use remat_formulations::offload::nodes::{Offload, OffloadTuning, Offloaded};
use remat_instances::instance::{Duplex, HostLink};
use remat_instances::{Instance, Semantics};
use remat_search::{BoundProof, Settings};
use remat_tests::graphs::Numbers;
use remat_tests::linked::LinkedCase;
use std::collections::BTreeMap;

/// Variable with the number of random graphs; 400 if it is not set.
const GRAPHS_VARIABLE: &str = "REMAT_LINK_PROOFS";

fn graphs() -> u64 {
    let asked = std::env::var(GRAPHS_VARIABLE).ok();
    asked.map_or(400, |text| text.parse().unwrap())
}

/// A random graph with all options, as the program sees it, and the time of its copies.
fn case_of(seed: u64, nodes: usize) -> (LinkedCase, CopyPhase) {
    let case = LinkedCase::random(seed, nodes);
    let case = LinkedCase {
        recompute: true,
        instance: case.instance.single_implementation_view(),
        ..case
    };
    let copies = match case.by_loss {
        true => CopyPhase::Loss,
        false => CopyPhase::Any,
    };
    (case, copies)
}

/// The optimum; `None` if no plan fits.
fn optimum(instance: &Instance, copies: CopyPhase, budget_bytes: u64) -> Option<u64> {
    let settings = ExactSettings {
        copies,
        ..ExactSettings::default()
    };
    let search = ExactSearch::new(instance, budget_bytes).settings(settings);
    match search.run().unwrap() {
        ExactOutcome::Optimal { plan, .. } => Some(plan.replay.makespan),
        ExactOutcome::Infeasible { .. } => None,
        other => panic!("{other:?}"),
    }
}

/// The bound of root and tree with its proof; `None` if a node does not fit.
fn proven(
    case: &LinkedCase,
    copies: CopyPhase,
    best: Option<u64>,
    nodes: u64,
) -> Option<(u64, BoundProof)> {
    let (instance, budget) = (&case.instance, case.budget_bytes);
    let link = LinkGraph::new(instance, copies, budget)?;
    let limits = ProofLimits {
        time: None,
        iterations: [20_000, 40_000],
        nodes,
        gap: 0.0,
        prove: true,
    };
    let known = instance.base_cost();
    let found = prove(link.clone(), known, best, &limits, &|| false).unwrap();
    // Collecting a proof does not count as work of the search.
    let limits = ProofLimits {
        prove: false,
        ..limits
    };
    let without = prove(link.clone(), known, best, &limits, &|| false).unwrap();
    assert!(without.proof.is_none());
    assert_eq!(
        (found.bound, found.nodes, found.iterations),
        (without.bound, without.nodes, without.iterations)
    );
    let proof = tree_proof(instance, budget, &link, found.proof.as_ref().unwrap());
    Some((found.bound, proof))
}

fn verdict(text: &str, instance: &Instance) -> Result<checker::Counts, String> {
    checker::check(&checker::parse(text)?, instance)
}

/// Kinds of rows and branchings of a proof.
fn kinds(text: &str, seen: &mut BTreeMap<String, usize>) {
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let kind = match words[..] {
            ["below", _, quantity, ..] => quantity,
            ["window", lane, ..] => lane,
            ["memory", _, _, unit] if unit != "0" => "rounded",
            [word, ..] if word.parse::<u32>().is_err() => word,
            _ => continue,
        };
        *seen.entry(kind.to_owned()).or_default() += 1;
    }
}

/// The text of a proof with another claim.
fn claiming(text: &str, claim: u64) -> String {
    let lines = text.lines().map(|line| match line.starts_with("claim") {
        true => format!("claim bound {claim}"),
        false => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn proofs_of_roots_and_trees_are_accepted_and_show_their_bound() {
    let mut seen = BTreeMap::new();
    let (mut judged, mut optimal, mut leaves) = (0, 0, 0);
    for seed in 0..graphs() {
        let (case, copies) = case_of(seed, 8);
        let instance = &case.instance;
        let best = optimum(instance, copies, case.budget_bytes);
        let Some((bound, proof)) = proven(&case, copies, best, [0, 60][seed as usize % 2]) else {
            continue;
        };
        let text = proof.text();
        let counts = verdict(text, instance).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        leaves = leaves.max(counts.leaves);
        kinds(text, &mut seen);
        judged += 1;
        let Some(shown) = proof.bound() else {
            assert_eq!(best, None, "seed {seed}");
            continue;
        };
        assert_eq!(shown, bound, "seed {seed}");
        assert!(best.is_none_or(|best| bound <= best), "seed {seed}");
        optimal += u64::from(best == Some(bound));
        // A claim that is higher by 1 is refused.
        let refused = verdict(&claiming(text, bound + 1), instance).unwrap_err();
        let is_known = refused.contains("multipliers prove") || refused.contains("128 bits");
        assert!(is_known, "seed {seed}: {refused}");
    }
    println!("{judged} proofs, {optimal} of the optimum, largest tree {leaves} leaves\n{seen:?}");
    assert!(judged > graphs() / 2 && optimal > graphs() / 4 && leaves > 8);
    for kind in [
        "need", "input", "parent", "memory", "path", "out", "back", "both", "host", "starts",
        "held", "leaves",
    ] {
        assert!(seen.contains_key(kind), "no proof has {kind}");
    }
}

/// The optimum under a proof's own link and budget.
fn optimum_of(proof: &Proof, instance: &Instance) -> Option<u64> {
    let terms = proof.body.link().unwrap();
    let linked = instance.with_host_link(Some(terms.link.clone())).unwrap();
    let copies = match terms.by_loss {
        true => CopyPhase::Loss,
        false => CopyPhase::Any,
    };
    optimum(&linked, copies, proof.budget_bytes)
}

/// A forged proof is accepted only if its claim is true.
#[test]
fn forged_proofs_prove_nothing_false() {
    let mut verdicts = Verdicts::default();
    for seed in 0..graphs() / 16 {
        let (case, copies) = case_of(seed, 6);
        let best = optimum(&case.instance, copies, case.budget_bytes);
        let mut numbers = Numbers::new(seed);
        let trips = proven(&case, copies, best, 20).map(|proven| proven.1);
        let solved = solved(&case, copies, 0).outcome.proof;
        let what = format!("seed {seed}");
        for proof in trips.iter().chain(&solved) {
            verdicts.forge(
                proof.text(),
                &case.instance,
                40,
                &mut numbers,
                |proof| optimum_of(proof, &case.instance),
                &what,
            );
        }
    }
    let (accepted, refused) = (verdicts.accepted, verdicts.refused);
    let ways = verdicts.problems.len();
    println!("{accepted} accepted, {refused} refused in {ways} ways");
    assert!(accepted > 100 && refused > 100 && ways > 8);
}

/// A whole solve that collects a proof; graphs of at most `exact_nodes` nodes are searched exactly.
fn solved(case: &LinkedCase, copies: CopyPhase, exact_nodes: usize) -> Offloaded {
    let formulation = AnyFormulation::of(&case.instance, Semantics::Checkmate).unwrap();
    let settings = Settings {
        gap: 0.0,
        rounds: 1,
        iterations: 8_000,
        threads: 1,
        prove: true,
        ..Settings::default()
    };
    let tuning = OffloadTuning {
        exact_nodes,
        probe_moves: 500,
        polish_moves: 500,
        ..OffloadTuning::default()
    };
    let offload = Offload::new(formulation, case.budget_bytes);
    let offload = offload.phase(copies).settings(settings).tuning(tuning);
    offload.run().unwrap()
}

#[test]
fn whole_solves_have_proofs_by_trips_and_by_envelopes() {
    let (mut told, mut proofs, mut infeasible) = (0, 0, 0);
    let mut programs = BTreeMap::<String, usize>::new();
    for seed in 0..graphs() / 8 {
        let (case, copies) = case_of(seed, 8);
        let case = match seed % 4 {
            // The link copies no bytes, or hardly any.
            0 => case.with_link(HostLink::new(seed % 3, 1)),
            _ => case,
        };
        let answer = solved(&case, copies, [0, 16][seed as usize / 2 % 2]);
        let best = optimum(&case.instance, copies, case.budget_bytes);
        let Some(proof) = &answer.outcome.proof else {
            panic!("seed {seed}: no proof");
        };
        let text = proof.text();
        verdict(text, &case.instance).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        let holds = proof
            .bound()
            .is_none_or(|bound| best.is_none_or(|best| bound <= best));
        assert!(holds, "seed {seed}: {:?} {best:?}", proof.bound());
        let program = text.lines().nth(1).unwrap().to_owned();
        *programs.entry(program).or_default() += 1;
        proofs += 1;
        match best {
            None => infeasible += usize::from(proof.bound().is_none()),
            Some(_) => told += usize::from(proof.bound() >= Some(answer.outcome.bound)),
        }
    }
    println!(
        "{proofs} proofs {programs:?}, {told} of the bound told, {infeasible} that nothing fits"
    );
    assert!(told > proofs / 2 && infeasible > 0 && programs.len() == 2);
    assert!(programs.values().all(|count| *count > 5));
}

/// A proof by trips whose bound rests on windows, at full duplex.
fn by_windows() -> (LinkedCase, CopyPhase, BoundProof) {
    let found = (0..).find_map(|seed| {
        let (case, copies) = case_of(seed, 8);
        let best = optimum(&case.instance, copies, case.budget_bytes)?;
        let (bound, proof) = proven(&case, copies, Some(best), 60)?;
        let windows = proof.text().matches("\nwindow").count();
        let full = case.link().duplex == Duplex::Full;
        let wide = bound > case.instance.base_cost() + 5 && bound < u64::MAX / 2;
        let tree = proof.text().contains("\nbelow");
        (windows > 2 && full && wide && tree && best == bound).then_some((case, copies, proof))
    });
    found.unwrap()
}

#[test]
fn proofs_hold_for_their_link_budget_and_tree_alone() {
    let (case, _, proof) = by_windows();
    let (instance, text) = (&case.instance, proof.text());
    let refused = |forged: &str| {
        assert_ne!(forged, text);
        verdict(forged, instance).unwrap_err()
    };
    assert_eq!(verdict(text, instance).map(drop), Ok(()));
    let budget = format!("budget {}\n", case.budget_bytes);
    let larger = text.replace(&budget, &format!("budget {}\n", 2 * case.budget_bytes));
    assert!(refused(&larger).contains("multipliers prove"));
    // A faster link, no latency, another time for copies.
    let line = text.lines().find(|line| line.starts_with("link")).unwrap();
    let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    for at in [1, 2] {
        words[at] += "000";
    }
    let faster = refused(&text.replace(line, &words.join(" ")));
    assert!(faster.contains("multipliers"), "{faster}");
    let unknown = refused(&text.replace(line, &line.replace("copies", "copy")));
    assert!(
        unknown.contains("line 6") && unknown.contains("copies"),
        "{unknown}"
    );
    let many = refused(
        &text.replace(
            line,
            &line
                .replace("link ", "link 9")
                .replace("latency ", "latency 99999999999999999"),
        ),
    );
    assert!(many.contains("the link"), "{many}");
    // A link with two lanes has no lanes that wait for each other.
    let both = refused(
        &text
            .replace("window out", "window both")
            .replace("window back", "window both"),
    );
    assert!(both.contains("half duplex"), "{both}");
    let late = refused(&text.replacen("window out", "window out 9", 1).replacen(
        "window back",
        "window back 9",
        1,
    ));
    assert!(
        late.contains("line") || late.contains("no stages"),
        "{late}"
    );
    let lines: Vec<&str> = text.lines().collect();
    let nodes = lines.iter().position(|l| l.starts_with("nodes")).unwrap();
    // A leaf is dropped.
    let last = lines.iter().rposition(|l| l.starts_with("below")).unwrap();
    let count: usize = lines[nodes]["nodes ".len()..].parse().unwrap();
    let fewer = format!("nodes {}", count - 1);
    let mut dropped = lines[..last].to_vec();
    dropped[nodes] = &fewer;
    assert!(refused(&dropped.join("\n")).contains("do not cover"));
    // Other multipliers of all nodes: smaller ones prove less, larger ones make idle time pay.
    let scaled = |by: &dyn Fn(i128) -> i128| {
        let scaled = lines.iter().enumerate().map(|(k, line)| {
            let words: Vec<&str> = line.split(' ').collect();
            match (k > nodes, &words[..]) {
                (true, [row, y]) if row.parse::<u32>().is_ok() => {
                    format!("{row} {}", by(y.parse().unwrap()))
                }
                _ => (*line).to_owned(),
            }
        });
        refused(&scaled.collect::<Vec<_>>().join("\n"))
    };
    let halved = scaled(&|y| y / 2);
    assert!(halved.contains("multipliers prove"), "{halved}");
    let raised = scaled(&|y| y * 1000);
    assert!(raised.contains("idle time"), "{raised}");
    // With so many bits the claim does not fit into the checker's numbers.
    let root = lines[nodes + 1].rsplit(' ').next().unwrap();
    let bits = format!("root 100 {root}");
    let huge = refused(&claiming(text, 1 << 40).replace(lines[nodes + 1], &bits));
    assert!(huge.contains("128 bits"), "{huge}");
    // If the host has no memory limit, a row of its memory is refused.
    let rows = lines.iter().position(|l| l.starts_with("rows")).unwrap();
    let first = lines[rows + 1];
    let host = text.replacen(&format!("\n{first}\n"), "\nhost 3\n", 1);
    if case.link().host_memory_bytes.is_none() {
        assert!(refused(&host).contains("no limit"));
    }
}

#[test]
fn envelopes_hold_for_their_horizon_and_holders_alone() {
    let found = (0..100).find_map(|seed| {
        let (case, copies) = case_of(seed, 9);
        let case = case.with_link(HostLink::new(150_000_000, 150_000_000));
        let answer = solved(&case, copies, 0);
        let proof = answer.outcome.proof.clone()?;
        let text = proof.text();
        let count: usize = text
            .lines()
            .find_map(|line| line.strip_prefix("holders "))?
            .parse()
            .unwrap();
        let above = proof.bound()? > case.instance.base_cost() && count > 2;
        // Leaves out cases in which the link's bytes are all that can be used.
        let other = text.lines().map(|line| match line.split_once(' ') {
            Some(("horizon", _)) => "horizon 1000000",
            _ => line,
        });
        let other = other.collect::<Vec<_>>().join("\n");
        let is_tight = above && verdict(&other, &case.instance).is_err();
        is_tight.then_some((case, proof))
    });
    let (case, proof) = found.unwrap();
    let (instance, text) = (&case.instance, proof.text());
    let bound = proof.bound().unwrap();
    assert_eq!(verdict(text, instance).map(drop), Ok(()));
    let refused = |forged: &str| {
        assert_ne!(forged, text);
        verdict(forged, instance).unwrap_err()
    };
    let within = refused(&text.replacen(
        &format!("claim bound {bound}"),
        &format!("claim bound {}", bound + 2),
        1,
    ));
    assert!(
        within.contains("without copies it claims") || within.contains("horizon"),
        "{within}"
    );
    let horizon = text.lines().find(|l| l.starts_with("horizon")).unwrap();
    let shorter = refused(&text.replace(horizon, &format!("horizon {}", bound - 2)));
    assert!(shorter.contains("longer than the horizon"), "{shorter}");
    let longer = refused(&text.replace(horizon, "horizon 1000000"));
    assert!(longer.contains("may take"), "{longer}");
    let budget = format!("budget {}\n", case.budget_bytes);
    let larger = format!("budget {}\n", case.budget_bytes * 2);
    let larger = refused(&text.replacen(&budget, &larger, 1));
    assert!(larger.contains("may take"), "{larger}");
    // One holder more takes memory that is needed.
    let count = text.lines().find(|l| l.starts_with("holders")).unwrap();
    let n: usize = count["holders ".len()..].parse().unwrap();
    let more = format!("holders {}\n{} 0 end", n + 1, case.budget_bytes);
    let more = refused(&text.replace(count, &more));
    assert!(more.contains("may take"), "{more}");
    let odd = refused(&text.replace(count, &format!("holders {}\n1 5 2", n + 1)));
    assert!(odd.contains("from stage 5 to 2"), "{odd}");
    let monet = refused(&text.replace("program checkmate", "program monet"));
    assert!(monet.contains("where checkmate should be"), "{monet}");
}
