//! Performance profiles: shares of runs within a factor of the best solver's time.

use crate::curve;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use remat_report::draw::style::{self, Area, DrawError, FAINT, GREY, INK, Words, failed, label};

const SIZE: (u32, u32) = (860, 480);
/// Left, top, right and bottom of the plot in pixels.
const PLOT: (i32, i32, i32, i32) = (70, 76, 650, 410);
/// Factors at the right end of the axis, a power of ten.
const DECADES: i32 = 4;

fn across(factor: f64) -> i32 {
    let share = factor.max(1.0).log10() / f64::from(DECADES);
    PLOT.0 + (share.min(1.0) * f64::from(PLOT.2 - PLOT.0)).round() as i32
}

fn up(share: f64) -> i32 {
    PLOT.3 - (share * f64::from(PLOT.3 - PLOT.1)).round() as i32
}

/// The picture as SVG text. Every curve has points (factor, share) in rising order, as
/// [`summary::profile`](crate::library::summary::profile) makes them; the first one is black.
///
/// # Errors
/// [`DrawError`].
pub fn draw(
    heading: &str,
    explanation: &str,
    curves: &[(String, Vec<(f64, f64)>)],
) -> Result<String, DrawError> {
    let words = Words {
        heading,
        explanation,
        hovers: Vec::new(),
    };
    style::picture(SIZE, &words, |area| {
        axes(area)?;
        for (k, (name, points)) in curves.iter().enumerate() {
            let colour = k.checked_sub(1);
            staircase(area, points, colour)?;
            let last = points.last().map_or(0.0, |p| p.1);
            let y = PLOT.1 + 12 + 26 * k as i32;
            let line = vec![(PLOT.2 + 20, y), (PLOT.2 + 46, y)];
            curve::draw(area, colour, line, 3)?;
            let text = format!("{name} ({:.0}%)", 100.0 * last);
            label(area, &text, (PLOT.2 + 54, y), 15, INK, HPos::Left)?;
        }
        Ok(())
    })
}

fn axes(area: &Area<'_>) -> Result<(), DrawError> {
    let (left, top, right, bottom) = PLOT;
    let line = |points: Vec<(i32, i32)>, colour: RGBColor| {
        let path = PathElement::new(points, colour.stroke_width(1));
        area.draw(&path).map_err(failed)
    };
    for quarter in 0..=4 {
        let y = up(f64::from(quarter) / 4.0);
        line(vec![(left, y), (right, y)], FAINT)?;
        let text = format!("{}%", 25 * quarter);
        label(area, &text, (left - 8, y), 15, INK, HPos::Right)?;
    }
    for decade in 0..=DECADES {
        let factor = 10f64.powi(decade);
        let x = across(factor);
        line(vec![(x, top), (x, bottom)], FAINT)?;
        let text = format!("{factor}");
        label(area, &text, (x, bottom + 17), 15, INK, HPos::Center)?;
    }
    line(vec![(left, top), (left, bottom), (right, bottom)], GREY)?;
    let place = ((left + right) / 2, bottom + 42);
    let name = "seconds over those of the fastest solver";
    label(area, name, place, 16, INK, HPos::Center)
}

fn staircase(
    area: &Area<'_>,
    points: &[(f64, f64)],
    colour: Option<usize>,
) -> Result<(), DrawError> {
    let mut path: Vec<(i32, i32)> = Vec::with_capacity(2 * points.len() + 1);
    for (factor, share) in points {
        let (x, y) = (across(*factor), up(*share));
        if let Some((_, before)) = path.last().copied() {
            path.push((x, before));
        }
        path.push((x, y));
    }
    if let Some((_, y)) = path.last().copied() {
        path.push((PLOT.2, y));
    }
    curve::draw(area, colour, path, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_solver_is_named_with_its_share() {
        let curves = [
            ("one".to_owned(), vec![(1.0, 0.0), (1.0, 0.5), (3.0, 1.0)]),
            ("two".to_owned(), vec![(1.0, 0.0), (1.0, 0.25)]),
        ];
        let svg = draw("a profile", "of two", &curves).expect("a picture");
        let plain: String = svg.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            plain.contains("one (100%)") && plain.contains("two (25%)"),
            "{svg}"
        );
        assert_eq!((across(1.0), across(1e9)), (PLOT.0, PLOT.2));
        assert_eq!((up(0.0), up(1.0)), (PLOT.3, PLOT.1));
    }
}
