//! A line of marks with their names.

use super::style::{self, Area, DrawError, INK, dashes, failed, label};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

/// Width of a mark, and of a mark with the gap to its name, in pixels.
const MARK: i32 = 22;
const NAME: i32 = 30;
/// Gap between entries in pixels.
const GAP: i32 = 26;
/// Size of names.
const FONT_SIZE: u32 = 15;

/// A legend that grows to the right.
pub struct Legend<'l, 'a> {
    area: &'l Area<'a>,
    x: i32,
    y: i32,
}

impl<'l, 'a> Legend<'l, 'a> {
    /// An empty legend with the middle of its left end at a place.
    pub fn new(area: &'l Area<'a>, (x, y): (i32, i32)) -> Self {
        Legend { area, x, y }
    }

    /// A filled square.
    ///
    /// # Errors
    /// Errors of the backend; writing to a string has no errors.
    pub fn square(&mut self, name: &str, colour: RGBAColor) -> Result<(), DrawError> {
        self.fill(colour)?;
        self.named(name)
    }

    /// A filled square with a line above it.
    ///
    /// # Errors
    /// As [`Legend::square`].
    pub fn edged(
        &mut self,
        name: &str,
        colour: RGBAColor,
        edge: RGBColor,
    ) -> Result<(), DrawError> {
        self.fill(colour)?;
        self.stroke(self.y - 7, edge, 2)?;
        self.named(name)
    }

    /// A line.
    ///
    /// # Errors
    /// As [`Legend::square`].
    pub fn line(&mut self, name: &str, colour: RGBColor, width: u32) -> Result<(), DrawError> {
        self.stroke(self.y, colour, width)?;
        self.named(name)
    }

    /// A dashed line.
    ///
    /// # Errors
    /// As [`Legend::square`].
    pub fn dashes(&mut self, name: &str, colour: RGBColor) -> Result<(), DrawError> {
        dashes(self.area, (self.x, self.y), (self.x + MARK, self.y), colour)?;
        self.named(name)
    }

    /// A circle.
    ///
    /// # Errors
    /// As [`Legend::square`].
    pub fn circle(&mut self, name: &str) -> Result<(), DrawError> {
        let middle = (self.x + MARK / 2, self.y);
        self.area
            .draw(&Circle::new(middle, 5, INK.stroke_width(2)))
            .map_err(failed)?;
        self.named(name)
    }

    fn fill(&self, colour: RGBAColor) -> Result<(), DrawError> {
        let corners = [(self.x, self.y - 7), (self.x + MARK, self.y + 7)];
        self.area
            .draw(&Rectangle::new(corners, colour.filled()))
            .map_err(failed)
    }

    fn stroke(&self, y: i32, colour: RGBColor, width: u32) -> Result<(), DrawError> {
        let points = vec![(self.x, y), (self.x + MARK, y)];
        self.area
            .draw(&PathElement::new(points, colour.stroke_width(width)))
            .map_err(failed)
    }

    fn named(&mut self, name: &str) -> Result<(), DrawError> {
        let place = (self.x + NAME, self.y);
        label(self.area, name, place, FONT_SIZE, INK, HPos::Left)?;
        self.x += NAME + style::width(name, FONT_SIZE) + GAP;
        Ok(())
    }
}
