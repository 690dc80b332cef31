//! Memory over the time of one training step, with the budget and, for comparison, the step without
//! recomputation. A plan that copies to the host also has the lanes of the link.

use super::bands::{
    FIXED, Level, RUNNING, SAVED, band, budget_line, outline, peak_mark, time_axis,
};
use super::lanes::Lanes;
use super::legend::Legend;
use super::style::{
    self, Area, DrawError, Frame, GREY, Hover, PALETTE, Words, dashes, failed, label,
};
use crate as report;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use remat_instances::Semantics;
use remat_instances::budget::format_bytes;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::simulate::{Replay, TimelinePoint};

/// Contents of the picture.
pub struct MemoryPicture<'a> {
    /// The instance, for names.
    pub instance: &'a Instance,
    /// Semantics of the plan.
    pub semantics: Semantics,
    /// The replay of the plan.
    pub replay: &'a Replay,
    /// The replay of the plan without recomputation, if that is a different plan.
    pub plain: Option<&'a Replay>,
    /// Measured memory at the same moments.
    pub measured: Option<&'a [TimelinePoint]>,
    /// The budget in bytes.
    pub budget_bytes: Option<u64>,
    /// Heading.
    pub title: String,
}

/// Colour of measured memory.
const MEASURED: RGBColor = PALETTE[3];
/// Colour of times in which computations wait.
const WAITING: RGBColor = PALETTE[6];
const SIZE: (u32, u32) = (1180, 560);

/// The picture as SVG text.
///
/// # Errors
/// [`DrawError`].
pub fn draw(picture: &MemoryPicture<'_>) -> Result<String, DrawError> {
    let replay = picture.replay;
    let unit = picture.instance.cost_unit();
    let longest = picture
        .plain
        .map_or(replay.makespan, |p| p.makespan.max(replay.makespan));
    let (scale, unit_name) = time_axis(longest, unit);
    let highest = picture.plain.map_or(0, |p| p.peak_bytes);
    let measured = picture.measured.unwrap_or_default().iter();
    let highest = highest
        .max(measured.map(|point| point.bytes).max().unwrap_or(0))
        .max(replay.peak_bytes)
        .max(picture.budget_bytes.unwrap_or(0));
    let frame = Frame {
        pixels: (84, 110, SIZE.0 as i32 - 30, SIZE.1 as i32 - 66),
        x: (0.0, (longest as f64 / scale).max(f64::MIN_POSITIVE)),
        y: (0.0, (report::gib(highest) * 1.08).max(f64::MIN_POSITIVE)),
        root: false,
    };
    let (bytes, byte_name) = style::byte_unit(highest);
    let labelled = Frame {
        y: (0.0, frame.y.1 * f64::from(1u32 << 30) / bytes),
        ..frame
    };
    let lanes = Lanes::of(picture.instance, replay);
    let mut explanation = format!(
        "peak {} at {}, {:+.2}% cost over no recomputation",
        format_bytes(replay.peak_bytes),
        report::moment(picture.instance, replay),
        replay.overhead_percent()
    );
    if !lanes.is_empty() {
        let waiting = match replay.idle() {
            0 => "nothing waits".into(),
            idle => format!("{} waiting", report::cost(idle, unit)),
        };
        explanation += &format!(
            "; {} to the host, {} back, {waiting}",
            format_bytes(replay.transfers.to_host_bytes),
            format_bytes(replay.transfers.from_host_bytes),
        );
    }
    let mut hovers = hovers(picture, &frame, scale, &unit_name);
    hovers.append(&mut lanes.hovers(&frame, scale, &unit_name));
    let words = Words {
        heading: &picture.title,
        explanation: &explanation,
        hovers,
    };
    let size = (SIZE.0, SIZE.1 + lanes.height() as u32);
    style::picture(size, &words, |area| {
        labelled.axes(
            area,
            &format!("time in the training step ({unit_name})"),
            &format!("memory ({byte_name})"),
        )?;
        let fixed = levels(&fixed_timeline(picture));
        let saved = fixed
            .iter()
            .map(|(clock, bytes)| (*clock, bytes + replay.waiting_bytes));
        let saved: Vec<Level> = saved.collect();
        let memory = with_copies(replay);
        band(area, &frame, &memory, scale, RUNNING)?;
        if replay.waiting_bytes > 0 {
            band(area, &frame, &saved, scale, SAVED)?;
        }
        band(area, &frame, &fixed, scale, FIXED)?;
        recomputations(area, &frame, replay, scale, picture.instance)?;
        if let Some(plain) = picture.plain {
            outline(area, &frame, &levels(&plain.timeline), scale, GREY, 1)?;
        }
        outline(area, &frame, &memory, scale, PALETTE[0], 2)?;
        if let Some(measured) = picture.measured {
            outline(area, &frame, &levels(measured), scale, MEASURED, 2)?;
        }
        lanes.draw(area, &frame, scale)?;
        loss_line(area, &frame, picture, scale)?;
        if let Some(budget) = picture.budget_bytes {
            budget_line(area, &frame, budget)?;
        }
        peak(area, &frame, replay, scale)?;
        legend(area, picture)
    })
}

