//! Reads the parts of a `.nl` file from text or bytes.

use super::NlError;
use crate::text_file::shown;

/// A word of an expression.
pub(super) enum Word {
    /// A constant.
    Number(f64),
    /// A column, or a defined variable numbered after the columns.
    Variable(usize),
    /// An operator by its code.
    Operator(i64),
    /// The call of a function, or text.
    Other(String),
}

/// A file and the reading position in it.
pub(super) struct Input<'a> {
    file: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: usize,
    /// True after the header of a binary file.
    binary: bool,
    big_endian: bool,
}

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8], file: &'a str) -> Self {
        Input {
            file,
            bytes,
            at: 0,
            line: 0,
            binary: false,
            big_endian: false,
        }
    }

    /// Reads the rest as binary.
    pub fn turn_binary(&mut self, big_endian: bool) {
        (self.binary, self.big_endian) = (true, big_endian);
    }

    pub fn wrong<T>(&self, message: impl Into<String>) -> Result<T, NlError> {
        let place = match self.binary {
            true => format!("byte {}", self.at),
            false => format!("line {}", self.line),
        };
        Err(NlError::Syntax {
            file: self.file.into(),
            place,
            message: message.into(),
        })
    }

    /// The next line without its comment; `None` at the end.
    pub fn line(&mut self) -> Option<String> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let end = rest.iter().position(|&b| b == b'\n');
        let line = &rest[..end.unwrap_or(rest.len())];
        self.at += end.map_or(rest.len(), |end| end + 1);
        self.line += 1;
        let text = line.split(|&b| b == b'#').next().unwrap_or_default();
        Some(String::from_utf8_lossy(text).trim().to_owned())
    }

    fn expected_line(&mut self) -> Result<String, NlError> {
        match self.line() {
            Some(line) => Ok(line),
            None => self.wrong("the file ends in the middle of a part"),
        }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], NlError> {
        let found = self.bytes.get(self.at..self.at + N);
        match found.and_then(|bytes| <[u8; N]>::try_from(bytes).ok()) {
            Some(mut bytes) => {
                self.at += N;
                if self.big_endian {
                    bytes.reverse();
                }
                Ok(bytes)
            }
            None => self.wrong("the file ends in the middle of a part"),
        }
    }

    fn int(&mut self) -> Result<i64, NlError> {
        Ok(i64::from(i32::from_le_bytes(self.take()?)))
    }

    fn float(&mut self) -> Result<f64, NlError> {
        Ok(f64::from_le_bytes(self.take()?))
    }

    fn parsed<T: std::str::FromStr>(&self, word: Option<&str>) -> Result<T, NlError> {
        let word = word.unwrap_or_default();
        match word.parse() {
            Ok(value) => Ok(value),
            Err(_) => self.wrong(format!("a number belongs where {word:?} stands")),
        }
    }

    /// Letter and numbers of the next part; `None` at the end. `counts` gives the count of numbers
    /// after each letter.
    pub fn part(
        &mut self,
        counts: impl Fn(char) -> Option<usize>,
    ) -> Result<Option<(char, Vec<i64>)>, NlError> {
        if self.binary {
            let Some(&letter) = self.bytes.get(self.at) else {
                return Ok(None);
            };
            let letter = char::from(letter);
            let Some(count) = counts(letter) else {
                return self.wrong(format!("{letter:?} begins no part"));
            };
            self.at += 1;
            let numbers = (0..count).map(|_| self.int());
            return Ok(Some((letter, numbers.collect::<Result<_, _>>()?)));
        }
        let line = loop {
            match self.line() {
                None => return Ok(None),
                Some(line) if line.is_empty() => {}
                Some(line) => break line,
            }
        };
        let mut rest = line.chars();
        let letter = rest.next().unwrap_or(' ');
        let Some(count) = counts(letter) else {
            return self.wrong(format!("{letter:?} begins no part"));
        };
        let mut words = rest.as_str().split_whitespace();
        let numbers = (0..count).map(|_| self.parsed(words.next()));
        Ok(Some((letter, numbers.collect::<Result<_, _>>()?)))
    }

    /// Name at the end of a part's first line.
    pub fn name(&mut self) -> Result<String, NlError> {
        if !self.binary {
            // The name is on the last line that was read.
            let end = self.bytes[..self.at].len();
            let line = self.bytes[..end]
                .strip_suffix(b"\n")
                .unwrap_or(&self.bytes[..end]);
            let start = line.iter().rposition(|&b| b == b'\n').map_or(0, |k| k + 1);
            let text = String::from_utf8_lossy(&line[start..]);
            let text = text.split('#').next().unwrap_or_default();
            return Ok(text
                .split_whitespace()
                .nth(2)
                .unwrap_or_default()
                .to_owned());
        }
        let len = self.int()?;
        let end = usize::try_from(len)
            .ok()
            .and_then(|len| self.at.checked_add(len));
        match end.and_then(|end| Some((end, self.bytes.get(self.at..end)?))) {
            Some((end, name)) => {
                self.at = end;
                Ok(String::from_utf8_lossy(name).into_owned())
            }
            None => self.wrong("the file ends within a name"),
        }
    }

    /// A whole number on a line of its own.
    pub fn whole(&mut self) -> Result<i64, NlError> {
        if self.binary {
            return self.int();
        }
        let line = self.expected_line()?;
        self.parsed(line.split_whitespace().next())
    }

    /// A position and a number.
    pub fn entry(&mut self) -> Result<(i64, f64), NlError> {
        if self.binary {
            return Ok((self.int()?, self.float()?));
        }
        let line = self.expected_line()?;
        let mut words = line.split_whitespace();
        Ok((self.parsed(words.next())?, self.parsed(words.next())?))
    }

    /// A position and a whole number, of a suffix.
    pub fn whole_entry(&mut self) -> Result<(i64, f64), NlError> {
        if self.binary {
            return Ok((self.int()?, self.int()? as f64));
        }
        self.entry()
    }

    /// Lower and upper side.
    pub fn sides(&mut self) -> Result<(f64, f64), NlError> {
        const INF: f64 = f64::INFINITY;
        let line;
        let mut words = [].iter().copied();
        let text: Vec<&str>;
        let code = if self.binary {
            char::from(self.take::<1>()?[0])
        } else {
            line = self.expected_line()?;
            text = line.split_whitespace().collect();
            words = text[..].iter().copied();
            words.next().and_then(|w| w.chars().next()).unwrap_or(' ')
        };
        let mut number = |input: &mut Self| match input.binary {
            true => input.float(),
            false => input.parsed(words.next()),
        };
        Ok(match code {
            '0' => (number(self)?, number(self)?),
            '1' => (-INF, number(self)?),
            '2' => (number(self)?, INF),
            '3' => (-INF, INF),
            '4' => {
                let side = number(self)?;
                (side, side)
            }
            '5' => {
                return Err(NlError::NotLinear {
                    file: self.file.into(),
                    what: "a constraint is a complementarity".into(),
                });
            }
            _ => return self.wrong(format!("{code:?} is no kind of bound: 0 to 4")),
        })
    }

    /// The next word of an expression.
    pub fn word(&mut self) -> Result<Word, NlError> {
        if self.binary {
            return Ok(match self.take::<1>()?[0] {
                b'n' => Word::Number(self.float()?),
                b's' => Word::Number(f64::from(i16::from_le_bytes(self.take()?))),
                b'l' => Word::Number(self.int()? as f64),
                b'v' => match usize::try_from(self.int()?) {
                    Ok(k) => Word::Variable(k),
                    Err(_) => return self.wrong("the number of a variable is negative"),
                },
                b'o' => Word::Operator(self.int()?),
                other => Word::Other(char::from(other).to_string()),
            });
        }
        let line = self.expected_line()?;
        let mut rest = line.chars();
        let letter = rest.next().unwrap_or(' ');
        let number = Some(rest.as_str().trim());
        Ok(match letter {
            'n' | 's' | 'l' => Word::Number(self.parsed(number)?),
            'v' => Word::Variable(self.parsed(number)?),
            'o' => Word::Operator(self.parsed(number)?),
            _ => Word::Other(line),
        })
    }

    /// The error of a part that is not linear.
    pub fn not_linear(&self, place: &str, word: &str) -> NlError {
        NlError::NotLinear {
            file: self.file.into(),
            what: format!("{place} has the nonlinear expression {}", shown(word)),
        }
    }
}
