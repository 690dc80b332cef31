//! Tables of the paper, from its text: rows of cells between tabs, under a heading row that names
//! the networks.

use super::Failure;
use std::path::Path;

/// The tables that are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// Networks of [`Tables::memory_gb`].
    networks: Vec<String>,
    /// Table 1, memory in GB at 10% overhead: PyTorch, Checkmate, MONeT, in the order of the
    /// networks.
    memory_gb: Vec<Vec<f64>>,
    /// Networks of [`Tables::encodings`].
    encoded: Vec<String>,
    /// Table 3: for Gist and MONeT, memory ratio and overhead in percent, network by network.
    encodings: Vec<Vec<f64>>,
}

impl Tables {
    /// Reads the text.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn open(path: &Path) -> Result<Tables, Failure> {
        let text = std::fs::read_to_string(path);
        Ok(Tables::parse(
            &text.map_err(|e| format!("{}: {e}", path.display()))?,
        ))
    }

    /// Reads the tables that the text has.
    pub fn parse(text: &str) -> Tables {
        let rows: Vec<Vec<String>> = text.lines().map(cells).collect();
        let mut tables = Tables::default();
        let row = |at: usize, name: &str| -> Option<Vec<f64>> {
            let cells = rows.get(at).filter(|r| r[0].starts_with(name))?;
            Some(cells[1..].iter().filter_map(|c| c.parse().ok()).collect())
        };
        for at in 1..rows.len() {
            let three = [
                row(at, "PyTorch"),
                row(at + 1, "Checkmate"),
                row(at + 2, "MONeT"),
            ];
            if let [Some(a), Some(b), Some(c)] = three
                && a.len() > 1
                && a.len() == b.len()
                && b.len() == c.len()
            {
                tables.networks = named(&rows[at - 1]);
                tables.memory_gb = vec![a, b, c];
            }
            let two = [row(at, "Gist"), row(at + 1, "MONeT")];
            if let ([Some(a), Some(b)], true) = (two, at > 1)
                && a.len() > 2
                && a.len() == b.len()
            {
                // A name over two columns may be split in two.
                let names = named(&rows[at - 2]);
                let each = names.len() / (a.len() / 2);
                tables.encoded = names.chunks(each.max(1)).map(|n| n.concat()).collect();
                tables.encodings = vec![a, b];
            }
        }
        tables
    }

    /// Memory in GB of PyTorch, Checkmate and MONeT at 10% overhead.
    pub fn memory_gb(&self, network: &str) -> Option<[f64; 3]> {
        let k = place(&self.networks, network)?;
        let cell = |row: usize| self.memory_gb.get(row)?.get(k).copied();
        Some([cell(0)?, cell(1)?, cell(2)?])
    }

    /// Memory ratio and overhead in percent of Gist and of MONeT.
    pub fn encodings(&self, network: &str) -> Option<[(f64, f64); 2]> {
        let k = place(&self.encoded, network)?;
        let pair = |row: usize| {
            let row = self.encodings.get(row)?;
            Some((*row.get(2 * k)?, *row.get(2 * k + 1)?))
        };
        Some([pair(0)?, pair(1)?])
    }
}

/// The cells of a line, without marks for bold.
fn cells(line: &str) -> Vec<String> {
    let plain = line.replace("<b>", "").replace("</b>", "");
    plain.split('\t').map(|c| c.trim().to_owned()).collect()
}

/// The networks that a heading names.
fn named(row: &[String]) -> Vec<String> {
    row.iter().filter(|c| !c.is_empty()).cloned().collect()
}

/// The position of a network: names are compared without case and marks, and a batch size may
/// follow.
fn place(names: &[String], network: &str) -> Option<usize> {
    let letters = |text: &str| -> String {
        let kept = text.chars().filter(|c| c.is_ascii_alphanumeric());
        kept.collect::<String>().to_lowercase()
    };
    let wanted = letters(network);
    let same = |name: &String| letters(name).starts_with(&wanted);
    names.iter().position(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_by_their_rows() {
        let text = "words\n\
            \tNet-A\tNet-B\n\
            PyTorch\t15.1\t14\n\
            Checkmate (someone)\t8.2\t10.5\n\
            MONeT\t<b>5.7</b>\t6.9\n\
            \n\
            \tNet\t-A (176)\tNet\tB (2)\n\
            \tmem\toverhead\tmem\toverhead\n\
            Gist\t0.76\t44.34\t0.58\t105.69\n\
            MONeT\t0.39\t9.11\t0.33\t11.94\n";
        let tables = Tables::parse(text);
        assert_eq!(tables.memory_gb("neta"), Some([15.1, 8.2, 5.7]));
        assert_eq!(tables.memory_gb("netc"), None);
        let second = Some([(0.58, 105.69), (0.33, 11.94)]);
        assert_eq!(tables.encodings("netb"), second);
        assert_eq!(Tables::parse("nothing"), Tables::default());
    }
}
