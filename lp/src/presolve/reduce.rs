//! Rounds of reductions: their order and their end.

use super::work::{Stop, WorkingModel};
use super::{
    PresolveSettings, dominated, doubleton, duplicate_cols, duplicate_rows, empty, forcing,
    singleton_row, slack, substitution,
};

/// Limit of the entries visited: a constant, and a multiple of the program's size.
const EFFORT: (u64, u64) = (2_000_000, 60);

pub(super) fn reduce(w: &mut WorkingModel, settings: &PresolveSettings) -> Result<(), Stop> {
    let size = (0..w.num_cols())
        .map(|j| w.col_len(j) as u64 + 1)
        .sum::<u64>()
        + w.num_rows() as u64;
    let limit = EFFORT.0 + EFFORT.1 * size;
    for _ in 0..settings.max_rounds {
        local(w, settings, limit)?;
        let before = w.removed;
        if settings.dominated {
            dominated::all(w)?;
        }
        if settings.duplicate_rows {
            duplicate_rows::all(w)?;
        }
        if settings.duplicate_cols {
            duplicate_cols::all(w)?;
        }
        // A round with few reductions is the last: each round sorts the whole matrix.
        let left = w.num_rows() + w.num_cols() - before;
        if (w.removed - before) * 200 < left || w.removed == before || w.effort > limit {
            break;
        }
    }
    // The remaining queue entries are cheap, and may be the whole rest of the program.
    local(w, settings, limit)
}

/// Processes changed rows and columns until the queues are empty.
fn local(w: &mut WorkingModel, settings: &PresolveSettings, limit: u64) -> Result<(), Stop> {
    while w.effort <= limit {
        if let Some(i) = w.next_row() {
            if w.row_is_alive(i) {
                row(w, i, settings)?;
            }
        } else if let Some(j) = w.next_col() {
            if w.col_is_alive(j) {
                col(w, j, settings)?;
            }
        } else {
            break;
        }
    }
    Ok(())
}

/// Applies the first applicable reduction to a row.
fn row(w: &mut WorkingModel, i: usize, settings: &PresolveSettings) -> Result<bool, Stop> {
    if forcing::row(w, i, settings.forcing)? {
        return Ok(true);
    }
    match w.row_len(i) {
        1 if settings.singleton_rows => singleton_row::row(w, i),
        2 if settings.doubletons && w.row_is_equation(i) => doubleton::row(w, i),
        _ => Ok(false),
    }
}

/// Applies the first applicable reduction to a column.
fn col(w: &mut WorkingModel, j: usize, settings: &PresolveSettings) -> Result<bool, Stop> {
    if empty::col(w, j)? || (settings.dominated && dominated::col(w, j)?) {
        return Ok(true);
    }
    if settings.substitution && substitution::col(w, j)? {
        return Ok(true);
    }
    if settings.slacks && w.col_len(j) == 1 {
        let row = w.col(j).next().map(|e| e.0 as usize);
        if let Some(i) = row
            && (w.cost[j] == 0.0 || w.row_is_equation(i))
        {
            return slack::row(w, i);
        }
    }
    Ok(false)
}
