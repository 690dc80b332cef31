//! A solve over time: the cost of the best plan from above, the proven bound from below.

use super::style::{
    self, Area, DrawError, FAINT, Frame, GREY, Hover, INK, PALETTE, Words, failed, label,
};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

/// Cost and bound at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProgressPoint {
    /// Seconds since the start.
    pub seconds: f64,
    /// Cost of the best plan.
    pub objective: Option<u64>,
    /// Proven lower bound.
    pub bound: u64,
}

/// Contents of the picture.
pub struct ProgressPicture<'a> {
    /// Heading.
    pub title: String,
    /// Snapshots of the solve, by time; the last one is its end.
    pub looks: &'a [ProgressPoint],
    /// Cost without recomputation.
    pub base_cost: u64,
    /// Reason for proven infeasibility.
    pub infeasible_because: Option<&'a str>,
}

const SIZE: (u32, u32) = (1040, 560);

/// The picture as SVG text: the gap is the area between the two stairs.
///
/// # Errors
/// [`DrawError`].
pub fn draw(picture: &ProgressPicture<'_>) -> Result<String, DrawError> {
    if let Some(reason) = picture.infeasible_because {
        return infeasible(&picture.title, reason);
    }
    let percent = |cost: u64| match picture.base_cost {
        0 => 0.0,
        base => (cost as f64 / base as f64 - 1.0) * 100.0,
    };
    let end = picture.looks.last().map_or(0.0, |l| l.seconds).max(0.1);
    let best: Vec<(f64, f64)> = stairs(picture.looks, |l| Some(percent(l.objective?)));
    let bound: Vec<(f64, f64)> = stairs(picture.looks, |l| Some(percent(l.bound)));
    let values = || best.iter().chain(&bound).map(|p| p.1);
    let low = values().fold(f64::INFINITY, f64::min).min(1e9);
    let high = values().fold(low, f64::max);
    let margin = ((high - low) * 0.08).max(high.abs() * 1e-4).max(1e-3);
    let frame = Frame {
        pixels: (100, 76, SIZE.0 as i32 - 40, SIZE.1 as i32 - 66),
        x: (0.0, end),
        y: (low - margin, high + margin),
        root: false,
    };
    let explanation = match picture.looks.last() {
        Some(ProgressPoint {
            objective: Some(cost),
            bound,
            seconds,
        }) if *cost > 0 => format!(
            "the best plan from above, the proven bound from below; gap {:.2}% after {seconds:.1} s",
            cost.saturating_sub(*bound) as f64 / *cost as f64 * 100.0
        ),
        _ => "the proven bound; no plan was found".into(),
    };
    let hover = |name: &'static str, (x, y): &(f64, f64)| {
        let text = format!("{name}: {y:.3}% over no recomputation, after {x:.2} s");
        Hover::at((frame.across(*x), frame.up(*y)), text)
    };
    let words = Words {
        heading: &picture.title,
        explanation: &explanation,
        hovers: (best.iter().map(|p| hover("best plan", p)))
            .chain(bound.iter().map(|p| hover("bound", p)))
            .collect(),
    };
    style::picture(SIZE, &words, |area| {
        between(area, &frame, &best, &bound, end)?;
        frame.axes(area, "seconds", "cost over no recomputation (%)")?;
        curve(area, &frame, &bound, end, PALETTE[0], "bound")?;
        curve(area, &frame, &best, end, PALETTE[1], "best plan")
    })
}

/// A picture with the reason for infeasibility.
fn infeasible(title: &str, reason: &str) -> Result<String, DrawError> {
    let words = Words {
        heading: title,
        explanation: "infeasible: no stage schedule in this order fits",
        hovers: Vec::new(),
    };
    style::picture((SIZE.0, 140), &words, |area| {
        let reason = style::shorten(reason, 15, SIZE.0 as i32 - 40);
        label(area, &reason, (20, 92), 15, INK, HPos::Left)
    })
}

