//! Numbers in files: their largest value, and their end in a text.

/// Largest cost or size of a single node: the integers up to here are exact in JSON and in `f64`.
pub const LARGEST_VALUE: u64 = (1 << 53) - 1;

/// Length in bytes of the number at the beginning of a text: digits, a point, underscores, an
/// exponent.
pub fn number_length(text: &str) -> usize {
    let plain = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    let end = text.find(|c| !plain(c)).unwrap_or(text.len());
    let exponent = text[end..].strip_prefix(['e', 'E']).unwrap_or_default();
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    if end == 0 || count == 0 {
        return end;
    }
    end + 1 + (exponent.len() - digits.len()) + count
}
