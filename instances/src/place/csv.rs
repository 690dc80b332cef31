//! Records of a table of comma-separated values, with the place of each field (RFC 4180).

use super::read::{ReadLivesError, TableFault};

/// A field with its place.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// Text, without quotes and surrounding spaces.
    pub text: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Field {
    /// An error at this field of a file.
    pub fn error(&self, file: &str, fault: TableFault) -> ReadLivesError {
        ReadLivesError::at(file, self.line, self.column, fault)
    }
}

/// Splits a text into records, without blank lines. Quoted fields may contain commas, line ends and
/// doubled quotes.
pub(super) fn records(file: &str, text: &str) -> Result<Vec<Vec<Field>>, ReadLivesError> {
    let mut records = Vec::new();
    let mut record = Vec::new();
    let mut characters = text.chars().peekable();
    let (mut line, mut column) = (1, 1);
    while characters.peek().is_some() {
        let mut field = Field {
            text: String::new(),
            line,
            column,
        };
        let mut quoted = false;
        let mut ends_record = true;
        while let Some(c) = characters.next() {
            column += 1;
            match c {
                ',' => {
                    ends_record = false;
                    break;
                }
                '\n' => {
                    (line, column) = (line + 1, 1);
                    break;
                }
                '"' if field.text.trim().is_empty() && !quoted => {
                    quoted = true;
                    field.text.clear();
                    loop {
                        let inner = characters.next();
                        column += 1;
                        match inner {
                            Some('"') if characters.peek() == Some(&'"') => {
                                characters.next();
                                column += 1;
                                field.text.push('"');
                            }
                            Some('"') => break,
                            Some('\n') => {
                                (line, column) = (line + 1, 1);
                                field.text.push('\n');
                            }
                            Some(inner) => field.text.push(inner),
                            None => {
                                let found = format!("\"{}", shortened(&field.text));
                                let remedy = "close the quotes".into();
                                let problem = "a quoted field has no end";
                                return Err(field.error(
                                    file,
                                    TableFault {
                                        problem: problem.into(),
                                        found,
                                        remedy,
                                    },
                                ));
                            }
                        }
                    }
                }
                c if quoted && !c.is_whitespace() => {
                    let fault = TableFault {
                        problem: "text stands after a quoted field".into(),
                        found: c.to_string(),
                        remedy: "put a comma or a line end there".into(),
                    };
                    return Err(ReadLivesError::at(file, line, column - 1, fault));
                }
                _ if quoted => {}
                c => field.text.push(c),
            }
        }
        if !quoted {
            field.text = field.text.trim().to_owned();
        }
        let is_blank = ends_record && record.is_empty() && !quoted && field.text.is_empty();
        if !is_blank {
            record.push(field);
        }
        if ends_record && !record.is_empty() {
            records.push(std::mem::take(&mut record));
        }
    }
    if !record.is_empty() {
        // The text ends with a comma.
        record.push(Field {
            text: String::new(),
            line,
            column,
        });
        records.push(record);
    }
    Ok(records)
}

/// The beginning of a text, for messages.
pub(super) fn shortened(text: &str) -> String {
    const CHARACTERS: usize = 40;
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into(),
    }
}

/// The text of a field as written, with quotes if needed.
pub(super) fn written(text: &str) -> String {
    let needs = |c: char| c == ',' || c == '"' || c.is_control();
    if text.contains(needs) || text.trim() != text || text.is_empty() {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}
