//! Overhead against memory: one staircase for each strategy.

use super::style::{
    self, Area, DrawError, FAINT, Frame, GREY, Hover, INK, PALE, PALETTE, Words, failed, label,
    marker,
};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use remat_instances::budget::format_bytes;

/// One strategy's results.
#[derive(Clone)]
pub struct Curve {
    /// Name in the legend.
    pub name: String,
    /// True for a curve in black and thick.
    pub ours: bool,
    /// `(peak memory in bytes, overhead in percent)` of the strategy's plans.
    pub points: Vec<(u64, f64)>,
    /// Text in the legend if there are no points.
    pub without: &'static str,
}

/// Contents of the picture.
pub struct TradeoffPicture {
    /// Heading.
    pub title: String,
    /// The link to host memory in words, where plans may copy.
    pub link: Option<String>,
    /// Strategies; one without points is marked in the legend.
    pub curves: Vec<Curve>,
    /// Peak without recomputation in bytes.
    pub plain_bytes: u64,
    /// `(budget in bytes, overhead in percent)`: proven, every stage schedule within the budget has
    /// at least this overhead. Drawn as an area.
    pub bounds: Vec<(u64, f64)>,
}

const SIZE: (u32, u32) = (1180, 640);
const LEGEND: i32 = 270;

/// The Pareto-optimal plans of a strategy in memory and overhead, by memory.
pub fn frontier(points: &[(u64, f64)]) -> Vec<(u64, f64)> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut best = f64::INFINITY;
    sorted.retain(|(_, overhead)| {
        let better = *overhead < best;
        best = best.min(*overhead);
        better
    });
    sorted
}

/// The picture as SVG text.
///
/// # Errors
/// [`DrawError`].
pub fn draw(picture: &TradeoffPicture) -> Result<String, DrawError> {
    let fronts: Vec<Vec<(u64, f64)>> = picture.curves.iter().map(|c| frontier(&c.points)).collect();
    let all = || fronts.iter().flatten();
    let least = all()
        .chain(&picture.bounds)
        .map(|p| p.0)
        .min()
        .unwrap_or(0)
        .min(picture.plain_bytes);
    let worst = all().map(|p| p.1).fold(0.0, f64::max);
    let (unit, unit_name) = style::byte_unit(picture.plain_bytes);
    let scaled = |bytes: u64| bytes as f64 / unit;
    let (low, high) = (scaled(least), scaled(picture.plain_bytes));
    let margin = ((high - low) * 0.04).max(high * 0.01).max(1e-9);
    let frame = Frame {
        pixels: (84, 76, SIZE.0 as i32 - LEGEND, SIZE.1 as i32 - 66),
        x: ((low - margin).max(0.0), high + margin),
        y: (0.0, (worst * 1.08).max(1.0)),
        root: true,
    };
    let hovers = picture
        .curves
        .iter()
        .zip(&fronts)
        .flat_map(|(curve, front)| {
            front.iter().map(|(bytes, overhead)| {
                let at = (frame.across(*bytes as f64 / unit), frame.up(*overhead));
                let size = format_bytes(*bytes);
                Hover::at(at, format!("{}: {overhead:.2}% at {size}", curve.name))
            })
        });
    let mut explanation = String::from(
        "the cheapest plan of each strategy that fits; lower and further left is better",
    );
    if let Some(link) = &picture.link {
        explanation += &format!("; copies at {link}");
    }
    let words = Words {
        heading: &picture.title,
        explanation: &explanation,
        hovers: hovers.collect(),
    };
    style::picture(SIZE, &words, |area| {
        frame.axes(
            area,
            &format!("peak memory ({unit_name})"),
            "cost over no recomputation (%, square root scale)",
        )?;
        lower_bound(area, (&frame, unit), &picture.bounds)?;
        vertical(
            area,
            (&frame, unit),
            picture.plain_bytes,
            "no recomputation",
        )?;
        for (k, front) in fronts.iter().enumerate() {
            staircase(area, (&frame, unit), front, look(&picture.curves, k))?;
        }
        for (k, front) in fronts.iter().enumerate() {
            let (colour, shape, _) = look(&picture.curves, k);
            for (bytes, overhead) in front {
                let at = (frame.across(*bytes as f64 / unit), frame.up(*overhead));
                marker(area, shape, at, colour)?;
            }
        }
        legend(area, &frame, picture)
    })
}

