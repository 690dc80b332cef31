//! Lines and words of a proof.

use std::fmt::Display;
use std::str::{FromStr, SplitWhitespace};

/// The lines of a proof.
pub(super) struct ProofLines<'a> {
    lines: std::str::Lines<'a>,
    number: usize,
}

impl<'a> ProofLines<'a> {
    /// The lines of a text.
    pub(super) fn of(text: &'a str) -> Self {
        ProofLines {
            lines: text.lines(),
            number: 0,
        }
    }

    /// The next line.
    pub(super) fn next(&mut self) -> Result<ProofLine<'a>, String> {
        self.number += 1;
        let text = self
            .lines
            .next()
            .ok_or_else(|| format!("line {}: the proof ends too early", self.number))?;
        Ok(ProofLine {
            words: text.split_whitespace(),
            number: self.number,
        })
    }

    /// The next line, if it begins with a word.
    pub(super) fn next_if(&mut self, word: &str) -> Option<ProofLine<'a>> {
        let text = self.lines.clone().next()?;
        let is_meant = text.split_whitespace().next() == Some(word);
        is_meant.then(|| self.next().ok()).flatten()
    }

    /// The line that was read last, without its words.
    pub(super) fn here(&self) -> ProofLine<'a> {
        ProofLine {
            words: "".split_whitespace(),
            number: self.number,
        }
    }

    /// Reads a line of a word and a number.
    pub(super) fn headed<T: FromStr>(&mut self, word: &str, right: &str) -> Result<T, String> {
        let mut line = self.next()?;
        line.keyword(word)?;
        line.last_number(right)
    }

    /// Checks that only empty lines follow.
    pub(super) fn end(&mut self) -> Result<(), String> {
        for text in self.lines.by_ref() {
            self.number += 1;
            if let Some(word) = text.split_whitespace().next() {
                let number = self.number;
                return Err(format!(
                    "line {number}: `{word}`, where the proof should end"
                ));
            }
        }
        Ok(())
    }
}

/// The words of a line.
pub(crate) struct ProofLine<'a> {
    words: SplitWhitespace<'a>,
    number: usize,
}

impl<'a> ProofLine<'a> {
    /// Refuses a word.
    pub(super) fn refuse<T>(&self, found: impl Display, right: &str) -> Result<T, String> {
        Err(format!(
            "line {}: `{found}`, where {right} should be",
            self.number
        ))
    }

    /// The next word.
    pub(super) fn word(&mut self, right: &str) -> Result<&'a str, String> {
        match self.words.next() {
            Some(word) => Ok(word),
            None => self.refuse("the end of the line", right),
        }
    }

    /// Takes a word that must be there.
    pub(super) fn keyword(&mut self, right: &str) -> Result<(), String> {
        match self.word(right)? {
            word if word == right => Ok(()),
            other => self.refuse(other, right),
        }
    }

    /// The next word, a number.
    pub(super) fn number<T: FromStr>(&mut self, right: &str) -> Result<T, String> {
        let word = self.word(right)?;
        word.parse().or_else(|_| self.refuse(word, right))
    }

    /// The last word, a number.
    pub(super) fn last_number<T: FromStr>(&mut self, right: &str) -> Result<T, String> {
        let number = self.number(right)?;
        self.end()?;
        Ok(number)
    }

    /// Reads a list: the number of items, and the items.
    pub(super) fn list<T>(
        &mut self,
        item: impl Fn(&mut Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let count: usize = self.number("how many there are")?;
        // The count is not yet verified, so the list does not get this capacity.
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(item(self)?);
        }
        Ok(list)
    }

    /// All words that are left.
    pub(super) fn rest(&mut self) -> String {
        self.words.by_ref().collect::<Vec<_>>().join(" ")
    }

    /// Checks that no word is left.
    pub(super) fn end(&mut self) -> Result<(), String> {
        match self.words.next() {
            None => Ok(()),
            Some(word) => self.refuse(word, "the end of the line"),
        }
    }
}
