//! CPLEX's solution files: XML, of which only the attributes of a few elements are used.

use super::SolutionFile;
use super::read::{Fault, number};
use std::collections::HashSet;

/// An element's name, its attributes and its line.
struct Tag<'a> {
    line: usize,
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
}

impl<'a> Tag<'a> {
    fn attribute(&self, name: &str) -> Option<&'a str> {
        let found = self.attributes.iter().find(|(n, _)| *n == name);
        found.map(|(_, value)| *value)
    }

    fn needed(&self, name: &str, message: &'static str) -> Result<&'a str, Fault<'a>> {
        self.attribute(name)
            .ok_or(Fault::new(self.line, self.name, message))
    }
}

/// Reads the first solution of a file.
pub(super) fn parse(text: &str) -> Result<SolutionFile, Fault<'_>> {
    let mut out = SolutionFile::default();
    let mut names = HashSet::new();
    let mut inside = false;
    let mut line = 1;
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        line += breaks(&rest[..at]);
        if rest[at..].starts_with("<!--") {
            let end = rest[at..].find("-->").map_or(rest.len(), |k| at + k);
            line += breaks(&rest[at..end]);
            rest = &rest[end..];
            continue;
        }
        let (tag, behind) = tag(&rest[at + 1..], line)?;
        line += breaks(&rest[at..rest.len() - behind.len()]);
        rest = behind;
        match tag.name {
            "CPLEXSolution" => inside = true,
            "/CPLEXSolution" => break,
            "header" if inside => {
                out.status = tag
                    .attribute("solutionStatusString")
                    .map_or(String::new(), plain);
                out.model = tag.attribute("problemName").map_or(String::new(), plain);
                out.objective = tag.attribute("objectiveValue").and_then(number);
            }
            "variable" if inside => {
                let name = tag.needed("name", "the attribute `name` is missing")?;
                let value = tag.needed("value", "the attribute `value` is missing")?;
                let number = number(value);
                let number =
                    number.ok_or(Fault::new(tag.line, value, "a finite number was expected"))?;
                if !names.insert(name) {
                    return Err(Fault::new(
                        tag.line,
                        name,
                        "this column has a value already",
                    ));
                }
                out.values.push((plain(name), number));
            }
            "?xml" | "CPLEXSolutions" => {}
            name if !inside => {
                let message = "of files in XML, the solutions of CPLEX are read (`CPLEXSolution`)";
                return Err(Fault::new(tag.line, name, message));
            }
            _ => {}
        }
    }
    Ok(out)
}

fn breaks(text: &str) -> usize {
    text.matches('\n').count()
}

/// Reads the element at the start of `text`, after its `<`. Returns it and the text after it.
fn tag(text: &str, line: usize) -> Result<(Tag<'_>, &str), Fault<'_>> {
    let end_of_name = text.find(|c: char| c.is_whitespace() || c == '>');
    let name = text[..end_of_name.unwrap_or(text.len())].trim_end_matches('/');
    let cut_off = Fault::new(line, name, "the file ends within this element");
    let mut tag = Tag {
        line,
        name,
        attributes: Vec::new(),
    };
    let mut rest = &text[name.len()..];
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '/' | '?'));
        if let Some(behind) = rest.strip_prefix('>') {
            return Ok((tag, behind));
        }
        let Some((attribute, behind)) = rest.split_once('=') else {
            return Err(cut_off);
        };
        let behind = behind.trim_start();
        let Some(quote) = behind.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return Err(Fault::new(line, name, "an attribute is `name=\"value\"`"));
        };
        let Some((value, behind)) = behind[1..].split_once(quote) else {
            return Err(cut_off);
        };
        tag.attributes.push((attribute.trim(), value));
        rest = behind;
    }
}

/// Text of an attribute with its entities replaced.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        out.push_str(before);
        let (entity, after) = behind.split_once(';').unwrap_or((behind, ""));
        match character(entity) {
            Some(c) => out.push(c),
            // An ampersand without a known entity is kept.
            None => out.push('&'),
        }
        rest = if character(entity).is_some() {
            after
        } else {
            behind
        };
    }
    out + rest
}

fn character(entity: &str) -> Option<char> {
    let code = |digits: &str, radix| {
        u32::from_str_radix(digits, radix)
            .ok()
            .and_then(char::from_u32)
    };
    match entity {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => match entity.strip_prefix("#x") {
            Some(digits) => code(digits, 16),
            None => code(entity.strip_prefix('#')?, 10),
        },
    }
}
