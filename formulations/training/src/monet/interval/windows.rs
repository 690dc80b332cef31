//! Path memory cuts: for every node on the way to a backward node, the window of stages in which
//! memory looks tightest.
//!
//! Tensors that stay through a window are summed once for all sources. A plain cut (and its cover,
//! and its rounded form) has the window `[since,b]` for the memory. Its paths begin in the `a` up
//! to `since` that leaves most to compute. A cut that charges both ways has `a = since`.

use super::cuts::Target;
use super::either::{Beginning, Fill, either_way};
use super::{MonetGraph, Point, Row};
use remat_solver::price::SeparationSettings;
use std::cell::OnceCell;

/// Distance from violation up to which a path memory cut may be rounded, as a share of `need_j`.
const BY_ROUNDING: f64 = 0.3;
/// Least gain in violation of a rounded cut over the cut itself, as a share of `need_j`.
const ROUNDING_GAIN: f64 = 0.01;
/// Estimated violation above which a cut that charges both ways is tried, as a share of `need_j`
/// (below 0: it may look satisfied). It is tried in so many windows at most.
const TRIAL_SHARE_FLOOR: f64 = -0.2;
const TRIES: usize = 3;

/// The form of a path memory cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    Plain,
    Cover,
    Rounded,
    BothWays,
}

/// A violated cut.
pub(super) struct ViolatedPathCut {
    /// Violation, as a share of `need_j`.
    pub violation: f64,
    pub row: Row,
    pub reader: u32,
    pub source: u32,
    pub form: Form,
}

/// A node on the way to the target, and its most promising windows.
struct WindowSource {
    node: u32,
    /// `need_j`.
    needed: f64,
    /// By stages from 1 on: how much must be made from there on, and the stage in which the paths
    /// of that cut begin.
    due: Vec<(f64, usize)>,
    /// Violation of a plain cut, and the stage where its memory begins. Its cover may be violated
    /// although the sum is not.
    since: (f64, usize),
    /// Estimated violations of cuts that charge both ways, and the stages in which these may begin.
    either: Vec<(f64, usize)>,
}

impl WindowSource {
    fn new(
        graph: &MonetGraph,
        point: &Point,
        target: &Target<'_>,
        b: usize,
        node: u32,
    ) -> WindowSource {
        let made = point.made_before(node as usize);
        let mut best = (f64::NEG_INFINITY, 0);
        let due = |a: usize| {
            let value = target.need - target.least(node, a);
            if value + made[a] >= best.0 - 1e-9 {
                best = (value + made[a], a);
            }
            (best.0 - made[a], best.1)
        };
        WindowSource {
            node,
            needed: graph.need_bytes(node).max(1) as f64,
            due: (1..=b).map(due).collect(),
            since: (-1.0, 0),
            either: Vec::new(),
        }
    }
}

/// Tensors that are stored at a point, ascending, by the stage that begins.
pub(super) struct StoredByStage(Vec<Vec<u32>>);

impl StoredByStage {
    pub fn new(graph: &MonetGraph, point: &Point) -> Self {
        let mut lists = vec![Vec::new(); graph.stages + 1];
        for k in 0..graph.columns {
            for (list, stored) in lists.iter_mut().zip(point.stored_of(k)) {
                list.extend((*stored > 0.0).then_some(k as u32));
            }
        }
        StoredByStage(lists)
    }

    fn at(&self, stage: usize) -> &[u32] {
        &self.0[stage]
    }
}

/// The union of two ascending lists, ascending.
fn merged(mut a: &[u32], mut b: &[u32]) -> Vec<u32> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    while let (Some(x), Some(y)) = (a.first(), b.first()) {
        all.push(*x.min(y));
        let (of_a, of_b) = (x <= y, y <= x);
        a = &a[usize::from(of_a)..];
        b = &b[usize::from(of_b)..];
    }
    all.extend_from_slice(a);
    all.extend_from_slice(b);
    all
}

/// Memory in use throughout a window, at a point.
struct WindowLoad {
    /// Entry `k`: bytes of tensors `0..k` that stay up to the turn of a later node.
    left: Vec<f64>,
    /// Entry `k`: bytes of tensors `k..` that stay up to the turn of an earlier node.
    right: Vec<f64>,
    /// Estimate of the bytes that are there when the window begins; `None` if cuts are plain.
    fill: Option<Fill>,
}