/// For each column of pixels the computation in it that needs most memory.
fn hovers(picture: &MemoryPicture<'_>, frame: &Frame, scale: f64, unit: &str) -> Vec<Hover> {
    let (_, top, _, bottom) = frame.pixels;
    let mut seen = vec![false; picture.instance.len()];
    let mut list: Vec<(Hover, u64)> = Vec::new();
    for (begin, point) in begun(picture.replay) {
        let Some(node) = point.at.node else { continue };
        let again = std::mem::replace(&mut seen[node.index()], true);
        let (from, to) = (begin as f64 / scale, point.clock as f64 / scale);
        let text = format!(
            "{}{}: {}, until {to:.3} {unit}",
            picture.instance.node(node).name,
            if again { " again" } else { "" },
            format_bytes(point.bytes)
        );
        let place = (frame.across(from), top, frame.across(to), bottom);
        let hover = Hover { place, text };
        match list.last_mut() {
            Some((last, bytes)) if last.place.0 == place.0 && last.place.2 - last.place.0 <= 1 => {
                if point.bytes > *bytes {
                    (*last, *bytes) = (hover, point.bytes);
                }
            }
            _ => list.push((hover, point.bytes)),
        }
    }
    list.into_iter().map(|(hover, _)| hover).collect()
}

/// The points of a timeline, each with the time at which its computation begins.
fn begun(replay: &Replay) -> impl Iterator<Item = (u64, &TimelinePoint)> {
    let mut before = 0;
    replay.timeline.iter().map(move |point| {
        let cost = point.cost - before;
        before = point.cost;
        (point.clock - cost, point)
    })
}

fn levels(timeline: &[TimelinePoint]) -> Vec<Level> {
    timeline.iter().map(|p| (p.clock, p.bytes)).collect()
}

/// The levels of a replay, including the ones between computations.
fn with_copies(replay: &Replay) -> Vec<Level> {
    let mut moments = replay.transfers.moments.iter().peekable();
    let mut list = Vec::with_capacity(replay.timeline.len());
    for (k, point) in replay.timeline.iter().enumerate() {
        while let Some(moment) = moments.next_if(|m| m.after <= k) {
            list.push((moment.clock, moment.bytes));
        }
        list.push((point.clock, point.bytes));
    }
    list.extend(moments.map(|m| (m.clock, m.bytes)));
    list
}

