//! Words of an LP file.

/// A word's meaning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WordKind {
    Number(f64),
    Name,
    Plus,
    Minus,
    Times,
    Colon,
    LessEqual,
    GreaterEqual,
    Equal,
    /// A word of an unsupported feature, or of no feature.
    Other,
    End,
}

/// A word, its place and its meaning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub kind: WordKind,
    pub text: &'a str,
    /// From 1.
    pub line: usize,
    /// True if it is the first word of its line.
    pub first: bool,
}

/// Characters of a name beside letters and digits. `[` and `]` are not in the standard but common
/// (`x[1]`); a bracket on its own starts a quadratic expression.
const NAME_EXTRA: &str = "!\"#$%&(),.;?@_'`{}~/|[]";

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || NAME_EXTRA.contains(c) || !c.is_ascii()
}

/// Returns whether a word can start a name.
pub(super) fn starts_name(c: char) -> bool {
    is_name_char(c) && !c.is_ascii_digit() && !matches!(c, '.' | '[' | ']')
}

/// Returns whether a whole string can be written as a name and read back as the same name.
pub(super) fn is_safe_name(name: &str) -> bool {
    let mut chars = name.chars();
    let Some(first) = chars.next() else {
        return false;
    };
    // `3e5` is a number, so a coefficient before a name that looks like an exponent would swallow
    // the name.
    let exponent =
        matches!(first, 'e' | 'E') && name[1..].starts_with(|c: char| c.is_ascii_digit());
    starts_name(first)
        && !exponent
        && chars.all(|c| is_name_char(c) && c.is_ascii())
        && first.is_ascii()
        && name.len() <= 255
        && !is_reserved(name)
}

/// Returns whether a word has a meaning of its own in the format.
fn is_reserved(name: &str) -> bool {
    const RESERVED: [&str; 37] = [
        "min",
        "minimise",
        "minimize",
        "minimum",
        "max",
        "maximise",
        "maximize",
        "maximum",
        "subject",
        "such",
        "st",
        "s.t.",
        "st.",
        "bound",
        "bounds",
        "gen",
        "general",
        "generals",
        "int",
        "integer",
        "integers",
        "bin",
        "binary",
        "binaries",
        "semi",
        "semis",
        "semi-continuous",
        "sos",
        "sos1",
        "sos2",
        "pwlobj",
        "free",
        "inf",
        "infinity",
        "end",
        "lazy",
        "user",
    ];
    RESERVED.contains(&name.to_ascii_lowercase().as_str())
}

/// The length of the number at the start of `s`, if there is one.
fn number_len(s: &str) -> Option<usize> {
    let b = s.as_bytes();
    let digits = |mut k: usize| {
        while k < b.len() && b[k].is_ascii_digit() {
            k += 1;
        }
        k
    };
    let mut end = digits(0);
    let mut any = end > 0;
    if b.get(end) == Some(&b'.') {
        let after = digits(end + 1);
        any |= after > end + 1;
        end = after;
    }
    if !any {
        return None;
    }
    if matches!(b.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(b.get(end + 1), Some(b'+' | b'-')));
        let after = digits(end + 1 + sign);
        if after > end + 1 + sign {
            end = after;
        }
    }
    Some(end)
}

/// All words of a text; the last one is [`WordKind::End`].
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let mut last_line = 0;
    for (k, line) in text.lines().enumerate() {
        last_line = k + 1;
        let mut rest = line.split('\\').next().unwrap_or_default().trim_start();
        let mut first = true;
        while let Some(c) = rest.chars().next() {
            let (kind, len) = one(rest, c);
            out.push(Token {
                kind,
                text: &rest[..len],
                line: k + 1,
                first,
            });
            first = false;
            rest = rest[len..].trim_start();
        }
    }
    out.push(Token {
        kind: WordKind::End,
        text: "end of file",
        line: last_line.max(1),
        first: true,
    });
    out
}

fn one(rest: &str, c: char) -> (WordKind, usize) {
    if let Some(len) = number_len(rest) {
        // The scanned characters are also a number for the standard library.
        return (
            WordKind::Number(rest[..len].parse().unwrap_or(f64::NAN)),
            len,
        );
    }
    if starts_name(c) {
        let mut len = rest.find(|c| !is_name_char(c)).unwrap_or(rest.len());
        // `semi-continuous`, the only section name with a hyphen, would otherwise be split.
        if rest
            .get(..15)
            .is_some_and(|s| s.eq_ignore_ascii_case("semi-continuous"))
        {
            len = 15;
        }
        let kind = match rest[..len].to_ascii_lowercase().as_str() {
            "inf" | "infinity" => WordKind::Number(f64::INFINITY),
            _ => WordKind::Name,
        };
        return (kind, len);
    }
    let double = |second: char| rest[c.len_utf8()..].starts_with(second);
    match c {
        '+' => (WordKind::Plus, 1),
        '-' if double('>') => (WordKind::Other, 2),
        '-' => (WordKind::Minus, 1),
        '*' => (WordKind::Times, 1),
        ':' if double(':') => (WordKind::Other, 2),
        ':' => (WordKind::Colon, 1),
        '<' => (WordKind::LessEqual, if double('=') { 2 } else { 1 }),
        '>' => (WordKind::GreaterEqual, if double('=') { 2 } else { 1 }),
        '=' if double('<') => (WordKind::LessEqual, 2),
        '=' if double('>') => (WordKind::GreaterEqual, 2),
        '=' => (WordKind::Equal, 1),
        _ => (WordKind::Other, c.len_utf8()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_stick_to_names() {
        let t = tokens("3x1 -2.5e-3 y =< 1e1 \\ comment < 3\nEnd");
        let kinds: Vec<WordKind> = t.iter().map(|t| t.kind).collect();
        use WordKind::*;
        assert_eq!(
            kinds,
            [
                Number(3.0),
                Name,
                Minus,
                Number(2.5e-3),
                Name,
                LessEqual,
                Number(10.0),
                Name,
                End
            ]
        );
        assert_eq!((t[7].line, t[7].first, t[1].first), (2, true, false));
    }

    #[test]
    fn names_that_would_not_survive_are_told() {
        for bad in [
            "", "3x", ".x", "e5", "E1x", "st", "Free", "a b", "a+b", "x^2", "inf", "[x]", "é",
        ] {
            assert!(!is_safe_name(bad), "{bad}");
        }
        for good in ["x", "x[1]", "e", "energy", "_a.b", "x(1,2)", "R_{ij}"] {
            assert!(is_safe_name(good), "{good}");
        }
    }
}
