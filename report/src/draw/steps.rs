//! Memory step by step of an order: a column for each operator, above the resident memory.

use super::style::{self, DrawError, Frame, GREY, Hover, INK, PALE, PALETTE, Words, failed, label};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use remat_instances::budget::format_bytes;
use remat_instances::order::{OrderGraph, OrderReplay};

const SIZE: (u32, u32) = (1180, 560);
/// Largest number of columns that show their names under the pointer.
const NAMED_STEPS: usize = 4_000;

/// The picture of an order's replay as SVG text. `program` is the replay of the program's order, if
/// it is a different one and can run.
///
/// # Errors
/// [`DrawError`].
pub fn draw(
    graph: &OrderGraph,
    replay: &OrderReplay,
    program: Option<&OrderReplay>,
    title: &str,
) -> Result<String, DrawError> {
    let highest = program.map_or(0, |p| p.peak_bytes).max(replay.peak_bytes);
    let (unit, name) = style::byte_unit(highest);
    let frame = Frame {
        pixels: (84, 76, SIZE.0 as i32 - 30, SIZE.1 as i32 - 66),
        x: (0.0, (replay.steps.len() as f64).max(1.0)),
        y: (0.0, (highest as f64 / unit * 1.1).max(f64::MIN_POSITIVE)),
        root: false,
    };
    let place = |k: usize, low: u64, high: u64| {
        let (left, right) = (frame.across(k as f64), frame.across(k as f64 + 1.0));
        let (top, bottom) = (frame.up(high as f64 / unit), frame.up(low as f64 / unit));
        (left, top, right, bottom)
    };
    let base = graph.base_bytes();
    let named = replay
        .steps
        .iter()
        .enumerate()
        .filter(|_| replay.steps.len() <= NAMED_STEPS);
    let hovers = named.map(|(k, step)| Hover {
        place: place(k, 0, step.during_bytes),
        text: format!(
            "{k}: {}: {}",
            graph.operators()[step.operator.index()].name,
            format_bytes(step.during_bytes)
        ),
    });
    let explanation = format!(
        "peak {} at step {}, {} resident",
        format_bytes(replay.peak_bytes),
        replay.peak_step,
        format_bytes(base)
    );
    let words = Words {
        heading: title,
        explanation: &explanation,
        hovers: hovers.collect(),
    };
    style::picture(SIZE, &words, |area| {
        frame.axes(area, "step", &format!("memory ({name})"))?;
        let column = |(left, top, right, bottom), colour: ShapeStyle| {
            let corners = [(left, top), (right, bottom)];
            area.draw(&Rectangle::new(corners, colour)).map_err(failed)
        };
        for (k, step) in replay.steps.iter().enumerate() {
            let colour = match k == replay.peak_step {
                true => PALETTE[1].filled(),
                false => PALETTE[4].mix(0.6).filled(),
            };
            column(place(k, base, step.during_bytes), colour)?;
        }
        let (left, top, right, bottom) = place(0, 0, base);
        let all = frame.across(replay.steps.len() as f64).max(right);
        column((left, top, all, bottom), PALE.filled())?;
        if let Some(program) = program {
            let corners = program.steps.iter().enumerate().flat_map(|(k, step)| {
                let (left, top, right, _) = place(k, 0, step.during_bytes);
                [(left, top), (right, top)]
            });
            let line = PathElement::new(corners.collect::<Vec<_>>(), GREY.stroke_width(1));
            area.draw(&line).map_err(failed)?;
        }
        let name = |step: usize| {
            let operator = replay.steps[step].operator;
            &graph.operators()[operator.index()].name
        };
        for k in (0..replay.steps.len()).filter(|k| *k != replay.peak_step) {
            let column = place(k, base, replay.steps[k].during_bytes);
            style::upright_name(area, column, name(k))?;
        }
        let middle = (top + bottom) / 2;
        if bottom - top >= 15 {
            let resident = format!("resident {}", format_bytes(base));
            label(area, &resident, (left + 10, middle), 14, INK, HPos::Left)?;
        }
        if !replay.steps.is_empty() {
            let (left, top, right, _) = place(replay.peak_step, base, replay.peak_bytes);
            let peak = format!(
                "peak: {}, {}",
                name(replay.peak_step),
                format_bytes(replay.peak_bytes)
            );
            let is_left = left > frame.pixels.0 + style::width(&peak, 14);
            let (x, at) = match is_left {
                true => (right, HPos::Right),
                false => (left, HPos::Left),
            };
            label(area, &peak, (x, top - 10), 14, INK, at)?;
        }
        if program.is_some() {
            let (_, top, right, _) = frame.pixels;
            let at = (right - 8, top + 6);
            label(
                area,
                "grey line: the program's own order",
                at,
                14,
                GREY,
                HPos::Right,
            )?;
        }
        Ok(())
    })
}
