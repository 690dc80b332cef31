//! Draws of numbers in the styles of models' numbers.

use crate::random::SplitMix64;
use remat_lp::Algorithm;

/// Style of a model's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Small whole numbers.
    Whole,
    /// Decimals of up to twelve places.
    Decimal,
    /// Magnitudes of entries from 1e-6 to 1e9 within a row.
    Spread,
    /// Values and sides up to 1e15.
    Large,
}

/// A seeded sequence of draws.
pub struct Dice(SplitMix64);

impl Dice {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Dice(SplitMix64(seed.wrapping_mul(0x2545_f491_4f6c_dd1d)))
    }

    /// A whole number, both ends included.
    pub fn range(&mut self, low: i64, high: i64) -> i64 {
        low + self.0.below((high - low + 1) as u64) as i64
    }

    /// Returns true with a probability in percent.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.0.below(100) < percent
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.0.below(of.len() as u64) as usize]
    }

    /// Some indices below a number, in order, at least `least`.
    pub fn some(&mut self, count: usize, least: usize) -> Vec<usize> {
        let wanted = self.range(least.min(count) as i64, count as i64) as usize;
        let mut all: Vec<usize> = (0..count).collect();
        while all.len() > wanted {
            all.remove(self.0.below(all.len() as u64) as usize);
        }
        all
    }

    /// A method for linear programs.
    pub fn algorithm(&mut self) -> Algorithm {
        *self.pick(&[
            Algorithm::Auto,
            Algorithm::Dual,
            Algorithm::Primal,
            Algorithm::Barrier,
        ])
    }

    /// A style.
    pub fn style(&mut self) -> Style {
        *self.pick(&[Style::Whole, Style::Decimal, Style::Spread, Style::Large])
    }

    /// The double of a decimal with this number of places.
    fn places(&mut self, most: i64, places: i64) -> f64 {
        let digits = self.range(-most, most);
        // Parsed like a file: the nearest double to the decimal.
        format!("{digits}e-{places}").parse().expect("a decimal")
    }

    /// An entry other than 0.
    pub fn entry(&mut self, style: Style) -> f64 {
        loop {
            let value = match style {
                Style::Whole => self.range(-9, 9) as f64,
                Style::Decimal => {
                    let places = *self.pick(&[0, 1, 2, 3, 6, 9, 12]);
                    self.places(99_999, places)
                }
                Style::Spread => {
                    let power = self.range(-6, 9);
                    let value = format!("{}e{power}", self.range(-9, 9));
                    value.parse().expect("a decimal")
                }
                Style::Large if self.chance(30) => {
                    let power = self.range(0, 6);
                    let value = format!("{}e{power}", self.range(-99, 99));
                    value.parse().expect("a decimal")
                }
                Style::Large => self.range(-9, 9) as f64,
            };
            if value != 0.0 {
                return value;
            }
        }
    }

    /// A value of an integer column.
    pub fn whole(&mut self, style: Style) -> f64 {
        match style {
            Style::Whole => self.range(-5, 12) as f64,
            Style::Decimal => self.range(-60, 60) as f64,
            Style::Spread => self.range(-2, 3) as f64,
            Style::Large => {
                let power = self.range(0, 13);
                (self.range(-99, 99) * 10i64.pow(power as u32) + self.range(-9, 9)) as f64
            }
        }
    }

    /// A value of a continuous column.
    pub fn value(&mut self, style: Style) -> f64 {
        match style {
            Style::Whole => self.places(40, 1),
            Style::Decimal => {
                let places = *self.pick(&[0, 2, 4, 6]);
                self.places(9_999, places)
            }
            Style::Spread => self.places(30, 1),
            Style::Large => self.whole(style),
        }
    }
}
