//! Bars in groups, below each other, with their values.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use remat_report::draw::style::{self, DrawError, FAINT, Frame, GREY, INK, PALETTE, label, width};

/// A group of bars; `None` for a missing value.
pub(crate) struct BarGroup {
    /// Label beside the group.
    pub name: String,
    /// One value for each name.
    pub values: Vec<Option<f64>>,
}

/// Pixels of the picture's width, above the first group, of a bar, and between groups.
const WIDTH: i32 = 900;
const TOP: i32 = 100;
const BAR: i32 = 14;
const GAP: i32 = 12;
/// Size of the letters.
const LETTERS: u32 = 15;
/// Colours of the bars: of the palette's first eight, without the second blue.
const COLOURS: [usize; 7] = [0, 1, 2, 3, 5, 6, 7];

/// The picture as SVG text; `explanation` gives the meaning of the values.
pub(crate) fn draw(
    (title, explanation): (&str, &str),
    names: &[&str],
    groups: &[BarGroup],
) -> Result<String, DrawError> {
    let values = || groups.iter().flat_map(|g| g.values.iter().flatten());
    let most = values().fold(1.0, |a: f64, b| a.max(*b));
    let least = values().fold(0.0, |a: f64, b| a.min(*b));
    let widths = groups.iter().map(|g| width(&g.name, LETTERS));
    let each = BAR * names.len() as i32 + GAP;
    let bottom = TOP + each * groups.len() as i32;
    let frame = Frame {
        pixels: (widths.max().unwrap_or(0) + 30, TOP, WIDTH - 60, bottom),
        x: (least, most),
        y: (0.0, 1.0),
        root: false,
    };
    let words = style::Words {
        heading: title,
        explanation,
        hovers: Vec::new(),
    };
    let colour = |k: usize| PALETTE[COLOURS[k % COLOURS.len()]];
    style::picture((WIDTH as u32, bottom as u32 + 40), &words, |area| {
        let mut x = 20;
        for (k, name) in names.iter().enumerate() {
            let block = Rectangle::new([(x, 70), (x + 14, 84)], colour(k).filled());
            area.draw(&block).map_err(style::failed)?;
            label(area, name, (x + 20, 77), LETTERS, INK, HPos::Left)?;
            x += width(name, LETTERS) + 36;
        }
        let step = style::step(most - least, 8);
        let mut k = (least / step).ceil() as i64;
        while k as f64 * step <= most {
            let (value, x) = (k as f64 * step, frame.across(k as f64 * step));
            let line = vec![(x, TOP), (x, bottom)];
            let shade = if k == 0 { GREY } else { FAINT };
            area.draw(&PathElement::new(line, shade.stroke_width(1)))
                .map_err(style::failed)?;
            let text = style::number(value, step);
            label(area, &text, (x, bottom + 16), LETTERS, INK, HPos::Center)?;
            k += 1;
        }
        for (g, group) in groups.iter().enumerate() {
            let top = TOP + each * g as i32 + GAP / 2;
            let middle = (frame.pixels.0 - 10, top + (each - GAP) / 2);
            label(area, &group.name, middle, LETTERS, INK, HPos::Right)?;
            for (k, value) in group.values.iter().enumerate() {
                let Some(value) = value else { continue };
                let y = top + BAR * k as i32;
                let (from, to) = (frame.across(value.min(0.0)), frame.across(value.max(0.0)));
                let bar = Rectangle::new([(from, y), (to, y + BAR - 2)], colour(k).filled());
                area.draw(&bar).map_err(style::failed)?;
                label(
                    area,
                    &shown(*value),
                    (to + 6, y + BAR / 2),
                    13,
                    INK,
                    HPos::Left,
                )?;
            }
        }
        Ok(())
    })
}

/// A value beside its bar: a bar without a length has its number alone.
fn shown(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        v if v.abs() < 0.05 => "< 0.05".into(),
        v => format!("{v:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_a_bar_with_its_number() {
        let groups = [BarGroup {
            name: "a network with a long name".into(),
            values: vec![Some(3.0), None, Some(-1.0), Some(0.0)],
        }];
        let svg = draw(("title", "values"), &["a", "b", "c", "d"], &groups).unwrap();
        let (_, marks) = svg.split_once("</style>").unwrap();
        let bars = |k: usize| {
            let RGBColor(r, g, b) = PALETTE[COLOURS[k]];
            marks.matches(&format!("#{r:02X}{g:02X}{b:02X}")).count()
        };
        // One in the legend each, and one more for each value.
        assert_eq!([0, 1, 2, 3].map(bars), [2, 1, 2, 2]);
        let lines: Vec<&str> = marks.lines().map(str::trim).collect();
        for text in ["3.0", "-1.0", "0", "a network with a long name"] {
            assert!(lines.contains(&text), "{text}: {marks}");
        }
    }
}