/// The moments at which a value changed, with the values.
fn stairs(
    looks: &[ProgressPoint],
    value: impl Fn(&ProgressPoint) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for look in looks {
        if let Some(y) = value(look)
            && points.last().is_none_or(|last| last.1 != y)
        {
            points.push((look.seconds, y));
        }
    }
    points
}

/// The corners of a staircase in pixels, up to the end of time.
fn corners(frame: &Frame, points: &[(f64, f64)], end: f64) -> Vec<(i32, i32)> {
    let mut line = Vec::with_capacity(2 * points.len() + 1);
    for (x, y) in points {
        if let Some((_, before)) = line.last().copied() {
            line.push((frame.across(*x), before));
        }
        line.push((frame.across(*x), frame.up(*y)));
    }
    if let Some((_, y)) = line.last().copied() {
        line.push((frame.across(end), y));
    }
    line
}

/// The area between the stairs, from the first plan on.
fn between(
    area: &Area<'_>,
    frame: &Frame,
    best: &[(f64, f64)],
    bound: &[(f64, f64)],
    end: f64,
) -> Result<(), DrawError> {
    let Some((from, _)) = best.first() else {
        return Ok(());
    };
    let below = bound.iter().rposition(|p| p.0 <= *from).unwrap_or(0);
    let mut lower: Vec<(f64, f64)> = bound.get(below..).unwrap_or_default().to_vec();
    if let Some(first) = lower.first_mut() {
        first.0 = *from;
    }
    let mut outline = corners(frame, best, end);
    outline.extend(corners(frame, &lower, end).into_iter().rev());
    area.draw(&Polygon::new(outline, FAINT.filled()))
        .map_err(failed)
}

fn curve(
    area: &Area<'_>,
    frame: &Frame,
    points: &[(f64, f64)],
    end: f64,
    colour: RGBColor,
    name: &str,
) -> Result<(), DrawError> {
    let line = corners(frame, points, end);
    let Some((x, y)) = line.last().copied() else {
        return label(
            area,
            &format!("no {name}"),
            (frame.pixels.2 - 8, frame.pixels.1 + 12),
            15,
            GREY,
            HPos::Right,
        );
    };
    area.draw(&PathElement::new(line, colour.stroke_width(2)))
        .map_err(failed)?;
    let above = if name == "bound" { 14 } else { -14 };
    label(area, name, (x - 6, y + above), 15, INK, HPos::Right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stairs_have_a_step_for_each_change() {
        let look = |seconds, objective, bound| ProgressPoint {
            seconds,
            objective,
            bound,
        };
        let looks = [
            look(0.0, None, 10),
            look(1.0, Some(30), 10),
            look(2.0, Some(30), 12),
            look(3.0, Some(20), 12),
        ];
        let best = stairs(&looks, |l| l.objective.map(|o| o as f64));
        assert_eq!(best, [(1.0, 30.0), (3.0, 20.0)]);
        let bound = stairs(&looks, |l| Some(l.bound as f64));
        assert_eq!(bound, [(0.0, 10.0), (2.0, 12.0)]);
        let svg = draw(&ProgressPicture {
            title: "t".into(),
            looks: &looks,
            base_cost: 10,
            infeasible_because: None,
        })
        .unwrap();
        assert!(
            svg.contains("gap 40.00%") && svg.contains("best plan"),
            "{svg}"
        );
        let none = draw(&ProgressPicture {
            title: "t".into(),
            looks: &looks[..1],
            base_cost: 10,
            infeasible_because: None,
        })
        .unwrap();
        assert!(none.contains("no plan was found"), "{none}");
        let nothing = draw(&ProgressPicture {
            title: "t".into(),
            looks: &looks[..1],
            base_cost: 10,
            infeasible_because: Some("node 3 needs more"),
        })
        .unwrap();
        assert!(nothing.contains("infeasible") && nothing.contains("node 3 needs more"));
        assert!(!nothing.contains("seconds"), "{nothing}");
    }
}