/// The windows that end with a stage, at a point: the part that all sources and targets share.
pub(super) struct StageWindows<'a> {
    graph: &'a MonetGraph,
    point: &'a Point,
    /// The stage `b` whose backward node reads.
    reader: usize,
    /// The largest room of a stage in `[a,b]`, by `a`.
    room: Vec<i64>,
    stored: &'a StoredByStage,
    /// Tensors that may stay in part.
    staying: Vec<u32>,
    /// By `a`, computed on the first request.
    loads: Vec<OnceCell<WindowLoad>>,
}

impl<'a> StageWindows<'a> {
    pub fn new(
        graph: &'a MonetGraph,
        point: &'a Point,
        stored: &'a StoredByStage,
        reader: usize,
    ) -> Self {
        let mut room = graph.room[..=reader].to_vec();
        for a in (0..reader).rev() {
            room[a] = room[a].max(room[a + 1]);
        }
        StageWindows {
            graph,
            point,
            reader,
            room,
            staying: merged(stored.at(reader), stored.at(reader + 1)),
            stored,
            loads: (0..=reader).map(|_| OnceCell::new()).collect(),
        }
    }

    /// Bytes of a tensor that stay.
    fn bytes(&self, k: usize, from: usize, upto: usize) -> f64 {
        self.point.stays(k, from, upto).max(0.0) * self.graph.bytes[k] as f64
    }

    /// The load of the window from a stage on.
    fn load(&self, a: usize) -> &WindowLoad {
        self.loads[a].get_or_init(|| self.loaded(a))
    }

    fn loaded(&self, a: usize) -> WindowLoad {
        let (graph, n, b) = (self.graph, self.graph.columns, self.reader);
        let mut left = vec![0.0; n + 1];
        let mut right = vec![0.0; n + 1];
        for &k in &self.staying {
            let k = k as usize;
            left[k + 1] = self.bytes(k, a, b + 1);
            right[k] = self.bytes(k, a, b);
        }
        let fill = (!graph.plain_cuts).then(|| {
            let begin = Beginning::of(graph, a);
            let tensors = merged(&self.staying, self.stored.at(a)).into_iter();
            let tensors = tensors.map(|k| (k, right[k as usize]));
            begin.fill(graph, self.point, self.room[a], tensors)
        });
        for k in 0..n {
            left[k + 1] += left[k];
        }
        for k in (0..n).rev() {
            right[k] += right[k + 1];
        }
        WindowLoad { left, right, fill }
    }
}

/// The windows of a target.
struct Windows<'a> {
    graph: &'a MonetGraph,
    point: &'a Point,
    target: &'a Target<'a>,
    settings: &'a SeparationSettings,
    /// The stage `b` whose backward node reads.
    reader: usize,
}

