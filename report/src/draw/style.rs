//! Common parts of the pictures: fonts, colours, text and legends.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A surface of an SVG picture.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Font families; the first one available is used.
pub const FONT: &str = "Helvetica, Arial, 'DejaVu Sans', sans-serif";

/// Text colour.
pub const INK: RGBColor = RGBColor(33, 37, 41);
/// Secondary text and axes.
pub const GREY: RGBColor = RGBColor(108, 117, 125);
/// Grid lines.
pub const FAINT: RGBColor = RGBColor(226, 230, 234);

/// Fixed memory, and entries of a legend without a mark.
pub const PALE: RGBColor = RGBColor(173, 181, 189);

/// Colours for curves and areas. Colour-blind readers can distinguish the first seven (Okabe and
/// Ito, 2008), which leave out black, and yellow because it is invisible on white. The others also
/// differ by their markers.
pub const PALETTE: [RGBColor; 22] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(120, 94, 60),
    RGBColor(110, 70, 170),
    RGBColor(140, 140, 20),
    RGBColor(190, 30, 60),
    RGBColor(0, 95, 90),
    RGBColor(146, 196, 60),
    RGBColor(250, 128, 114),
    RGBColor(10, 50, 120),
    RGBColor(178, 150, 220),
    RGBColor(125, 145, 155),
    RGBColor(60, 60, 235),
    RGBColor(255, 120, 20),
    RGBColor(0, 190, 190),
    RGBColor(235, 50, 160),
    RGBColor(80, 200, 90),
    RGBColor(95, 70, 60),
];

/// Colours and their replacements on a dark page: paper and text are exchanged, and colours too
/// dark for a dark paper are lighter.
const DARK: [(RGBColor, RGBColor); 13] = [
    (WHITE, RGBColor(13, 17, 23)),
    (INK, RGBColor(230, 237, 243)),
    (GREY, RGBColor(159, 167, 176)),
    (PALE, RGBColor(73, 80, 87)),
    (FAINT, RGBColor(48, 54, 61)),
    (BLACK, RGBColor(255, 255, 255)),
    (PALETTE[0], RGBColor(64, 156, 220)),
    (PALETTE[6], RGBColor(176, 144, 100)),
    (PALETTE[7], RGBColor(165, 130, 220)),
    (PALETTE[10], RGBColor(60, 150, 145)),
    (PALETTE[13], RGBColor(90, 135, 215)),
    (PALETTE[16], RGBColor(125, 125, 250)),
    (PALETTE[21], RGBColor(160, 130, 115)),
];

/// The colour on a dark page.
pub fn dark(light: RGBColor) -> RGBColor {
    let found = DARK.iter().find(|(known, _)| *known == light);
    found.map_or(light, |(_, dark)| *dark)
}

/// Style rules by which a viewer with a dark page shows a picture in dark colours.
fn dark_style() -> String {
    let hex = |colour: RGBColor| format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2);
    let rules = DARK.map(|(light, dark)| {
        let (light, dark) = (hex(light), hex(dark));
        format!("[fill=\"{light}\"]{{fill:{dark}}}[stroke=\"{light}\"]{{stroke:{dark}}}")
    });
    let rules = rules.join("\n");
    format!("\n<style>@media (prefers-color-scheme: dark) {{\n{rules}\n}}</style>")
}

/// A picture that could not be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot draw the picture: {0}")]
pub struct DrawError(pub String);

/// Turns an error of the drawing library into ours.
pub fn failed(error: impl std::fmt::Display) -> DrawError {
    DrawError(error.to_string())
}

/// A text style.
pub fn text(size: u32, colour: RGBColor) -> TextStyle<'static> {
    (FONT, size).into_font().color(&colour)
}

/// Upper bound on the width of a text in pixels; plotters writes a font of `size` with 1 / 1.24 of
/// it as `font-size`.
pub fn width(text: &str, size: u32) -> i32 {
    (text.chars().count() as f64 * f64::from(size) * 0.5).ceil() as i32
}

/// Draws a text with its left end, centre or right end at a place, vertically centred.
///
/// # Errors
/// Errors of the backend; writing to a string has no errors.
pub fn label(
    area: &Area<'_>,
    content: &str,
    place: (i32, i32),
    size: u32,
    colour: RGBColor,
    at: HPos,
) -> Result<(), DrawError> {
    let style = text(size, colour).pos(Pos::new(at, VPos::Center));
    area.draw_text(content, &style, place).map_err(failed)
}

