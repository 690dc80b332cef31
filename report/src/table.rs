//! Tables as text.

/// A table: columns as wide as their widest entry; columns marked `true` are aligned to the right.
pub struct Table {
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with a header; each column has its title, and `true` to align it to the right.
    pub fn new(columns: &[(&str, bool)]) -> Self {
        Table {
            right: columns.iter().map(|c| c.1).collect(),
            rows: vec![columns.iter().map(|c| c.0.to_owned()).collect()],
        }
    }

    /// Adds a row; missing entries at its end stay empty.
    pub fn row(&mut self, entries: Vec<String>) {
        self.rows.push(entries);
    }

    /// The table as lines, each with `indent` in front and a line break at its end.
    pub fn render(&self, indent: &str) -> String {
        let width = |c: usize| {
            let entries = self.rows.iter().filter_map(|row| row.get(c));
            entries.map(|e| e.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.right.len()).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::from(indent);
            for (c, entry) in row.iter().enumerate() {
                let padding = " ".repeat(widths[c] - entry.chars().count());
                if c > 0 {
                    line.push_str("  ");
                }
                if self.right[c] {
                    line.push_str(&padding);
                    line.push_str(entry);
                } else {
                    line.push_str(entry);
                    line.push_str(&padding);
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_align_their_columns() {
        let mut table = Table::new(&[("name", false), ("cost", true)]);
        table.row(vec!["a".into(), "1".into()]);
        table.row(vec!["longer".into(), "12345".into()]);
        assert_eq!(
            table.render("  "),
            "  name     cost\n  a           1\n  longer  12345\n"
        );
    }
}
