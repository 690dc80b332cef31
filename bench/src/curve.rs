//! Curves in colours of the palette.

use plotters::element::DashedPathElement;
use plotters::prelude::*;
use remat_report::draw::style::{Area, DrawError, PALETTE, failed};

/// The colour that is drawn with dashes: its blue is like the first one's.
pub(crate) const DASHED: usize = 4;

/// Draws a curve in a colour of the palette; black for `None`.
pub(crate) fn draw(
    area: &Area<'_>,
    colour: Option<usize>,
    points: Vec<(i32, i32)>,
    width: u32,
) -> Result<(), DrawError> {
    let shade = colour.map_or(BLACK, |k| PALETTE[k % PALETTE.len()]);
    let stroke = shade.stroke_width(width);
    match colour {
        Some(DASHED) => {
            let dashes = DashedPathElement::new(points, 6, 4, stroke);
            area.draw(&dashes).map_err(failed)
        }
        _ => area.draw(&PathElement::new(points, stroke)).map_err(failed),
    }
}