/// Draws the title and, under it, a line of explanation.
///
/// # Errors
/// As [`label`].
fn title(area: &Area<'_>, heading: &str, explanation: &str) -> Result<(), DrawError> {
    let (across, _) = area.dim_in_pixel();
    let room = across as i32 - 40;
    let heading = shorten(heading, 22, room);
    let explanation = shorten(explanation, 15, room);
    label(area, &heading, (20, 24), 22, INK, HPos::Left)?;
    label(area, &explanation, (20, 48), 15, GREY, HPos::Left)
}

/// Draws a dashed line.
///
/// # Errors
/// As [`label`].
pub fn dashes(
    area: &Area<'_>,
    from: (i32, i32),
    to: (i32, i32),
    colour: RGBColor,
) -> Result<(), DrawError> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = f64::from(dx).hypot(f64::from(dy));
    let mut at = 0.0;
    while at < length {
        let point = |s: f64| {
            let share = (s / length).min(1.0);
            (
                from.0 + (f64::from(dx) * share) as i32,
                from.1 + (f64::from(dy) * share) as i32,
            )
        };
        let dash = vec![point(at), point(at + 7.0)];
        area.draw(&PathElement::new(dash, colour.stroke_width(2)))
            .map_err(failed)?;
        at += 12.0;
    }
    Ok(())
}

/// Writes a name upwards at the foot of a column, where the column is wide and high enough.
///
/// # Errors
/// As [`label`].
pub fn upright_name(
    area: &Area<'_>,
    (left, top, right, bottom): (i32, i32, i32, i32),
    name: &str,
) -> Result<(), DrawError> {
    const SIZE: u32 = 12;
    if right - left < 11 || bottom - top < width(name, SIZE) + 10 {
        return Ok(());
    }
    let style = text(SIZE, INK)
        .transform(FontTransform::Rotate270)
        .pos(Pos::new(HPos::Left, VPos::Center));
    let place = ((left + right) / 2, bottom - 5);
    area.draw_text(name, &style, place).map_err(failed)
}

/// A text cut to a width in pixels.
pub fn shorten(content: &str, size: u32, room: i32) -> String {
    if width(content, size) <= room {
        return content.into();
    }
    let each = width("x", size).max(1);
    let keep = (room / each - 1).max(1) as usize;
    content.chars().take(keep).chain("…".chars()).collect()
}

/// A marker of one of eight shapes.
///
/// # Errors
/// As [`label`].
pub fn marker(
    area: &Area<'_>,
    shape: usize,
    (x, y): (i32, i32),
    colour: RGBColor,
) -> Result<(), DrawError> {
    let r = 5;
    let filled = colour.filled();
    let line = colour.stroke_width(2);
    let polygon =
        |points: Vec<(i32, i32)>| area.draw(&Polygon::new(points, filled)).map_err(failed);
    match shape % 8 {
        0 => area.draw(&Circle::new((x, y), r, filled)).map_err(failed),
        1 => area
            .draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], filled))
            .map_err(failed),
        2 => polygon(vec![(x, y - 6), (x + 6, y + 4), (x - 6, y + 4)]),
        3 => polygon(vec![(x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)]),
        4 => area.draw(&Circle::new((x, y), r, line)).map_err(failed),
        5 => area
            .draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], line))
            .map_err(failed),
        6 => {
            area.draw(&PathElement::new(
                vec![(x - 5, y - 5), (x + 5, y + 5)],
                line,
            ))
            .map_err(failed)?;
            area.draw(&PathElement::new(
                vec![(x - 5, y + 5), (x + 5, y - 5)],
                line,
            ))
            .map_err(failed)
        }
        _ => polygon(vec![(x, y + 6), (x + 6, y - 4), (x - 6, y - 4)]),
    }
}

/// Step between axis labels for `0..=top` that are round numbers, with about `count` of them.
///
/// ```
/// assert_eq!(remat_report::draw::style::step(16.5, 8), 2.0);
/// assert_eq!(remat_report::draw::style::step(0.9, 5), 0.2);
/// ```
pub fn step(span: f64, count: usize) -> f64 {
    let rough = (span / count.max(1) as f64).max(f64::MIN_POSITIVE);
    let magnitude = 10f64.powf(rough.log10().floor());
    let digit = rough / magnitude;
    let round = [1.0, 2.0, 5.0, 10.0];
    let nearest = round.iter().copied().find(|r| digit <= r * 1.2);
    nearest.unwrap_or(10.0) * magnitude
}

