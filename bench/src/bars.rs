//! Bars side by side, in groups.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use remat_report::draw::style::{self, DrawError, FAINT, Frame, GREY, INK, PALETTE, label};

/// A group of bars; `None` for a missing value.
pub(crate) struct BarGroup {
    /// Label below the group.
    pub name: String,
    /// One value for each name.
    pub values: Vec<Option<f64>>,
}

const SIZE: (u32, u32) = (1100, 520);

/// The picture as SVG text; `explanation` gives the meaning of the values.
pub(crate) fn draw(
    (title, explanation): (&str, &str),
    names: &[&str],
    groups: &[BarGroup],
) -> Result<String, DrawError> {
    let values = || groups.iter().flat_map(|g| g.values.iter().flatten());
    let most = values().fold(1.0, |a: f64, b| a.max(*b));
    let least = values().fold(0.0, |a: f64, b| a.min(*b));
    let frame = Frame {
        pixels: (84, 110, SIZE.0 as i32 - 30, SIZE.1 as i32 - 50),
        x: (0.0, groups.len().max(1) as f64),
        y: (least * 1.1, most * 1.1),
        root: false,
    };
    let (left, _, right, _) = frame.pixels;
    let words = style::Words {
        heading: title,
        explanation,
        hovers: Vec::new(),
    };
    style::picture(SIZE, &words, |area| {
        for (k, name) in names.iter().enumerate() {
            let x = left + (right - left) / names.len() as i32 * k as i32;
            let block = Rectangle::new([(x, 72), (x + 20, 84)], PALETTE[k].filled());
            area.draw(&block).map_err(style::failed)?;
            label(area, name, (x + 28, 78), 15, INK, HPos::Left)?;
        }
        let step = style::step(frame.y.1 - frame.y.0, 8);
        let mut k = (frame.y.0 / step).ceil() as i64;
        while k as f64 * step <= frame.y.1 {
            let (value, at) = (k as f64 * step, frame.up(k as f64 * step));
            let colour = if k == 0 { GREY } else { FAINT };
            let line = vec![(left, at), (right, at)];
            area.draw(&PathElement::new(line, colour.stroke_width(1)))
                .map_err(style::failed)?;
            let text = style::number(value, step);
            label(area, &text, (left - 8, at), 15, INK, HPos::Right)?;
            k += 1;
        }
        for (g, group) in groups.iter().enumerate() {
            let from = frame.across(g as f64);
            let room = frame.across(g as f64 + 1.0) - from;
            let each = room * 8 / (10 * names.len().max(1) as i32);
            for (k, value) in group.values.iter().enumerate() {
                let Some(value) = value else { continue };
                let x = from + room / 10 + each * k as i32;
                let ends = [(x, frame.up(*value)), (x + each - 2, frame.up(0.0))];
                let bar = Rectangle::new(ends, PALETTE[k].filled());
                area.draw(&bar).map_err(style::failed)?;
            }
            let middle = (from + room / 2, frame.pixels.3 + 22);
            let name = style::shorten(&group.name, 15, room - 4);
            label(area, &name, middle, 15, INK, HPos::Center)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_a_bar() {
        let groups = [BarGroup {
            name: "net".into(),
            values: vec![Some(3.0), None, Some(-1.0)],
        }];
        let svg = draw(("title", "values"), &["a", "b", "c"], &groups).unwrap();
        let (_, marks) = svg.split_once("</style>").unwrap();
        let bars = |k: usize| {
            let RGBColor(r, g, b) = PALETTE[k];
            marks.matches(&format!("#{r:02X}{g:02X}{b:02X}")).count()
        };
        // One in the legend each, and one more for each value.
        assert_eq!([bars(0), bars(1), bars(2)], [2, 1, 2]);
    }
}
