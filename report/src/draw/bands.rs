//! Memory over time as bands and stairs, which pictures of memory share. Vertical values are GiB.

use super::style::{Area, DrawError, Frame, INK, PALE, PALETTE, dashes, failed};
use crate as report;
use plotters::prelude::*;
use remat_instances::instance::CostUnit;

/// Bytes until each time.
pub type Level = (u64, u64);

/// Fill of fixed memory.
pub const FIXED: RGBAColor = RGBAColor(PALE.0, PALE.1, PALE.2, 1.0);
/// Fill of saved bytes of micro-batches that wait between their passes.
pub const SAVED: RGBAColor = RGBAColor(PALETTE[14].0, PALETTE[14].1, PALETTE[14].2, 1.0);
/// Fill of activations and gradients of the pass that runs.
pub const RUNNING: RGBAColor = RGBAColor(PALETTE[4].0, PALETTE[4].1, PALETTE[4].2, 0.55);

/// Number of cost units in one unit of the axis, and its name.
pub fn time_axis(longest: u64, unit: &CostUnit) -> (f64, String) {
    match unit.nanoseconds {
        Some(each) => {
            let (scale, name) = report::time_unit(longest as f64 * each);
            (scale / each, name.into())
        }
        None => (1.0, unit.name.to_string()),
    }
}

/// The staircase of levels: memory stays at a level's value while its node runs.
fn stairs(frame: &Frame, levels: &[Level], scale: f64) -> Vec<(i32, i32)> {
    let mut points: Vec<(i32, i32)> = Vec::with_capacity(2 * levels.len() + 2);
    let mut before = frame.across(0.0);
    for &(clock, bytes) in levels {
        let (x, y) = (
            frame.across(clock as f64 / scale),
            frame.up(report::gib(bytes)),
        );
        points.push((before, y));
        points.push((x, y));
        before = x;
    }
    thin(points)
}

/// Within one column of pixels only the first, highest, lowest and last point are visible.
fn thin(points: Vec<(i32, i32)>) -> Vec<(i32, i32)> {
    let mut out: Vec<(i32, i32)> = Vec::new();
    for column in points.chunk_by(|a, b| a.0 == b.0) {
        let low = column.iter().map(|p| p.1).max();
        let high = column.iter().map(|p| p.1).min();
        if let (Some(first), Some(last), Some(low), Some(high)) =
            (column.first(), column.last(), low, high)
        {
            let mut kept = vec![*first, (first.0, high), (first.0, low), *last];
            kept.dedup();
            out.extend(kept);
        }
    }
    out
}

/// Draws the stairs as a line.
///
/// # Errors
/// Errors of the backend; writing to a string has no errors.
pub fn outline(
    area: &Area<'_>,
    frame: &Frame,
    levels: &[Level],
    scale: f64,
    colour: RGBColor,
    width: u32,
) -> Result<(), DrawError> {
    let points = stairs(frame, levels, scale);
    area.draw(&PathElement::new(points, colour.stroke_width(width)))
        .map_err(failed)
}

/// Fills the area below the stairs.
///
/// # Errors
/// As [`outline`].
pub fn band(
    area: &Area<'_>,
    frame: &Frame,
    levels: &[Level],
    scale: f64,
    colour: RGBAColor,
) -> Result<(), DrawError> {
    let mut points = stairs(frame, levels, scale);
    let (Some(first), Some(last)) = (points.first().copied(), points.last().copied()) else {
        return Ok(());
    };
    let floor = frame.up(0.0);
    points.push((last.0, floor));
    points.push((first.0, floor));
    area.draw(&Polygon::new(points, colour.filled()))
        .map_err(failed)
}

/// Draws a dashed line at a budget.
///
/// # Errors
/// As [`outline`].
pub fn budget_line(area: &Area<'_>, frame: &Frame, budget: u64) -> Result<(), DrawError> {
    let y = frame.up(report::gib(budget));
    let (left, _, right, _) = frame.pixels;
    dashes(area, (left, y), (right, y), PALETTE[1])
}

/// Marks the peak.
///
/// # Errors
/// As [`outline`].
pub fn peak_mark(
    area: &Area<'_>,
    frame: &Frame,
    (clock, bytes): Level,
    scale: f64,
) -> Result<(), DrawError> {
    let place = (
        frame.across(clock as f64 / scale),
        frame.up(report::gib(bytes)),
    );
    area.draw(&Circle::new(place, 5, WHITE.filled()))
        .map_err(failed)?;
    area.draw(&Circle::new(place, 5, INK.stroke_width(2)))
        .map_err(failed)
}
