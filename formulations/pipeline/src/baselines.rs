//! Known ways to cut a model and to recompute in its stages, beside the search.

use crate::layers::{borders, crossing};
use crate::measured::Measured;
use crate::path::Outer;
use crate::pipeline::{Pipeline, PipelineError, PipelineSettings};
use crate::rules::StageRule;
use remat_instances::instance::NodeId;
use remat_instances::pipeline::arrangement::Arrangement;
use remat_search::Listener;
use std::collections::BTreeSet;

/// A rule for cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutRule {
    /// As many layers on each stage, the first stages with one more.
    EvenLayers,
    /// The slowest stage is as fast as possible without recomputation.
    BalancedTime,
    /// The largest memory of a device without recomputation is as small as possible.
    BalancedMemory,
}

impl CutRule {
    /// The name in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            CutRule::EvenLayers => "even layers",
            CutRule::BalancedTime => "balanced time",
            CutRule::BalancedMemory => "balanced memory",
        }
    }
}

/// A known way, and its pipeline.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Name of the rule for cuts.
    pub cuts: &'static str,
    /// Name of the rule of recomputation.
    pub recomputation: &'static str,
    /// The pipeline, or the reason why there is none.
    pub result: Result<ComparedPipeline, String>,
}

/// Time and memory of a compared pipeline, replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComparedPipeline {
    /// Time by the formula.
    pub objective: u64,
    /// Time of the replay of all events.
    pub makespan: u64,
    /// Largest memory of a device in bytes.
    pub peak_bytes: u64,
    /// Bytes of the device that is furthest above its budget; 0 if all fit.
    pub excess_bytes: u64,
}

/// Rules for cuts, in the order in which they are shown.
const CUT_RULES: [CutRule; 3] = [
    CutRule::EvenLayers,
    CutRule::BalancedTime,
    CutRule::BalancedMemory,
];

/// Rules of recomputation, in the order in which they are shown.
const STAGE_RULES: [StageRule; 6] = [
    StageRule::Keep,
    StageRule::Layers,
    StageRule::Whole,
    StageRule::KeepOrWhole,
    StageRule::Knapsack,
    StageRule::Heuristics,
];

/// All pairs of rules, planners with cuts of their own, proven plans at the cuts of each rule, and
/// the search.
///
/// # Errors
/// [`PipelineError`] of a solve.
pub fn baselines(
    pipeline: &Pipeline<'_, '_>,
    settings: &PipelineSettings,
    listener: &dyn Listener,
) -> Result<Vec<Compared>, PipelineError> {
    let mut rows = by_rules(pipeline)?;
    for rule in CUT_RULES {
        rows.push(proven_at(pipeline, rule, settings, listener)?);
    }
    rows.push(Compared {
        cuts: "remat-bb",
        recomputation: "proven plans",
        result: solved(pipeline, settings, listener)?,
    });
    Ok(rows)
}

/// All pairs of rules, and planners with cuts of their own: without a search.
///
/// # Errors
/// [`PipelineError`] for a link without times.
pub fn by_rules(pipeline: &Pipeline<'_, '_>) -> Result<Vec<Compared>, PipelineError> {
    let borders = borders(pipeline.split);
    let mut rows = Vec::new();
    for cut_rule in CUT_RULES {
        let cuts = cuts(pipeline, cut_rule, &borders)?;
        rows.extend(STAGE_RULES.map(|rule| Compared {
            cuts: cut_rule.as_str(),
            recomputation: rule.as_str(),
            result: match &cuts {
                Some(cuts) => ruled(pipeline, rule, cuts, &borders),
                None => Err("no such cuts".into()),
            },
        }));
    }
    let planners = [
        ("Piper's", StageRule::KeepOrWhole),
        ("AdaPipe's", StageRule::Knapsack),
    ];
    for (name, rule) in planners {
        let result = match cuts_by(pipeline, rule, &borders)? {
            Some(cuts) => ruled(pipeline, rule, &cuts, &borders),
            None => Err("a stage does not fit at any cuts".into()),
        };
        rows.push(Compared {
            cuts: name,
            recomputation: rule.as_str(),
            result,
        });
    }
    Ok(rows)
}

/// Proven plans at the cuts of a rule.
///
/// # Errors
/// [`PipelineError`] of a solve.
pub fn proven_at(
    pipeline: &Pipeline<'_, '_>,
    rule: CutRule,
    settings: &PipelineSettings,
    listener: &dyn Listener,
) -> Result<Compared, PipelineError> {
    let cuts = cuts(pipeline, rule, &borders(pipeline.split))?;
    Ok(Compared {
        cuts: rule.as_str(),
        recomputation: "proven plans",
        result: match cuts {
            Some(cuts) => solved(&pipeline.cut_at(cuts), settings, listener)?,
            None => Err("no such cuts".into()),
        },
    })
}

