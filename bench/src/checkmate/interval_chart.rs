//! Several solvers on several problems: for each a bar from the proven bound to the best plan.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use remat_report::draw::style::{self, Area, DrawError, FAINT, Frame, GREY, INK, PALETTE, label};
use std::error::Error;

/// Results of all solvers on one problem.
pub(crate) struct ChartLine {
    /// The problem.
    pub name: String,
    /// Bound and cost of each solver.
    pub spans: Vec<(Option<f64>, Option<f64>)>,
    /// Text in place of the bars if there is no plan to compare with.
    pub note: &'static str,
}

/// Content of a chart.
pub(crate) struct Chart<'a> {
    /// Heading.
    pub title: String,
    /// The solvers.
    pub solvers: &'a [&'a str],
    /// The problems.
    pub lines: Vec<ChartLine>,
}

/// Pixels of a bar with the space around it.
const BAR: i32 = 8;
const LEFT: i32 = 260;
const TOP: i32 = 96;
const BELOW: i32 = 60;

/// The chart as SVG text. The horizontal axis is relative to the best cost of each problem.
pub(crate) fn draw(chart: &Chart<'_>) -> Result<String, Box<dyn Error>> {
    let relative = |line: &ChartLine, value: f64| -> Option<f64> {
        let costs = line.spans.iter().filter_map(|s| s.1);
        let best = costs.fold(f64::INFINITY, f64::min);
        best.is_finite().then(|| (value / best - 1.0) * 100.0)
    };
    let mut least: f64 = -1.0;
    let mut most: f64 = 1.0;
    for line in &chart.lines {
        for value in line.spans.iter().flat_map(|s| [s.0, s.1]).flatten() {
            if let Some(x) = relative(line, value) {
                least = least.min(x.max(-15.0));
                most = most.max(x.min(15.0));
            }
        }
    }
    let solvers = chart.solvers.len() as i32;
    let row_height = BAR * solvers + 10;
    let height = TOP + BELOW + row_height * chart.lines.len() as i32;
    let frame = Frame {
        pixels: (LEFT, TOP, 1060, height - BELOW),
        x: (least * 1.04, most * 1.04),
        y: (0.0, chart.lines.len().max(1) as f64),
        root: false,
    };
    let words = style::Words {
        heading: &chart.title,
        explanation: "percent above the best known plan; the left end is what was proven, the right end what was found",
        hovers: Vec::new(),
    };
    let svg = style::picture((1100, height as u32), &words, |area| {
        for (k, solver) in chart.solvers.iter().enumerate() {
            let x = LEFT + 800 / solvers * k as i32;
            bar(area, x, x + 24, 76, PALETTE[k])?;
            label(area, solver, (x + 32, 76), 15, INK, HPos::Left)?;
        }
        axis(area, &frame)?;
        for (row, line) in chart.lines.iter().enumerate() {
            let middle = frame.pixels.1 + row_height * row as i32 + row_height / 2;
            let name = style::shorten(&line.name, 14, LEFT - 24);
            label(area, &name, (LEFT - 12, middle), 14, INK, HPos::Right)?;
            if relative(line, 0.0).is_none() {
                label(area, line.note, (LEFT + 12, middle), 14, GREY, HPos::Left)?;
            }
            for (k, (bound, cost)) in line.spans.iter().enumerate() {
                let y = middle - BAR * (solvers - 1) / 2 + BAR * k as i32;
                let place =
                    |v: f64| relative(line, v).map(|x| frame.across(x.clamp(frame.x.0, frame.x.1)));
                let ends = (bound.and_then(place), cost.and_then(place));
                let (from, to) = match ends {
                    (Some(a), Some(b)) => (a, b.max(a + 2)),
                    (Some(a), None) => (a, a + 2),
                    (None, Some(b)) => (b - 2, b),
                    (None, None) => continue,
                };
                bar(area, from, to, y, PALETTE[k])?;
            }
        }
        Ok(())
    })?;
    Ok(svg)
}

fn bar(area: &Area<'_>, from: i32, to: i32, y: i32, colour: RGBColor) -> Result<(), DrawError> {
    let block = Rectangle::new([(from, y - 3), (to, y + 3)], colour.filled());
    area.draw(&block).map_err(style::failed)
}

fn axis(area: &Area<'_>, frame: &Frame) -> Result<(), DrawError> {
    let (left, top, right, bottom) = frame.pixels;
    let step = style::step(frame.x.1 - frame.x.0, 10);
    let mut k = (frame.x.0 / step).ceil() as i64;
    while k as f64 * step <= frame.x.1 {
        let x = k as f64 * step;
        let at = frame.across(x);
        let colour = if k == 0 { GREY } else { FAINT };
        area.draw(&PathElement::new(
            vec![(at, top), (at, bottom)],
            colour.stroke_width(1),
        ))
        .map_err(style::failed)?;
        label(
            area,
            &style::number(x, step),
            (at, bottom + 16),
            14,
            INK,
            HPos::Center,
        )?;
        k += 1;
    }
    let middle = ((left + right) / 2, bottom + 40);
    label(
        area,
        "cost relative to the best known plan (%)",
        middle,
        15,
        INK,
        HPos::Center,
    )
}
