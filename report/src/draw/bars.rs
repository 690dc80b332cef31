//! The best strategies at a budget: a bar of overhead for each.

use super::style::{self, DrawError, FAINT, GREY, Hover, INK, PALETTE, Words, failed, label};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use remat_instances::budget::format_bytes;

/// A strategy's plan.
pub struct Bar {
    /// Name of the strategy.
    pub name: String,
    /// True for a bar in black.
    pub ours: bool,
    /// Overhead of the plan in percent.
    pub overhead_percent: f64,
    /// Peak memory of the plan in bytes.
    pub peak_bytes: u64,
}

/// Largest number of bars.
pub const BARS: usize = 7;
const WIDTH: u32 = 980;
const TOP: i32 = 86;
const PITCH: i32 = 38;
const NAMES: i32 = 190;
/// Room for the number behind a bar in pixels.
const NUMBERS: i32 = 220;

/// The picture of the bars, the cheapest first, as SVG text. `left_out` is the number of strategies
/// that fit without a bar, and of those that do not fit.
///
/// # Errors
/// [`DrawError`].
pub fn draw(title: &str, bars: &[Bar], left_out: [usize; 2]) -> Result<String, DrawError> {
    let worst = bars
        .iter()
        .map(|bar| bar.overhead_percent)
        .fold(0.0, f64::max);
    let room = f64::from(WIDTH as i32 - NAMES - NUMBERS);
    let length = |overhead: f64| (overhead.max(0.0) / worst.max(1e-9) * room).round() as i32;
    let row = |k: usize| TOP + PITCH * k as i32;
    let place = |k: usize, bar: &Bar| {
        let (top, right) = (row(k), NAMES + length(bar.overhead_percent).max(2));
        (NAMES, top, right, top + PITCH - 12)
    };
    let text = |bar: &Bar| {
        let peak = format_bytes(bar.peak_bytes);
        format!("{:.2}%, peak {peak}", bar.overhead_percent)
    };
    let hovers = bars.iter().enumerate().map(|(k, bar)| Hover {
        place: place(k, bar),
        text: format!("{}: {}", bar.name, text(bar)),
    });
    let [more, above] = left_out;
    let explanation = match (more, above) {
        (0, 0) => "cost over no recomputation; shorter is better".to_owned(),
        (0, above) => format!("cost over no recomputation; {above} strategies do not fit"),
        (more, above) => {
            format!("cost over no recomputation; {more} more fit and cost more, {above} do not fit")
        }
    };
    let words = Words {
        heading: title,
        explanation: &explanation,
        hovers: hovers.collect(),
    };
    let height = row(bars.len().max(1)) + 14;
    style::picture((WIDTH, height as u32), &words, |area| {
        let base = vec![(NAMES, TOP - 6), (NAMES, row(bars.len().max(1)) - 6)];
        for (k, bar) in bars.iter().enumerate() {
            let (left, top, right, bottom) = place(k, bar);
            let middle = (top + bottom) / 2;
            let colour = match bar.ours {
                true => BLACK,
                false => PALETTE[0],
            };
            let corners = [(left, top), (right, bottom)];
            area.draw(&Rectangle::new(corners, colour.filled()))
                .map_err(failed)?;
            let name = style::shorten(&bar.name, 16, NAMES - 30);
            label(area, &name, (NAMES - 10, middle), 16, INK, HPos::Right)?;
            label(area, &text(bar), (right + 8, middle), 15, INK, HPos::Left)?;
        }
        if bars.is_empty() {
            let at = (NAMES + 10, TOP + 12);
            label(area, "no strategy fits", at, 16, GREY, HPos::Left)?;
        }
        let line = PathElement::new(base, FAINT.stroke_width(1));
        area.draw(&line).map_err(failed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_names_and_numbers_and_equal_costs_have_equal_lengths() {
        let bar = |name: &str, overhead_percent| Bar {
            name: name.into(),
            ours: name == "ours",
            overhead_percent,
            peak_bytes: 3 << 20,
        };
        let bars = [bar("ours", 1.0), bar("other", 1.0), bar("worst", 4.0)];
        let svg = draw("t", &bars, [2, 3]).unwrap();
        for text in [
            "ours",
            "1.00%, peak 3.00 MiB",
            "2 more fit and cost more, 3 do not fit",
        ] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        let widths: Vec<&str> = svg
            .split("<rect ")
            .filter(|rect| rect.contains("fill-opacity"))
            .filter_map(|rect| rect.split("width=\"").nth(1)?.split('"').next())
            .collect();
        assert_eq!(widths[0], widths[1]);
        assert_eq!(widths[2], "570");
        assert!(draw("t", &[], [0, 4]).unwrap().contains("no strategy fits"));
    }
}
