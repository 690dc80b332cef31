//! The address program (15): the least height of buffers with given lives.

use super::addresses::{AddressColumns, AddressOwner};
use super::flow::{COLUMN_LIMIT, ModelNames, gcd};
use super::{ProgramError, TOTAL_LIMIT};
use remat_instances::order::{LifeOf, OrderGraph, OrderReplay};
use remat_instances::place::{Buffer, Lives, Placement};
use remat_lp::{Model, ModelBuilder, Sense};

/// OLLA's program of addresses, (15) with (6) to (8) for fixed lives (arXiv 2210.12924), as its
/// published code builds it. It has an address for each buffer, and two binaries for each pair that
/// is live together. Addresses are in units that divide all sizes; the objective is in bytes.
///
/// ```
/// use remat_memory::olla::PlaceProgram;
/// use remat_memory::place::{PlaceSettings, place};
/// use remat_instances::place::{Buffer, Lives};
///
/// let lives = Lives::new(vec![
///     Buffer::new("a", 0, 11, 23), Buffer::new("b", 9, 14, 25), Buffer::new("c", 12, 16, 27)])?;
/// let placed = place(&lives, &PlaceSettings::default())?;
/// let program = PlaceProgram::new(&lives)?;
/// let point = program.point(&placed.placement).ok_or("multiples of the unit")?;
/// assert_eq!((placed.height, program.model().objective(&point)), (52, 52.0));
/// assert_eq!(program.placement(&point).replay(&lives)?.height, 52);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PlaceProgram {
    columns: AddressColumns,
    unit: u64,
    model: Model,
}

impl PlaceProgram {
    /// Builds the program.
    ///
    /// # Errors
    /// [`ProgramError`]: buffers that stay in use in part in a gap, too many pairs, sizes beyond
    /// exact numbers.
    pub fn new(lives: &Lives) -> Result<PlaceProgram, ProgramError> {
        let buffers = lives.buffers();
        if let Some(buffer) = buffers.iter().find(|b| b.has_windows()) {
            return Err(ProgramError::Window {
                buffer: buffer.id.as_str().into(),
            });
        }
        let numbers = |b: &Buffer| [b.size, b.alignment * u64::from(b.alignment > 1)];
        let fixed = buffers.iter().filter_map(|b| b.offset);
        let unit = buffers.iter().flat_map(numbers).chain(fixed).fold(0, gcd);
        let unit = unit.max(1);
        let total = buffers.iter().map(|b| b.size + b.alignment);
        let total = total.fold(0, u64::saturating_add);
        let last = buffers.iter().filter_map(|b| b.offset).max().unwrap_or(0);
        if total.saturating_add(last) > TOTAL_LIMIT {
            return Err(ProgramError::Bytes { bytes: total });
        }
        let pairs = pairs(buffers)?;
        let mut names = ModelNames::default();
        let items = buffers.iter().enumerate().map(|(i, b)| AddressOwner {
            name: names.fresh(&b.id, &format!("t{i}")),
            size: if b.pieces().is_empty() {
                0
            } else {
                b.size / unit
            },
            alignment: (b.alignment / unit).max(1),
            fixed: b.offset.map(|offset| offset / unit),
        });
        let items = items.collect();
        let mut lp = ModelBuilder::new(Sense::Minimise);
        lp.set_name("olla_place");
        let columns = AddressColumns::add(&mut lp, items, pairs, unit, "max_address");
        columns.rows(&mut lp);
        for [first, second] in &columns.below {
            lp.add_row(1.0, [(*first, 1.0), (*second, 1.0)]);
        }
        let model = lp.build().map_err(|e| ProgramError::Model(e.to_string()))?;
        Ok(PlaceProgram {
            columns,
            unit,
            model,
        })
    }

    /// Builds the program of the lives of an order, with the names of tensors if they have names.
    ///
    /// # Errors
    /// As [`PlaceProgram::new`], and [`ProgramError::Lives`] for sizes beyond all addresses.
    pub fn of_order(
        graph: &OrderGraph,
        replay: &OrderReplay,
    ) -> Result<PlaceProgram, ProgramError> {
        let lives = replay.buffers()?;
        let mut names = ModelNames::default();
        let named = lives
            .buffers()
            .iter()
            .zip(&replay.lives)
            .map(|(buffer, life)| {
                let wanted = match life.of {
                    LifeOf::Storage(t) => graph.tensors()[t.index()].name.clone(),
                    LifeOf::Workspace(v) => match graph.operators()[v.index()].name.as_str() {
                        "" => String::new(),
                        name => format!("{name}_workspace"),
                    }
                    .into(),
                };
                Buffer {
                    id: names.fresh(&wanted, &buffer.id).into(),
                    ..buffer.clone()
                }
            });
        PlaceProgram::new(&Lives::new(named.collect())?)
    }

    /// The program.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The point of a placement; `None` if an offset is no multiple of the unit.
    pub fn point(&self, placement: &Placement) -> Option<Vec<f64>> {
        let units = |offset: &u64| offset.is_multiple_of(self.unit).then(|| offset / self.unit);
        let offsets: Option<Vec<u64>> = placement.offsets().iter().map(units).collect();
        let mut x = vec![0.0; self.model.num_cols()];
        let offsets = offsets.filter(|o| o.len() == self.columns.items.len())?;
        self.columns.point(&offsets, &mut x)?;
        Some(x)
    }

    /// The placement of a point.
    pub fn placement(&self, point: &[f64]) -> Placement {
        let offsets = self.columns.offsets(point);
        Placement::new(offsets.into_iter().map(|o| o * self.unit).collect())
    }
}

/// Buffers that are live together, each pair once.
fn pairs(buffers: &[Buffer]) -> Result<Vec<(u32, u32)>, ProgramError> {
    let pieces: Vec<_> = buffers.iter().map(Buffer::pieces).collect();
    let mut pairs = Vec::new();
    for i in 0..buffers.len() {
        for j in i + 1..buffers.len() {
            let meet = pieces[i].iter().any(|a| {
                let meets =
                    |b: &remat_instances::place::Piece| a.lower < b.upper && b.lower < a.upper;
                pieces[j].iter().any(meets)
            });
            if meet {
                pairs.push((i as u32, j as u32));
            }
        }
        if 2 * pairs.len() > COLUMN_LIMIT {
            let columns = 2 * pairs.len();
            return Err(ProgramError::TooLarge { columns });
        }
    }
    Ok(pairs)
}