impl Windows<'_> {
    /// Estimates the violation in each window, and notes the best windows of each source.
    fn look(&self, sources: &mut [WindowSource], stage: &StageWindows<'_>) {
        let (graph, b) = (self.graph, self.reader);
        for a in (1..=b).rev() {
            let is_due = |s: &WindowSource| s.due[a - 1].0 > self.settings.violation;
            if !sources.iter().any(is_due) {
                continue;
            }
            let room = stage.room[a];
            let load = stage.load(a);
            for s in &mut *sources {
                let j = s.node as usize;
                let passing = graph.passing[j].iter().map(|&u| u as usize);
                let stored = self.target.least(s.node, a);
                if let Some(fill) = &load.fill
                    && stored <= 1.0 - self.settings.violation
                {
                    let own = passing.clone().chain([j]);
                    let own: f64 = own.map(|u| stage.bytes(u, a, b)).sum();
                    let on_paths = graph.bytes[j] as f64 * stored;
                    let due = s.needed * (self.target.need - stored);
                    let share = (fill.at(stored) - own + due + on_paths) / s.needed;
                    if share > TRIAL_SHARE_FLOOR {
                        s.either.push((share, a));
                    }
                }
                if is_due(s) {
                    let own: f64 = passing.map(|u| stage.bytes(u, a, b + 1)).sum();
                    let beside = load.left[j] - own + load.right[j + 1];
                    let share = (beside + s.needed * s.due[a - 1].0 - room as f64) / s.needed;
                    if share > s.since.0 {
                        s.since = (share, a);
                    }
                }
            }
        }
        for s in sources {
            s.either
                .sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
            s.either.truncate(TRIES);
        }
    }

    /// The cut of a source that charges both ways.
    fn both_ways(&self, source: &WindowSource) -> Option<(f64, Row, Form)> {
        let Windows { graph, point, .. } = *self;
        let found = source.either.iter().filter_map(|&(_, a)| {
            let (cut, _) = self.target.cut(graph, point, self.reader, a, source.node);
            either_way(graph, point, &cut, self.target.need)
        });
        let (violation, row) = found.max_by(|x, y| x.0.total_cmp(&y.0))?;
        (violation > self.settings.violation).then_some((violation, row, Form::BothWays))
    }

    /// The plain cut of a source, rounded, and as a cover.
    fn plain(&self, source: &WindowSource, units: &[i64]) -> Vec<(f64, Row, Form)> {
        let Windows { graph, point, .. } = *self;
        let (b, j, since) = (self.reader, source.node, source.since.1);
        if since == 0 {
            return Vec::new();
        }
        let a = source.due[since - 1].1;
        let (cut, held) = self.target.cut(graph, point, b, a, j);
        let made = point.made_before(j as usize);
        let due = self.target.need - held - (made[since] - made[a]);
        let stays = |k: u32| point.stays(k as usize, since, b + usize::from(k < j));
        let passing = &graph.passing[j as usize];
        let is_other = |k: &u32| *k != j && passing.binary_search(k).is_err();
        let others = (0..graph.columns as u32).filter(is_other);
        let staying: Vec<u32> = others
            .filter(|&k| graph.bytes[k as usize] > 0 && stays(k) > 1e-6)
            .collect();
        let load = staying
            .iter()
            .map(|&k| stays(k) * graph.bytes[k as usize] as f64);
        let room = (since..=b).map(|t| graph.room[t]).max().unwrap_or(0);
        let share = (load.sum::<f64>() + source.needed * due - room as f64) / source.needed;
        let row = Row::path_memory(graph, &cut, since as u32, &staying);
        let mut out = Vec::new();
        if share > -BY_ROUNDING {
            let rounded = units.iter().filter_map(|&unit| row.rounded(graph, unit));
            let over = |r: &Row| (point.activity(graph, r) - r.right as f64) / source.needed;
            let best = rounded
                .map(|r| (over(&r), r))
                .max_by(|x, y| x.0.total_cmp(&y.0));
            let least = self.settings.violation.max(share + ROUNDING_GAIN);
            let best = best.filter(|r| r.0 > least);
            out.extend(best.map(|(over, row)| (over, row, Form::Rounded)));
        }
        if share > self.settings.violation {
            out.push((share, row, Form::Plain));
        }
        if !graph.plain_cuts {
            let covered = Row::path_cover(graph, &cut, since as u32, due, stays);
            out.extend(covered.map(|(share, row)| (share, row, Form::Cover)));
        }
        out
    }
}

/// The violated cuts of a target, which the backward node of the windows' stage reads. `units` are
/// sizes to round by.
pub(super) fn memory_cuts(
    stage: &StageWindows<'_>,
    target: &Target<'_>,
    units: &[i64],
    settings: &SeparationSettings,
) -> Vec<ViolatedPathCut> {
    let (graph, point, b) = (stage.graph, stage.point, stage.reader);
    let windows = Windows {
        graph,
        point,
        target,
        settings,
        reader: b,
    };
    let sources = target.sources().into_iter();
    let mut sources: Vec<WindowSource> = sources
        .map(|j| WindowSource::new(graph, point, target, b, j))
        .collect();
    windows.look(&mut sources, stage);
    let found = sources.iter().flat_map(|s| {
        let all = windows
            .both_ways(s)
            .into_iter()
            .chain(windows.plain(s, units));
        all.map(|(violation, row, form)| ViolatedPathCut {
            violation,
            row,
            reader: b as u32,
            source: s.node,
            form,
        })
    });
    found.collect()
}