/// Colour, marker and line width of a curve.
fn look(curves: &[Curve], k: usize) -> (RGBColor, usize, u32) {
    if curves[k].ours {
        return (RGBColor(0, 0, 0), 0, 3);
    }
    let rank = curves[..k].iter().filter(|c| !c.ours).count();
    // Each known strategy has a different colour, and one of eight markers.
    (PALETTE[rank % PALETTE.len()], rank, 2)
}

/// From each plan to the right, then down to the next: the least overhead within that memory.
fn staircase(
    area: &Area<'_>,
    (frame, unit): (&Frame, f64),
    front: &[(u64, f64)],
    (colour, _, width): (RGBColor, usize, u32),
) -> Result<(), DrawError> {
    let mut points = Vec::with_capacity(2 * front.len() + 1);
    for (bytes, overhead) in front {
        let x = frame.across(*bytes as f64 / unit);
        if let Some((_, y)) = points.last().copied() {
            points.push((x, y));
        }
        points.push((x, frame.up(*overhead)));
    }
    if let Some((_, y)) = points.last().copied() {
        points.push((frame.pixels.2, y));
    }
    area.draw(&PathElement::new(points, colour.stroke_width(width)))
        .map_err(failed)
}

/// Draws the area that no stage schedule reaches. A bound for a budget holds for all smaller ones,
/// down to the next bound.
fn lower_bound(
    area: &Area<'_>,
    (frame, unit): (&Frame, f64),
    bounds: &[(u64, f64)],
) -> Result<(), DrawError> {
    let (left, _, _, bottom) = frame.pixels;
    let mut from = left;
    for (bytes, overhead) in bounds {
        let (to, y) = (frame.across(*bytes as f64 / unit), frame.up(*overhead));
        if to > from && y < bottom {
            let block = Rectangle::new([(from, y), (to, bottom)], FAINT.filled());
            area.draw(&block).map_err(failed)?;
        }
        from = to;
    }
    Ok(())
}

fn vertical(
    area: &Area<'_>,
    (frame, unit): (&Frame, f64),
    bytes: u64,
    name: &str,
) -> Result<(), DrawError> {
    let (left, top, right, bottom) = frame.pixels;
    let x = frame.across(bytes as f64 / unit);
    if x < left || x > right {
        return Ok(());
    }
    let mut y = top;
    while y < bottom {
        let dash = vec![(x, y), (x, (y + 6).min(bottom))];
        area.draw(&PathElement::new(dash, GREY.stroke_width(1)))
            .map_err(failed)?;
        y += 11;
    }
    let room = style::width(name, 14);
    let (place, at) = if x - left > room + 10 {
        (x - 6, HPos::Right)
    } else {
        (x + 6, HPos::Left)
    };
    label(area, name, (place, top + 8), 14, GREY, at)
}

fn legend(area: &Area<'_>, frame: &Frame, picture: &TradeoffPicture) -> Result<(), DrawError> {
    let (_, top, right, bottom) = frame.pixels;
    let x = right + 24;
    let mut y = top + 10;
    // With a link there are more strategies than lines of the usual height.
    let lines = picture.curves.len() as i32 + i32::from(!picture.bounds.is_empty());
    let line_pixels = ((bottom - top) / lines.max(1)).min(25);
    for (k, curve) in picture.curves.iter().enumerate() {
        let (colour, shape, width) = look(&picture.curves, k);
        let empty = curve.points.is_empty();
        let colour = if empty { PALE } else { colour };
        let line = vec![(x, y), (x + 28, y)];
        area.draw(&PathElement::new(line, colour.stroke_width(width)))
            .map_err(failed)?;
        marker(area, shape, (x + 14, y), colour)?;
        let name = if empty {
            format!("{} ({})", curve.name, curve.without)
        } else {
            curve.name.clone()
        };
        let name = style::shorten(&name, 15, LEGEND - 76);
        let ink = if empty { GREY } else { INK };
        label(area, &name, (x + 38, y), 15, ink, HPos::Left)?;
        y += line_pixels;
    }
    if !picture.bounds.is_empty() {
        area.draw(&Rectangle::new(
            [(x, y - 8), (x + 28, y + 8)],
            FAINT.filled(),
        ))
        .map_err(failed)?;
        let name = "proven: no stage schedule";
        label(area, name, (x + 38, y), 15, INK, HPos::Left)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::frontier;

    #[test]
    fn the_frontier_drops_what_is_beaten() {
        let points = [(5, 1.0), (3, 4.0), (4, 4.0), (6, 1.0), (2, 9.0), (3, 5.0)];
        assert_eq!(frontier(&points), [(2, 9.0), (3, 4.0), (5, 1.0)]);
    }
}