/// A number on an axis whose labels are `step` apart: as many decimals as the step needs.
pub fn number(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.decimals$}")
}

/// The most readable unit for an amount of bytes: bytes in it, and its name.
pub fn byte_unit(bytes: u64) -> (f64, &'static str) {
    match bytes {
        b if b >= 1 << 30 => (f64::from(1u32 << 30), "GiB"),
        b if b >= 1 << 20 => (f64::from(1u32 << 20), "MiB"),
        b if b >= 1 << 10 => (f64::from(1u32 << 10), "KiB"),
        _ => (1.0, "bytes"),
    }
}

/// A frame with axes that maps values to pixels.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Left, top, right and bottom of the plot in pixels.
    pub pixels: (i32, i32, i32, i32),
    /// Values at the left and the right.
    pub x: (f64, f64),
    /// Values at the bottom and the top.
    pub y: (f64, f64),
    /// True if vertical values are scaled by their square root, so that small ones get room beside
    /// large ones. They start at 0.
    pub root: bool,
}

impl Frame {
    /// The pixel of a horizontal value.
    pub fn across(&self, x: f64) -> i32 {
        let (left, _, right, _) = self.pixels;
        let share = (x - self.x.0) / (self.x.1 - self.x.0);
        // A range of one point has no share; points outside are cut at the frame.
        left.saturating_add((share * f64::from(right - left)).round() as i32)
    }

    /// The pixel of a vertical value.
    pub fn up(&self, y: f64) -> i32 {
        let (_, top, _, bottom) = self.pixels;
        let share = (y - self.y.0) / (self.y.1 - self.y.0);
        let share = if self.root {
            share.max(0.0).sqrt()
        } else {
            share
        };
        bottom - (share * f64::from(bottom - top)).round() as i32
    }

    /// Grid, numbers and the names of both axes.
    ///
    /// # Errors
    /// As [`label`].
    pub fn axes(&self, area: &Area<'_>, x_name: &str, y_name: &str) -> Result<(), DrawError> {
        self.time_axis(area, x_name)?;
        self.level_axis(area)?;
        self.upright(area, y_name)
    }

    /// Grid and numbers of the vertical axis.
    ///
    /// # Errors
    /// As [`label`].
    pub fn level_axis(&self, area: &Area<'_>) -> Result<(), DrawError> {
        let (left, top, right, bottom) = self.pixels;
        for (y, text) in self.vertical_ticks() {
            let at = self.up(y);
            line(area, vec![(left, at), (right, at)], FAINT)?;
            label(area, &text, (left - 8, at), 15, INK, HPos::Right)?;
        }
        line(
            area,
            vec![(left, top), (left, bottom), (right, bottom)],
            GREY,
        )
    }

    /// Grid, numbers and the name of the horizontal axis.
    ///
    /// # Errors
    /// As [`label`].
    pub fn time_axis(&self, area: &Area<'_>, name: &str) -> Result<(), DrawError> {
        let (left, top, right, bottom) = self.pixels;
        let x_step = step(self.x.1 - self.x.0, ((right - left) / 90).max(2) as usize);
        for x in round_values(self.x, x_step) {
            let at = self.across(x);
            line(area, vec![(at, top), (at, bottom)], FAINT)?;
            line(area, vec![(at, bottom), (at, bottom + 5)], GREY)?;
            let place = (at, bottom + 17);
            label(area, &number(x, x_step), place, 15, INK, HPos::Center)?;
        }
        line(area, vec![(left, bottom), (right, bottom)], GREY)?;
        let middle = ((left + right) / 2, bottom + 42);
        label(area, name, middle, 16, INK, HPos::Center)
    }

    /// Vertical grid lines with their numbers.
    fn vertical_ticks(&self) -> Vec<(f64, String)> {
        let (_, top, _, bottom) = self.pixels;
        if !self.root {
            let step = step(self.y.1 - self.y.0, ((bottom - top) / 55).max(2) as usize);
            let values = round_values(self.y, step);
            return values.map(|y| (y, number(y, step))).collect();
        }
        let mut ticks = vec![(0.0, "0".to_owned())];
        let mut before = bottom;
        let rounds = (-2..6).flat_map(|e| [1.0, 2.0, 5.0].map(|d| d * 10f64.powi(e)));
        for y in rounds.filter(|y| *y <= self.y.1) {
            let at = self.up(y);
            if before - at >= 34 {
                ticks.push((y, format!("{y}")));
                before = at;
            }
        }
        ticks
    }

