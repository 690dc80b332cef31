//! Lanes of the link to host memory under a picture of memory over time: a bar for each copy.

use super::style::{self, Area, DrawError, Frame, GREY, Hover, INK, PALETTE, failed, label};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use remat_instances::Instance;
use remat_instances::budget::format_bytes;
use remat_instances::instance::Duplex;
use remat_instances::simulate::{CopySpan, Replay};

/// Colour of copies to the host.
const OUT: RGBColor = PALETTE[2];
/// Colour of copies from it.
const BACK: RGBColor = PALETTE[5];

/// Pixels from the bottom of the plot to the first lane, for the numbers and the name of the axis.
const TOP: i32 = 64;
/// Pixels of a lane, and of a lane with the gap to the next.
const HEIGHT: i32 = 26;
const PITCH: i32 = 34;
/// Size of the names in bars.
const FONT_SIZE: u32 = 13;

/// Lanes of a replay.
pub struct Lanes<'a> {
    instance: &'a Instance,
    spans: &'a [CopySpan],
    is_half: bool,
}

impl<'a> Lanes<'a> {
    /// The lanes of a replay of an instance.
    pub fn of(instance: &'a Instance, replay: &'a Replay) -> Self {
        let link = instance.host_link();
        Lanes {
            instance,
            spans: &replay.transfers.spans,
            is_half: link.is_some_and(|link| link.duplex == Duplex::Half),
        }
    }

    /// Returns whether there are no copies, and therefore no lanes.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Pixels that the lanes add to the height of the picture.
    pub fn height(&self) -> i32 {
        match (self.is_empty(), self.is_half) {
            (true, _) => 0,
            (false, true) => PITCH + 4,
            (false, false) => 2 * PITCH + 4,
        }
    }

    /// Top and bottom of the lane of a copy.
    fn across(&self, frame: &Frame, to_host: bool) -> (i32, i32) {
        let lane = i32::from(!to_host && !self.is_half);
        let top = frame.pixels.3 + TOP + lane * PITCH;
        (top, top + HEIGHT)
    }

    fn bar(&self, frame: &Frame, scale: f64, span: &CopySpan) -> (i32, i32, i32, i32) {
        let (top, bottom) = self.across(frame, span.to_host);
        let left = frame.across(span.begin as f64 / scale);
        let right = frame.across(span.end as f64 / scale).max(left + 1);
        (left, top, right, bottom)
    }

    /// Texts of the bars.
    pub fn hovers(&self, frame: &Frame, scale: f64, unit: &str) -> Vec<Hover> {
        let hover = |span: &CopySpan| {
            let node = self.instance.node(span.node);
            let way = match span.to_host {
                true => "to the host",
                false => "back",
            };
            let time = |time: u64| time as f64 / scale;
            let wait = match span.idle {
                0 => String::new(),
                idle => format!("; computations wait {:.3} {unit}", time(idle)),
            };
            Hover {
                place: self.bar(frame, scale, span),
                text: format!(
                    "{} {way}: {}, {:.3} to {:.3} {unit}{wait}",
                    node.name,
                    format_bytes(node.output_bytes),
                    time(span.begin),
                    time(span.end)
                ),
            }
        };
        self.spans.iter().map(hover).collect()
    }

    /// The legend of a lane that both directions share: its two colours.
    fn legend(&self, area: &Area<'_>, frame: &Frame) -> Result<(), DrawError> {
        let (_, _, mut x, bottom) = frame.pixels;
        let y = bottom + 42;
        for (name, colour) in [("back", BACK), ("to host", OUT)] {
            label(area, name, (x, y), 15, INK, HPos::Right)?;
            x -= style::width(name, 15) + 8;
            let corners = [(x - 22, y - 7), (x, y + 7)];
            area.draw(&Rectangle::new(corners, colour.mix(0.75).filled()))
                .map_err(failed)?;
            x -= 22 + 26;
        }
        Ok(())
    }

    /// Draws the lanes, `scale` units of cost in one of the axis.
    ///
    /// # Errors
    /// Errors of the backend; writing to a string has no errors.
    pub fn draw(&self, area: &Area<'_>, frame: &Frame, scale: f64) -> Result<(), DrawError> {
        if self.is_empty() {
            return Ok(());
        }
        let (left, _, right, _) = frame.pixels;
        let names: &[(&str, bool)] = match self.is_half {
            true => &[("link", true)],
            false => &[("to host", true), ("back", false)],
        };
        for (name, to_host) in names {
            let (top, bottom) = self.across(frame, *to_host);
            let floor = vec![(left, bottom), (right, bottom)];
            area.draw(&PathElement::new(floor, GREY.stroke_width(1)))
                .map_err(failed)?;
            let middle = (left - 8, (top + bottom) / 2);
            label(area, name, middle, 15, INK, HPos::Right)?;
        }
        if self.is_half {
            self.legend(area, frame)?;
        }
        for span in self.spans {
            let (left, top, right, bottom) = self.bar(frame, scale, span);
            let colour = match span.to_host {
                true => OUT,
                false => BACK,
            };
            let corners = [(left, top), (right, bottom)];
            area.draw(&Rectangle::new(corners, colour.mix(0.75).filled()))
                .map_err(failed)?;
            // A white line separates bars that touch.
            area.draw(&PathElement::new(
                vec![(left, top), (left, bottom)],
                WHITE.stroke_width(1),
            ))
            .map_err(failed)?;
            let name = &self.instance.node(span.node).name;
            if style::width(name, FONT_SIZE) + 6 <= right - left {
                let middle = ((left + right) / 2, (top + bottom) / 2);
                label(area, name, middle, FONT_SIZE, INK, HPos::Center)?;
            }
        }
        Ok(())
    }
}