/// Fixed memory over time, by the plan's semantics.
fn fixed_timeline(picture: &MemoryPicture<'_>) -> Vec<TimelinePoint> {
    let instance = picture.instance;
    let mut seen = vec![false; instance.len()];
    let mut frontier = 0;
    let fixed = |point: &TimelinePoint| {
        if let Some(id) = point.at.node
            && !std::mem::replace(&mut seen[id.index()], true)
        {
            frontier = instance.node(id).fixed_bytes;
        }
        let bytes = match picture.semantics.fixed_memory_follows_frontier() {
            true => frontier,
            false => instance.static_bytes(),
        };
        TimelinePoint { bytes, ..*point }
    };
    picture.replay.timeline.iter().map(fixed).collect()
}

/// Marks on the axis where nodes are computed again, and where computations wait.
fn recomputations(
    area: &Area<'_>,
    frame: &Frame,
    replay: &Replay,
    scale: f64,
    instance: &Instance,
) -> Result<(), DrawError> {
    let floor = frame.up(0.0);
    let mut seen = vec![false; instance.len()];
    let mark = |from: u64, to: u64, colour: RGBColor| {
        let from = frame.across(from as f64 / scale);
        let to = frame.across(to as f64 / scale).max(from + 2);
        let corners = [(from, floor - 12), (to, floor)];
        area.draw(&Rectangle::new(corners, colour.filled()))
            .map_err(failed)
    };
    let mut before = 0;
    for (begin, point) in begun(replay) {
        if begin > before {
            mark(before, begin, WAITING)?;
        }
        before = point.clock;
        let Some(NodeId(node)) = point.at.node else {
            continue;
        };
        if std::mem::replace(&mut seen[node as usize], true) {
            mark(begin, point.clock, PALETTE[1])?;
        }
    }
    if replay.makespan > before {
        mark(before, replay.makespan, WAITING)?;
    }
    Ok(())
}

/// Draws a line where the loss is computed and the backward pass begins.
fn loss_line(
    area: &Area<'_>,
    frame: &Frame,
    picture: &MemoryPicture<'_>,
    scale: f64,
) -> Result<(), DrawError> {
    let Some(loss) = picture.instance.loss() else {
        return Ok(());
    };
    let timeline = &picture.replay.timeline;
    let Some(point) = timeline.iter().find(|p| p.at.node == Some(loss)) else {
        return Ok(());
    };
    let x = frame.across(point.clock as f64 / scale);
    let (left, top, right, _) = frame.pixels;
    let floor = frame.up(0.0);
    dashes(area, (x, floor), (x, top), GREY)?;
    for (name, place, at, room) in [
        ("forward", x - 8, HPos::Right, x - left),
        ("backward", x + 8, HPos::Left, right - x),
    ] {
        if room > style::width(name, 15) + 10 {
            label(area, name, (place, top + 8), 15, GREY, at)?;
        }
    }
    Ok(())
}

fn peak(area: &Area<'_>, frame: &Frame, replay: &Replay, scale: f64) -> Result<(), DrawError> {
    let mut levels = with_copies(replay).into_iter();
    let Some((clock, bytes)) = levels.find(|level| level.1 == replay.peak_bytes) else {
        return Ok(());
    };
    peak_mark(area, frame, (clock, bytes), scale)
}

fn legend(area: &Area<'_>, picture: &MemoryPicture<'_>) -> Result<(), DrawError> {
    let mut legend = Legend::new(area, (84, 80));
    legend.edged("activations and gradients", RUNNING, PALETTE[0])?;
    if picture.replay.waiting_bytes > 0 {
        legend.square("saved by other micro-batches", SAVED)?;
    }
    legend.square("fixed memory", FIXED)?;
    legend.square("recomputing", PALETTE[1].mix(1.0))?;
    legend.circle("peak")?;
    if picture.measured.is_some() {
        legend.line("measured", MEASURED, 2)?;
    }
    if let Some(budget) = picture.budget_bytes {
        legend.dashes(&format!("budget {}", format_bytes(budget)), PALETTE[1])?;
    }
    if picture.plain.is_some() {
        legend.line("without recomputation", GREY, 1)?;
    }
    if picture.replay.idle() > 0 {
        legend.square("waiting", WAITING.mix(1.0))?;
    }
    Ok(())
}
