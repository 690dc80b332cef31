//! The functions of the header.
//!
//! | module | functions |
//! |---|---|
//! | [`life`] | creation and freeing of models; errors, texts, version |
//! | [`edit`] | changes of a program |
//! | [`look`] | queries about a program |
//! | [`name`] | names of programs, columns and rows |
//! | [`mod@file`] | files |
//! | [`option`] | settings by name |
//! | [`solve`] | starts, callbacks, solves, interrupts |
//! | [`answer`] | results |
//! | [`call`] | one program in one call |
//! | [`plan`] | one rematerialization plan in one call |
//!
//! The caller's promises, on which every unsafe block relies, are in the header under "Safety".

mod answer;
mod call;
mod edit;
mod file;
mod life;
mod look;
mod name;
mod option;
mod plan;
mod solve;

use crate::codes::{REMAT_MAXIMISE, REMAT_MINIMISE};
use crate::trouble::Trouble;
use remat_lp::{Sense, VarStatus};
use remat_models::program::{Col, Kind, Row, are_bounds};
use std::ffi::{c_char, c_int};

/// The column of a handle, whether or not it is in the program.
fn col(handle: i32) -> Result<Col, Trouble> {
    let number = u32::try_from(handle);
    number
        .map(Col)
        .map_err(|_| Trouble::argument(format!("column {handle} is not in the program")))
}

/// The row of a handle, whether or not it is in the program.
fn row(handle: i32) -> Result<Row, Trouble> {
    let number = u32::try_from(handle);
    number
        .map(Row)
        .map_err(|_| Trouble::argument(format!("row {handle} is not in the program")))
}

/// A handle as a C number; programs have at most 2^30.
fn handle(index: usize) -> i32 {
    i32::try_from(index).unwrap_or(i32::MAX)
}

/// Kind of a letter.
fn kind(letter: c_char) -> Result<Kind, Trouble> {
    match letter as u8 {
        b'C' => Ok(Kind::Continuous),
        b'B' => Ok(Kind::Binary),
        b'I' => Ok(Kind::Integer),
        b'S' => Ok(Kind::SemiContinuous),
        b'N' => Ok(Kind::SemiInteger),
        other => {
            let letter = char::from(other);
            let text = format!("{letter:?} is no kind of column: C, B, I, S or N is needed");
            Err(Trouble::argument(text))
        }
    }
}

/// Letter of a kind.
fn letter(kind: Kind) -> c_char {
    let letter = match kind {
        Kind::Continuous => b'C',
        Kind::Binary => b'B',
        Kind::Integer => b'I',
        Kind::SemiContinuous => b'S',
        Kind::SemiInteger => b'N',
    };
    letter as c_char
}

fn sense(number: c_int) -> Result<Sense, Trouble> {
    match number {
        REMAT_MINIMISE => Ok(Sense::Minimise),
        REMAT_MAXIMISE => Ok(Sense::Maximise),
        _ => Err(Trouble::argument(format!(
            "sense is {number}: REMAT_MINIMISE or REMAT_MAXIMISE is needed"
        ))),
    }
}

/// Letters of statuses in a basis.
fn letters(statuses: &[Option<VarStatus>]) -> Vec<c_char> {
    let letter = |status: &Option<VarStatus>| match status {
        Some(VarStatus::Basic) => b'B',
        Some(VarStatus::AtLower) => b'L',
        Some(VarStatus::AtUpper) => b'U',
        Some(VarStatus::Free) => b'F',
        None => b'-',
    };
    statuses.iter().map(|s| letter(s) as c_char).collect()
}

/// Checks all numbers of an argument before any of them changes a program.
fn check_numbers(name: &str, values: &[f64]) -> Result<(), Trouble> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(k) => Err(Trouble::argument(format!(
            "{name}[{k}] is {}; a finite number is needed",
            values[k]
        ))),
    }
}

/// Checks all bounds, or sides, of arguments before any of them changes a program.
fn check_bounds(names: [&str; 2], lower: &[f64], upper: &[f64]) -> Result<(), Trouble> {
    let mut pairs = lower.iter().zip(upper);
    let Some(k) = pairs.position(|(&lower, &upper)| !are_bounds(lower, upper)) else {
        return Ok(());
    };
    let [low, high] = names;
    Err(Trouble::argument(format!(
        "{low}[{k}] and {high}[{k}] are {} and {}: neither may be NaN, the lower one +inf or the \
         upper one -inf",
        lower[k], upper[k]
    )))
}

/// Ranges of the parts of a compressed matrix: a part ends where the next begins.
fn parts(starts: &[i64], nonzeros: usize) -> Result<Vec<std::ops::Range<usize>>, Trouble> {
    let wrong = || {
        Trouble::argument(format!(
            "starts must go up from 0 to no more than {nonzeros}"
        ))
    };
    let mut ends = starts.iter().skip(1).map(|&s| usize::try_from(s).ok());
    let mut begin = 0;
    let mut ranges = Vec::with_capacity(starts.len());
    if starts.first().is_some_and(|&s| s != 0) || starts.is_empty() && nonzeros > 0 {
        return Err(wrong());
    }
    for _ in starts {
        let end = ends.next().unwrap_or(Some(nonzeros)).ok_or_else(wrong)?;
        if end < begin || end > nonzeros {
            return Err(wrong());
        }
        ranges.push(begin..end);
        begin = end;
    }
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_matrix_end_where_the_next_begin() {
        assert_eq!(parts(&[0, 2, 2], 5).unwrap(), [0..2, 2..2, 2..5]);
        assert_eq!(parts(&[], 0).unwrap(), []);
        for wrong in [&[1, 2][..], &[0, 6], &[0, 3, 2], &[0, -1], &[-1], &[]] {
            assert!(parts(wrong, 5).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn kinds_have_letters_both_ways() {
        for of in [b'C', b'B', b'I'] {
            assert_eq!(letter(kind(of as c_char).unwrap()), of as c_char);
        }
        assert!(kind(b'x' as c_char).is_err() && kind(0).is_err());
        assert!(col(-1).is_err() && row(i32::MIN).is_err());
        assert!(sense(0).is_err());
    }
}
