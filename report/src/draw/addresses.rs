//! Addresses over time: one rectangle for each buffer, with its holes.

use super::style::{self, Area, DrawError, Frame, Hover, INK, PALETTE, Words, failed, label};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use remat_instances::budget::format_bytes;
use remat_instances::place::{Lives, Placement};

const SIZE: (u32, u32) = (1180, 640);
/// Largest number of buffers that show their names under the pointer.
const NAMED_BUFFERS: usize = 4_000;

/// The picture as SVG text.
///
/// # Errors
/// [`DrawError`].
pub fn draw(lives: &Lives, placement: &Placement, title: &str) -> Result<String, DrawError> {
    let buffers = lives.buffers();
    let height = lives.height(placement);
    let time = |moment: u64| lives.time(moment) as f64;
    let last = buffers.iter().map(|b| b.upper).max().unwrap_or(0);
    let (unit, name) = style::byte_unit(height);
    let frame = Frame {
        pixels: (84, 76, SIZE.0 as i32 - 30, SIZE.1 as i32 - 66),
        x: (time(0), time(last.max(1))),
        y: (0.0, (height as f64 / unit * 1.04).max(f64::MIN_POSITIVE)),
        root: false,
    };
    let mut pieces = Vec::new();
    let mut hovers = Vec::new();
    for (k, (buffer, offset)) in buffers.iter().zip(placement.offsets()).enumerate() {
        for piece in buffer.pieces() {
            let (low, high) = (offset + piece.start, offset + piece.end);
            let place = (
                frame.across(time(piece.lower)),
                frame.up(high as f64 / unit),
                frame.across(time(piece.upper)),
                frame.up(low as f64 / unit),
            );
            let size = format_bytes(piece.end - piece.start);
            pieces.push((place, PALETTE[k % PALETTE.len()], &buffer.id, size.clone()));
            if buffers.len() <= NAMED_BUFFERS {
                let [lower, upper] = [piece.lower, piece.upper].map(|moment| lives.time(moment));
                let text = format!("{}: {size} at {low}, {lower} to {upper}", buffer.id);
                hovers.push(Hover { place, text });
            }
        }
    }
    let load = lives.load().bytes;
    let explanation = format!(
        "height {} for a load of {}",
        format_bytes(height),
        format_bytes(load)
    );
    let words = Words {
        heading: title,
        explanation: &explanation,
        hovers,
    };
    style::picture(SIZE, &words, |area| {
        frame.axes(area, "moment of the step", &format!("address ({name})"))?;
        for ((left, top, right, bottom), colour, ..) in &pieces {
            let corners = [(*left, *top), (*right, *bottom)];
            let inside = Rectangle::new(corners, colour.mix(0.6).filled());
            area.draw(&inside).map_err(failed)?;
            let edge = Rectangle::new(corners, colour.stroke_width(1));
            area.draw(&edge).map_err(failed)?;
        }
        for (place, _, name, size) in &pieces {
            named(area, *place, name, size)?;
        }
        Ok(())
    })
}

/// Writes the name of a buffer into its box, and its size below, where there is room.
fn named(
    area: &Area<'_>,
    (left, top, right, bottom): (i32, i32, i32, i32),
    name: &str,
    size: &str,
) -> Result<(), DrawError> {
    const FONT: u32 = 14;
    let (across, up) = (right - left, bottom - top);
    let middle = ((left + right) / 2, (top + bottom) / 2);
    let is_shown = |text: &str| style::width(text, FONT) + 6 <= across && up >= 15;
    if !is_shown(name) {
        return Ok(());
    }
    let has_size = is_shown(size) && up >= 34;
    let shift = if has_size { 8 } else { 0 };
    let at = (middle.0, middle.1 - shift);
    label(area, name, at, FONT, INK, HPos::Center)?;
    match has_size {
        true => label(
            area,
            size,
            (middle.0, middle.1 + shift),
            FONT,
            INK,
            HPos::Center,
        ),
        false => Ok(()),
    }
}
