//! Reading MiniMalloc's tables of buffers.

use super::csv::{Field, records, shortened};
use super::{Buffer, BufferFault, Gap, Lives, Placement};
use crate::document;
use crate::name::{escaped, visible};
use std::collections::HashMap;
use std::path::Path;

/// A fault of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableFault {
    pub problem: String,
    pub found: String,
    pub remedy: String,
}

/// Error of a table of lives or of a placement: file, line and column, the found value, and the
/// remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadLivesError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] document::ReadError),
    /// The table is not valid.
    #[error("{file}:{line}:{column}: {problem}, found {found}; {remedy}")]
    Table {
        /// Name of the file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// The problem.
        problem: String,
        /// Value found.
        found: String,
        /// Description of a correct value.
        remedy: String,
    },
}

impl ReadLivesError {
    pub(super) fn at(file: &str, line: usize, column: usize, fault: TableFault) -> Self {
        let TableFault {
            problem,
            found,
            remedy,
        } = fault;
        ReadLivesError::Table {
            file: escaped(file),
            line,
            column,
            problem: visible(&problem).into_owned(),
            found,
            remedy,
        }
    }
}

/// Meaning of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Id,
    Lower,
    Upper,
    /// The last moment of a life, instead of the first after it.
    End,
    Size,
    Alignment,
    Gaps,
    Offset,
}

const COLUMNS: &str = "the columns are id, lower, upper, size and, if need be, alignment, gaps, \
                       offset";

impl Column {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "id" | "buffer" | "buffer_id" => Column::Id,
            "lower" | "start" | "begin" => Column::Lower,
            "upper" => Column::Upper,
            "end" => Column::End,
            "size" => Column::Size,
            "alignment" => Column::Alignment,
            "gaps" => Column::Gaps,
            "offset" => Column::Offset,
            _ => return None,
        })
    }

    /// Returns whether two columns have the same meaning.
    fn is_like(self, other: Column) -> bool {
        let ends = |column| matches!(column, Column::Upper | Column::End);
        self == other || ends(self) && ends(other)
    }
}

/// Reads a table of buffers from a file, plain or gzipped. A number before `.csv` in its name is
/// the capacity.
///
/// # Errors
/// [`ReadLivesError`] names file, line and column, the found value, and the remedy.
pub fn read_lives(path: impl AsRef<Path>) -> Result<Lives, ReadLivesError> {
    let path = path.as_ref();
    read_lives_bytes(&path.display().to_string(), &document::load(path)?)
}

/// Reads a table of buffers from bytes; errors name it `name`, which may contain the capacity.
///
/// | column | meaning |
/// |---|---|
/// | `id` (`buffer`, `buffer_id`) | name, in quotes where it has commas |
/// | `lower` (`start`, `begin`) | first moment of the life; moments may be negative |
/// | `upper` | first moment after it; `end` in its place is the last moment of it |
/// | `size` | bytes |
/// | `alignment` | divisor of the offset; empty or 0 for 1 |
/// | `gaps` | periods without bytes in use, `a-b`, or with only a window of them, `a-b:w0-w1` |
/// | `offset` | offset that the buffer must have; empty for any |
///
/// Gaps are separated by spaces. A window is the bytes from `w0` to `w1`; MiniMalloc's form
/// `a-b@w0:w1` is also accepted.
///
/// # Errors
/// The errors of [`read_lives`].
///
/// ```
/// use remat_instances::place::read_lives_bytes;
/// let error = read_lives_bytes("x.csv", b"id,lower,upper,size\na,0,3,4 KB\n").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "x.csv:2:7: size is no number, found \"4 KB\"; give an integer from 0 to 9007199254740992"
/// );
/// ```
pub fn read_lives_bytes(name: &str, bytes: &[u8]) -> Result<Lives, ReadLivesError> {
    let table = Table::read(name, bytes)?;
    let origin = table.origin()?;
    let mut buffers = Vec::with_capacity(table.records.len());
    for record in &table.records {
        buffers.push(table.buffer(record, origin)?);
    }
    let lives = Lives::counted_from(origin, buffers);
    let lives = lives.map_err(|e| table.fault(e.index, e.fault))?;
    Ok(lives.with_capacity(capacity_in_name(name)))
}

