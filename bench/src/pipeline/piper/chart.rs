//! Step times above the best plan, as bars.

use super::HEADER;
use crate::bars::{self, BarGroup};
use crate::csv;
use remat_bb::failure::Failure;
use std::collections::BTreeMap;

/// Micro-batches for each device that are drawn.
const SHOWN: u64 = 4;
/// The bars of a group.
const NAMES: [&str; 3] = [
    "Piper, whole stages",
    "remat-bb, whole stages",
    "Piper, any layers",
];

/// Step times of one problem, as in [`NAMES`], and the best one.
#[derive(Default)]
struct Times {
    shown: [Option<f64>; 3],
    best: Option<f64>,
}

/// The picture of a table under [`HEADER`] as SVG text; errors call the table `file`. Problems with
/// equal times are left out.
///
/// # Errors
/// [`Failure::Usage`] with line and column, and a message of the drawing library.
pub fn draw(file: &str, table: &str) -> Result<String, Failure> {
    let columns: Vec<&str> = HEADER.split(',').collect();
    let mut problems: BTreeMap<(String, u64, u64), Times> = BTreeMap::new();
    for line in csv::lines(file, table, &columns)? {
        let (devices, microbatches): (u64, u64) =
            (line.value("devices")?, line.value("microbatches")?);
        if microbatches != SHOWN * devices {
            continue;
        }
        let bytes = line.value("budget_bytes")?;
        let key = (line.text("instance").to_owned(), devices, bytes);
        let times = problems.entry(key).or_default();
        let (ours, piper) = (line.value("objective")?, line.value("piper_objective")?);
        match line.text("recomputation") {
            "whole" => (times.shown[0], times.shown[1]) = (Some(piper), Some(ours)),
            "layers" => (times.shown[2], times.best) = (Some(piper), Some(ours)),
            _ => return Err(line.wrong("recomputation", "it should be whole or layers")),
        }
    }
    let groups = problems.into_iter().filter_map(|(key, times)| {
        let (instance, devices, bytes) = key;
        let best = times.best?;
        let above = |time: f64| 100.0 * (time - best) / best;
        let values = times.shown.map(|time| time.map(above));
        let is_shown = values.iter().flatten().any(|&above| above >= 0.05);
        let gib = bytes as f64 / f64::from(1 << 30);
        is_shown.then(|| BarGroup {
            name: format!("{instance}, {devices} devices, {gib:.1} GiB"),
            values: values.to_vec(),
        })
    });
    let words = (
        "Pipelines of Piper's networks",
        "Step time above the best plan that recomputes any layers, percent; \
         4 micro-batches for each device",
    );
    Ok(bars::draw(words, &NAMES, &groups.collect::<Vec<_>>())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_times_above_the_best_one() {
        let line = |rule: &str, microbatches: u64, ours: f64, piper: f64| {
            format!("net,{rule},2,{microbatches},1073741824,2,0,{ours},1,0,0,2,{piper},0,1,1\n")
        };
        let table = [
            format!("{HEADER}\n"),
            line("whole", 8, 103.0, 106.0),
            line("layers", 8, 100.0, 101.5),
            line("layers", 9, 100.0, 199.0),
        ];
        let svg = draw("a.csv", &table.concat()).unwrap();
        let lines: Vec<&str> = svg.lines().map(str::trim).collect();
        for text in ["6.0", "3.0", "1.5", "net, 2 devices, 1.0 GiB"] {
            assert!(lines.contains(&text), "{text}: {svg}");
        }
        assert!(!lines.contains(&"99.0"));
        let wrong = table.concat().replace("whole", "half");
        let said = draw("a.csv", &wrong).unwrap_err().to_string();
        assert_eq!(said, "a.csv, line 2, column recomputation: \"half\"");
    }
}
