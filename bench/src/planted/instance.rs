//! Instances with a planted schedule, solved in its peak: the simulator and the checker judge.

use super::judge::Verdict;
use remat_check::proof::{self, Claim};
use remat_formulations::offload::nodes::Offload;
use remat_formulations::{AnyFormulation, planned};
use remat_instances::instance::{CostUnit, HostLink, Instance, passing_in_plain_order};
use remat_instances::plan::{PlanDocument, PlanFile};
use remat_instances::schedule::Schedule;
use remat_instances::{Semantics, read_bytes, simulate, write_instance};
use remat_search::{BoundProof, Outcome, Settings, Solvable, Status};
use remat_tests::graphs::{self, Numbers};
use remat_tests::monet::Mode;
use remat_tests::{monet, monet_optimum};
use std::time::Duration;

/// Time limit of a solve. A small solve that ends before it is a fixed amount of work.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// An instance and a schedule, with the cost and the peak of the schedule.
struct Planted {
    instance: Instance,
    semantics: Semantics,
    schedule: Schedule,
    cost: u64,
    peak_bytes: u64,
}

/// Draws an instance and a schedule, solves within the schedule's peak, and judges.
///
/// # Errors
/// The mistake in words.
pub fn run(seed: u64, show: bool) -> Result<Verdict, String> {
    let numbers = &mut Numbers::new(seed);
    let planted = Planted::draw(numbers)?;
    let text = write_instance(&planted.instance);
    if show {
        println!("{} bytes\n{text}", planted.peak_bytes);
    }
    let read = read_bytes("planted.json", text.as_bytes()).map_err(|e| e.to_string())?;
    if read != planted.instance {
        return Err("the instance is another one when it is read again".into());
    }
    let settings = Settings {
        threads: 1 + numbers.below(2) as usize,
        seed: numbers.below(3),
        prove: numbers.below(3) > 0,
        time_limit: Some(TIME_LIMIT),
        ..Settings::default()
    };
    let settings = match numbers.below(2) {
        0 => settings.with_gap(0.0),
        _ => settings,
    };
    let link = (numbers.below(4) == 0).then(|| draw_link(numbers));
    match link {
        Some(link) => planted.with_copies(link, settings),
        None => planted.without_copies(&settings, numbers.below(4) == 0),
    }
}

impl Planted {
    fn draw(numbers: &mut Numbers) -> Result<Self, String> {
        let size = 2 + numbers.below(6) as usize;
        let graph = match numbers.below(4) {
            0 => graphs::general(2 * size, numbers),
            1 => graphs::training(size, numbers),
            2 => {
                let mode = numbers.below(16) as usize;
                let mode = Mode::all().nth(mode).expect("there are sixteen");
                monet::training(size, mode, numbers)
            }
            _ => monet_optimum::random(size + 2, 1 + numbers.below(4) as usize, numbers),
        };
        let graph = with_fixed_memory(&graph, numbers);
        let is_monet = graph.loss().is_some() && numbers.below(3) > 0;
        let (instance, schedule) = match is_monet {
            true => {
                let schedule = Schedule::from(monet::schedule(&graph, numbers));
                (graph, schedule)
            }
            false => {
                let view = graph.single_implementation_view();
                let schedule = graphs::random_schedule(&view, numbers).into();
                (view, schedule)
            }
        };
        let instance = with_single_runs(instance, &schedule, numbers);
        let replay = schedule.replay(&instance).map_err(|e| e.to_string())?;
        Ok(Planted {
            semantics: schedule.semantics(),
            schedule,
            cost: replay.cost,
            peak_bytes: replay.peak_bytes,
            instance,
        })
    }

    fn formulation(&self, instance: &Instance) -> Result<AnyFormulation, String> {
        AnyFormulation::of(instance, self.semantics).map_err(|e| e.to_string())
    }

    fn without_copies(&self, settings: &Settings, starts: bool) -> Result<Verdict, String> {
        let formulation = self.formulation(&self.instance)?;
        let starts = match starts {
            true => vec![self.schedule.clone()],
            false => Vec::new(),
        };
        let solve = |settings: &Settings| {
            let solved = formulation.solve(self.peak_bytes, &starts, settings, &());
            solved.map_err(|e| e.to_string())
        };
        let outcome = solve(settings)?;
        let instance = formulation.instance();
        if let Some(schedule) = &outcome.schedule {
            let plan = planned(instance, schedule, self.peak_bytes).map_err(|e| e.to_string())?;
            self.judge_plan(&plan.document, instance, &outcome)?;
        }
        let verdict = self.judge(&outcome, instance, settings.gap)?;
        if verdict == Verdict::Right {
            let other = Settings {
                threads: 3 - settings.threads,
                ..settings.clone()
            };
            let again = solve(&other)?;
            if again.status == Status::Optimal && again.cost() != outcome.cost() {
                let costs = (outcome.cost(), again.cost());
                return Err(format!("costs by the number of threads: {costs:?}"));
            }
        }
        Ok(verdict)
    }