/// Reads the offsets of a placement from a table with at least the columns `id` and `offset`. Each
/// buffer of the lives has one record, in any order.
///
/// # Errors
/// The errors of [`read_lives`]. The placement is not replayed.
pub fn read_placement(
    name: &str,
    bytes: &[u8],
    lives: &Lives,
) -> Result<Placement, ReadLivesError> {
    let table = Table::read(name, bytes)?;
    let offset_column = table.column(Column::Offset, "offset")?;
    let id_column = table.column(Column::Id, "id")?;
    let positions: HashMap<_, _> = lives
        .buffers()
        .iter()
        .enumerate()
        .map(|(k, b)| (b.id.as_str(), k))
        .collect();
    let mut offsets = vec![None; lives.buffers().len()];
    for record in &table.records {
        let (id, offset) = (&record[id_column], &record[offset_column]);
        let Some(&position) = positions.get(id.text.as_str()) else {
            let remedy = "name a buffer of the lives".to_owned();
            return Err(table.error(id, "there is no buffer of this name", remedy));
        };
        if offsets[position]
            .replace(table.number(offset, "offset")?)
            .is_some()
        {
            let remedy = "give each buffer one offset".to_owned();
            return Err(table.error(id, "the buffer stands twice", remedy));
        }
    }
    if let Some(missing) = offsets.iter().position(Option::is_none) {
        let id = &lives.buffers()[missing].id;
        let remedy = format!("add a record for {id:?}");
        let header = &table.header[0];
        let problem = "a buffer of the lives has no record";
        return Err(table.error(header, problem, remedy));
    }
    Ok(Placement::new(offsets.into_iter().flatten().collect()))
}

/// The capacity in a file's name: the number before `.csv` (or `.csv.gz`), after a dot.
///
/// ```
/// use remat_instances::place::capacity_in_name;
/// assert_eq!(capacity_in_name("A.1048576.csv"), Some(1_048_576));
/// assert_eq!(capacity_in_name("lives.csv"), None);
/// ```
pub fn capacity_in_name(name: &str) -> Option<u64> {
    let name = name.rsplit(['/', '\\']).next()?;
    let name = name
        .strip_suffix(".gz")
        .unwrap_or(name)
        .strip_suffix(".csv")?;
    name.rsplit_once('.')?.1.parse().ok()
}

/// A table with its columns.
struct Table<'n> {
    file: &'n str,
    header: Vec<Field>,
    columns: Vec<Column>,
    records: Vec<Vec<Field>>,
}

impl<'n> Table<'n> {
    fn read(file: &'n str, bytes: &[u8]) -> Result<Self, ReadLivesError> {
        let plain = document::plain(file, bytes)?;
        let text = std::str::from_utf8(&plain).map_err(|e| {
            let before = &plain[..e.valid_up_to()];
            let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
            let fault = TableFault {
                problem: "the text is not UTF-8".into(),
                found: format!(
                    "byte {:#04x} at offset {}",
                    plain[e.valid_up_to()],
                    e.valid_up_to()
                ),
                remedy: "write the file again as UTF-8".into(),
            };
            let start = before
                .iter()
                .rposition(|&byte| byte == b'\n')
                .map_or(0, |p| p + 1);
            let column = 1 + String::from_utf8_lossy(&before[start..]).chars().count();
            ReadLivesError::at(file, line, column, fault)
        })?;
        let mut records = records(file, text.strip_prefix('\u{feff}').unwrap_or(text))?;
        if records.is_empty() {
            let fault = TableFault {
                problem: "the table has no header".into(),
                found: "no text".into(),
                remedy: COLUMNS.into(),
            };
            return Err(ReadLivesError::at(file, 1, 1, fault));
        }
        let header = records.remove(0);
        let mut table = Table {
            file,
            header,
            columns: Vec::new(),
            records,
        };
        table.columns = table.columns()?;
        for record in &table.records {
            let (found, columns) = (record.len(), table.columns.len());
            if found != columns {
                let place = &record[found.min(columns + 1) - 1];
                let problem = format!("the record has {found} fields, the header {columns}");
                let remedy = "give one field for each column".into();
                return Err(table.error(place, &problem, remedy));
            }
        }
        Ok(table)
    }

    fn columns(&self) -> Result<Vec<Column>, ReadLivesError> {
        let mut columns: Vec<Column> = Vec::new();
        for field in &self.header {
            let Some(column) = Column::named(&field.text) else {
                return Err(self.error(field, "the column is unknown", COLUMNS.into()));
            };
            if columns.iter().any(|&other| other.is_like(column)) {
                let remedy = "give each column once".into();
                return Err(self.error(field, "the column stands twice", remedy));
            }
            columns.push(column);
        }
        Ok(columns)
    }

    /// The position of a required column.
    fn column(&self, column: Column, name: &str) -> Result<usize, ReadLivesError> {
        self.columns
            .iter()
            .position(|&other| other == column)
            .ok_or_else(|| {
                let found: Vec<_> = self
                    .header
                    .iter()
                    .map(|field| field.text.as_str())
                    .collect();
                let fault = TableFault {
                    problem: format!("the column {name} is missing"),
                    found: format!("{:?}", shortened(&found.join(","))),
                    remedy: COLUMNS.into(),
                };
                self.header[0].error(self.file, fault)
            })
    }