    /// The name of the vertical axis, turned.
    fn upright(&self, area: &Area<'_>, name: &str) -> Result<(), DrawError> {
        let (_, top, _, bottom) = self.pixels;
        let style = text(16, INK)
            .transform(FontTransform::Rotate270)
            .pos(Pos::new(HPos::Center, VPos::Center));
        area.draw_text(name, &style, (22, (top + bottom) / 2))
            .map_err(failed)
    }
}

/// A thin line.
fn line(area: &Area<'_>, points: Vec<(i32, i32)>, colour: RGBColor) -> Result<(), DrawError> {
    area.draw(&PathElement::new(points, colour.stroke_width(1)))
        .map_err(failed)
}

/// The multiples of a step in a range.
fn round_values((from, to): (f64, f64), step: f64) -> impl Iterator<Item = f64> {
    let first = (from / step - 1e-9).ceil() as i64;
    let last = (to / step + 1e-9).floor() as i64;
    (first..=last).map(move |k| k as f64 * step)
}

/// Text that a viewer shows while the pointer is over a rectangle.
pub struct Hover {
    /// Left, top, right and bottom in pixels.
    pub place: (i32, i32, i32, i32),
    /// Text.
    pub text: String,
}

impl Hover {
    /// The text of a marker at a place.
    pub fn at((x, y): (i32, i32), text: String) -> Self {
        Hover {
            place: (x - 7, y - 7, x + 7, y + 7),
            text,
        }
    }

    fn svg(&self) -> String {
        let (left, top, right, bottom) = self.place;
        format!(
            "<rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" fill=\"#000\" fill-opacity=\"0\"><title>{}</title></rect>\n",
            (right - left).max(1),
            (bottom - top).max(1),
            escaped(&self.text)
        )
    }
}

/// A text with characters replaced that are special or forbidden in XML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Texts of a picture: they are drawn in it, and read out or shown by viewers.
pub struct Words<'a> {
    /// Heading, which is the picture's title as well.
    pub heading: &'a str,
    /// Line of explanation under it, which is its description as well.
    pub explanation: &'a str,
    /// Texts of marks.
    pub hovers: Vec<Hover>,
}

/// Draws a picture of a size in pixels and returns the SVG text: on white, and on a dark page in
/// dark colours.
///
/// # Errors
/// Errors of `paint`.
pub fn picture(
    size: (u32, u32),
    words: &Words<'_>,
    paint: impl FnOnce(&Area<'_>) -> Result<(), DrawError>,
) -> Result<String, DrawError> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE).map_err(failed)?;
        title(&area, words.heading, words.explanation)?;
        paint(&area)?;
        area.present().map_err(failed)?;
    }
    // plotters writes no titles: they are inserted after the first tag and before the last.
    let head = format!(
        "\n<title>{}</title>\n<desc>{}</desc>{}",
        escaped(words.heading),
        escaped(words.explanation),
        dark_style()
    );
    let start = svg
        .find("<svg")
        .and_then(|at| Some(at + svg[at..].find('>')? + 1));
    svg.insert_str(start.unwrap_or(0), &head);
    let hovers: String = words.hovers.iter().map(Hover::svg).collect();
    let end = svg.rfind("</svg>").unwrap_or(svg.len());
    svg.insert_str(end, &hovers);
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_have_titles_that_are_xml() {
        let words = Words {
            heading: "a & b",
            explanation: "1 < 2",
            hovers: vec![Hover::at((10, 10), "x > \u{1b}y".into())],
        };
        let svg = picture((100, 60), &words, |_| Ok(())).unwrap();
        assert!(
            svg.contains("<title>a &amp; b</title>\n<desc>1 &lt; 2</desc>"),
            "{svg}"
        );
        assert!(
            svg.contains("<title>x &gt;  y</title></rect>\n</svg>"),
            "{svg}"
        );
        let dark = "[fill=\"#FFFFFF\"]{fill:#0D1117}";
        assert!(
            svg.contains(dark) && svg.contains("fill=\"#FFFFFF\""),
            "{svg}"
        );
    }
}