fn solved(
    pipeline: &Pipeline<'_, '_>,
    settings: &PipelineSettings,
    listener: &dyn Listener,
) -> Result<Result<ComparedPipeline, String>, PipelineError> {
    let solution = pipeline.solve(settings, listener)?;
    Ok(match &solution.best {
        Some(best) => Ok(ComparedPipeline {
            objective: best.replay.objective,
            makespan: best.replay.timeline.makespan,
            peak_bytes: best.replay.peaks.iter().copied().max().unwrap_or(0),
            excess_bytes: 0,
        }),
        None => Err(match solution.infeasible_because {
            Some(_) => "proven: no plan fits".into(),
            None => "no plan within the limits".into(),
        }),
    })
}

/// The pipeline of a rule at some cuts.
fn ruled(
    pipeline: &Pipeline<'_, '_>,
    rule: StageRule,
    cuts: &[u32],
    borders: &[u32],
) -> Result<ComparedPipeline, String> {
    let arrangement = Arrangement::new(pipeline.split, pipeline.schedule, cuts.to_vec());
    let crossing = crossing(pipeline.split, borders);
    let mut graphs = Vec::new();
    for stage in 0..pipeline.schedule.stages() {
        let graph = arrangement.instance(stage, true);
        let graph = graph.map_err(|e| e.problem)?;
        let budget = pipeline.device_of(stage).budget_bytes;
        let kept = graph
            .ids()
            .filter(|id| crossing.contains(graph.node(*id).name.as_str()));
        let kept: BTreeSet<NodeId> = kept.collect();
        let plan = rule.plan(&graph, &kept, budget);
        let (plan, _) = plan.ok_or_else(|| format!("the rule has no plan of stage {stage}"))?;
        graphs.push((graph, plan));
    }
    let pairs: Vec<_> = graphs.iter().map(|(graph, plan)| (graph, plan)).collect();
    let replay = arrangement.replay(&pipeline.devices, pipeline.link.as_ref(), &pairs);
    let replay = replay.map_err(|e| e.to_string())?;
    let over = pipeline.devices.iter().zip(&replay.peaks);
    let over = over.map(|(device, peak)| peak.saturating_sub(device.budget_bytes));
    Ok(ComparedPipeline {
        objective: replay.objective,
        makespan: replay.timeline.makespan,
        peak_bytes: replay.peaks.iter().copied().max().unwrap_or(0),
        excess_bytes: over.max().unwrap_or(0),
    })
}

/// Cuts by a rule; `None` if there are too few layers.
fn cuts(
    pipeline: &Pipeline<'_, '_>,
    rule: CutRule,
    borders: &[u32],
) -> Result<Option<Vec<u32>>, PipelineError> {
    match rule {
        CutRule::EvenLayers => Ok(even(pipeline.schedule.stages(), borders)),
        CutRule::BalancedTime => Ok(Some(pipeline.balanced()?)),
        CutRule::BalancedMemory => cuts_by(pipeline, StageRule::Keep, borders),
    }
}

/// Cuts that give each stage as many layers, the first ones one more.
fn even(stages: usize, borders: &[u32]) -> Option<Vec<u32>> {
    // The first border begins the first layer, the last one ends the last layer.
    let layers = borders.len().checked_sub(1)?;
    if layers < stages {
        return None;
    }
    let (each, more) = (layers / stages, layers % stages);
    let mut at = 0;
    let cuts = (0..stages - 1).map(|stage| {
        at += each + usize::from(stage < more);
        borders[at]
    });
    Some(cuts.collect())
}

/// Cuts between layers that are best by a rule's own plans: of least time among those that fit; for
/// [`StageRule::Keep`], of least memory.
fn cuts_by(
    pipeline: &Pipeline<'_, '_>,
    rule: StageRule,
    borders: &[u32],
) -> Result<Option<Vec<u32>>, PipelineError> {
    let by_memory = rule == StageRule::Keep;
    let end = pipeline.split.end();
    let inner = borders.iter().copied().filter(|&p| p > 0 && p < end);
    let points: Vec<u32> = [0].into_iter().chain(inner).chain([end]).collect();
    if points.len() <= pipeline.schedule.stages() {
        return Ok(None);
    }
    let coarse = pipeline.cut_at(points[1..points.len() - 1].to_vec());
    let table = Measured::new(&coarse, rule, borders)?;
    let outer = Outer {
        stages: pipeline.schedule.stages(),
        points: table.sends(),
        steps: match by_memory {
            true => 1 << 20,
            false => u64::from(pipeline.schedule.microbatches() - 1),
        },
        time: |stage: usize, i: usize, j: usize| table.value(stage, i, j, by_memory),
    };
    let best = outer.best();
    Ok(best.map(|cuts| cuts.at.iter().map(|&p| points[p]).collect()))
}