    fn with_copies(&self, link: HostLink, settings: Settings) -> Result<Verdict, String> {
        let linked = self.instance.with_host_link(Some(link));
        let formulation = self.formulation(&linked.map_err(|e| e.to_string())?)?;
        let gap = settings.gap;
        let offload = Offload::new(formulation, self.peak_bytes).settings(settings);
        let answer = offload.run().map_err(|e| e.to_string())?;
        if let Some(document) = &answer.plan {
            self.judge_plan(document, &answer.instance, &answer.outcome)?;
        }
        self.judge(&answer.outcome, &answer.instance, gap)
    }

    /// Judges status, bound and proof by the planted schedule.
    fn judge(&self, outcome: &Outcome, instance: &Instance, gap: f64) -> Result<Verdict, String> {
        if outcome.bound > self.cost {
            let bound = outcome.bound;
            return Err(format!(
                "the bound {bound} is past the planted {}",
                self.cost
            ));
        }
        if let Some(proof) = &outcome.proof {
            self.judge_proof(proof, instance)?;
        }
        match (outcome.status, outcome.cost()) {
            (Status::Infeasible, _) => Err("infeasible".into()),
            (Status::Optimal, Some(cost)) => {
                let reach = (cost as f64 * gap).ceil() as u64;
                if cost > self.cost + reach || cost > outcome.bound + reach {
                    let (bound, planted) = (outcome.bound, self.cost);
                    return Err(format!("optimal {cost}, bound {bound}, planted {planted}"));
                }
                Ok(Verdict::Right)
            }
            (Status::Optimal | Status::Feasible, None) => Err("a status without a plan".into()),
            (Status::Interrupted, _) => Err("interrupted, by nobody".into()),
            (Status::Feasible | Status::Limit, _) => Ok(Verdict::Limit),
        }
    }

    /// Reads a plan again as it is written, and replays it.
    fn judge_plan(
        &self,
        document: &PlanDocument,
        instance: &Instance,
        outcome: &Outcome,
    ) -> Result<(), String> {
        let text = document.write(instance);
        let file = PlanFile::parse("plan.json", text.as_bytes()).map_err(|e| e.to_string())?;
        let read = file.plan(instance).map_err(|e| e.to_string())?;
        let replay = simulate::plan(instance, &read.plan).map_err(|e| e.to_string())?;
        let told = (read.objective, read.peak_bytes);
        let found = (replay.makespan, replay.peak_bytes);
        if told != found {
            return Err(format!(
                "cost and peak are {found:?}, the plan says {told:?}"
            ));
        }
        if found.1 > self.peak_bytes {
            let budget = self.peak_bytes;
            return Err(format!("the plan takes {} of {budget} bytes", found.1));
        }
        match outcome.cost() {
            Some(cost) if found.0 <= cost => Ok(()),
            cost => Err(format!("the plan costs {}, told is {cost:?}", found.0)),
        }
    }

    fn judge_proof(&self, proof: &BoundProof, instance: &Instance) -> Result<(), String> {
        let parsed = proof::parse(proof.text())?;
        proof::check(&parsed, instance).map_err(|e| format!("the proof is refused: {e}"))?;
        match parsed.claim {
            Claim::Bound(bound) if bound <= self.cost => Ok(()),
            claim => Err(format!("an accepted proof of {claim:?}")),
        }
    }
}

/// The same graph with costs in nanoseconds and with the tensors that pass over each node. Its
/// fixed memory is one of five kinds: unchanged, 0, constant, growing, or random for each node.
fn with_fixed_memory(graph: &Instance, numbers: &mut Numbers) -> Instance {
    let mut data = graph.data().clone();
    data.cost_unit = CostUnit::nanoseconds();
    let passing = passing_in_plain_order(&data.nodes);
    for (node, passing) in data.nodes.iter_mut().zip(passing) {
        node.passing = passing;
    }
    let manner = numbers.below(5);
    let mut resident = numbers.below(100);
    for node in &mut data.nodes {
        resident += numbers.below(8);
        node.fixed_bytes = match manner {
            0 => node.fixed_bytes,
            1 => 0,
            2 => 17,
            3 => resident,
            _ => numbers.below(60),
        };
    }
    Instance::new(data).expect("fixed memory may be any")
}

/// The same instance, where some of the nodes that the schedule runs once must run once or stay on
/// the device.
fn with_single_runs(instance: Instance, schedule: &Schedule, numbers: &mut Numbers) -> Instance {
    if numbers.below(2) == 0 {
        return instance;
    }
    let Ok(plan) = schedule.plan(&instance) else {
        return instance;
    };
    let runs = plan.computations(instance.len());
    let mut data = instance.data().clone();
    for (node, runs) in data.nodes.iter_mut().zip(&runs) {
        node.once = *runs <= 1 && numbers.below(3) == 0;
        node.stays = numbers.below(6) == 0;
    }
    for (i, runs) in runs.iter().enumerate() {
        if let Some(parent) = data.nodes[i].parent().filter(|_| *runs > 1) {
            data.nodes[parent.index()].once = false;
        }
    }
    let marked = Instance::new(data).ok();
    let marked = marked.filter(|marked| schedule.replay(marked).is_ok());
    marked.unwrap_or(instance)
}

fn draw_link(numbers: &mut Numbers) -> HostLink {
    let rate = |numbers: &mut Numbers| (1 + numbers.below(4)) * 1_000_000_000;
    let (to_host, to_device) = (rate(numbers), rate(numbers));
    HostLink {
        latency_ns: numbers.below(4),
        ..HostLink::new(to_host, to_device)
    }
}