    /// The field of an optional column, if it is not empty.
    fn optional<'r>(&self, record: &'r [Field], column: Column) -> Option<&'r Field> {
        let position = self.columns.iter().position(|&other| other == column)?;
        Some(&record[position]).filter(|field| !field.text.is_empty())
    }

    /// The first time of all lives, or 0 if no life begins before 0.
    fn origin(&self) -> Result<i64, ReadLivesError> {
        let mut origin = 0;
        for record in &self.records {
            for name in ["lower", "upper", "end"] {
                let column = Column::named(name).filter(|column| self.columns.contains(column));
                if let Some(column) = column {
                    let field = &record[self.column(column, name)?];
                    origin = origin.min(self.time(field, name)?);
                }
            }
        }
        Ok(origin)
    }

    /// A buffer with moments counted from `origin`, which is at most its first time.
    fn buffer(&self, record: &[Field], origin: i64) -> Result<Buffer, ReadLivesError> {
        let required = |column, name| Ok::<_, ReadLivesError>(&record[self.column(column, name)?]);
        let moment = |time: i64| time.abs_diff(origin);
        let id = required(Column::Id, "id")?;
        let lower = moment(self.time(required(Column::Lower, "lower")?, "lower")?);
        let is_closed = self.columns.contains(&Column::End);
        let upper = match is_closed {
            true => moment(self.time(required(Column::End, "end")?, "end")?) + 1,
            false => moment(self.time(required(Column::Upper, "upper")?, "upper")?),
        };
        let size = self.number(required(Column::Size, "size")?, "size")?;
        let mut buffer = Buffer::new(id.text.clone(), lower, upper, size);
        if let Some(field) = self.optional(record, Column::Alignment) {
            buffer.alignment = self.number(field, "alignment")?;
        }
        if let Some(field) = self.optional(record, Column::Offset) {
            buffer.offset = Some(self.number(field, "offset")?);
        }
        if let Some(field) = self.optional(record, Column::Gaps) {
            for word in field.text.split_whitespace() {
                let gap = gap(word, is_closed, origin).ok_or_else(|| {
                    let remedy = "write a-b, or a-b:w0-w1 with the bytes that stay in use";
                    self.error(field, &format!("{word:?} is no gap"), remedy.into())
                })?;
                buffer.gaps.push(gap);
            }
        }
        Ok(buffer)
    }

    fn time(&self, field: &Field, name: &str) -> Result<i64, ReadLivesError> {
        time(&field.text).ok_or_else(|| {
            let remedy = format!("give an integer from {} to {LATEST}", -LATEST);
            self.error(field, &format!("{name} is no number"), remedy)
        })
    }

    fn number(&self, field: &Field, name: &str) -> Result<u64, ReadLivesError> {
        const LARGEST: u64 = 1 << 53;
        let number = field.text.parse().ok().filter(|&number| number <= LARGEST);
        number.ok_or_else(|| {
            let remedy = format!("give an integer from 0 to {LARGEST}");
            self.error(field, &format!("{name} is no number"), remedy)
        })
    }

    /// An error at the field of a buffer's fault.
    fn fault(&self, index: usize, fault: BufferFault) -> ReadLivesError {
        let column = match fault.field {
            "upper" if self.columns.contains(&Column::End) => Column::End,
            name => Column::named(name).unwrap_or(Column::Id),
        };
        let position = self.columns.iter().position(|&other| other == column);
        let field = &self.records[index][position.unwrap_or(0)];
        let problem = format!("{} is {}", fault.field, fault.found);
        self.error(field, &problem, fault.remedy)
    }

    fn error(&self, field: &Field, problem: &str, remedy: String) -> ReadLivesError {
        let found = format!("{:?}", shortened(&field.text));
        field.error(
            self.file,
            TableFault {
                problem: problem.into(),
                found,
                remedy,
            },
        )
    }
}

/// Reads a gap, with moments counted from `origin`. If the table's lives are closed, its end is its
/// last moment.
fn gap(word: &str, is_closed: bool, origin: i64) -> Option<Gap> {
    let pair = |text: &str, between| {
        let (first, second) = text.split_once(between)?;
        Some((number(first)?, number(second)?))
    };
    let moment = |text: &str| u64::try_from(i128::from(time(text)?) - i128::from(origin)).ok();
    let (life, window) = match word.split_once('@') {
        Some((life, window)) => (life, Some(pair(window, ':')?)),
        None => match word.split_once(':') {
            Some((life, window)) => (life, Some(pair(window, '-')?)),
            None => (word, None),
        },
    };
    // A sign at the beginning is not the hyphen between the moments.
    let (hyphen, _) = life.char_indices().skip(1).find(|(_, c)| *c == '-')?;
    let (lower, upper) = (moment(&life[..hyphen])?, moment(&life[hyphen + 1..])?);
    let upper = upper + u64::from(is_closed);
    Some(Gap {
        lower,
        upper,
        window,
    })
}

/// Latest time; the earliest is its negative, so that every moment plus one fits in 64 bits.
const LATEST: i64 = i64::MAX;

fn time(text: &str) -> Option<i64> {
    text.parse().ok().filter(|time| *time >= -LATEST)
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|&number| number <= 1 << 53)
}
