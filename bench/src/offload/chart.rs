//! Overhead over memory: a panel for each network and bandwidth.

use super::chains::HEADER;
use crate::{csv, curve};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use remat_bb::failure::Failure;
use remat_formulations::offload::chain::ChainMethod;
use remat_report::draw::style::{self, Area, DrawError, FAINT, Frame, GREY, INK, PALETTE, label};

/// Pixels of the picture's width, of a panel with its margins, and above the first one.
const WIDTH: i32 = 1100;
const PANEL: i32 = 220;
const TOP: i32 = 110;
/// Overheads above this many percent are cut off.
const OVERHEAD_LIMIT: f64 = 40.0;

/// The rows that are drawn.
const ROWS: [ChainMethod; 5] = [
    ChainMethod::Pofo,
    ChainMethod::Rotor,
    ChainMethod::OffloadOnly,
    ChainMethod::Opportunist,
    ChainMethod::Autocapper,
];
/// A row of the table.
struct ChartPoint {
    network: String,
    rate: f64,
    share: f64,
    /// POFO and its bound, continuous release.
    band: [Option<f64>; 2],
    /// Plans of the graph, replayed, in the order of [`ROWS`].
    nodes: Vec<Option<f64>>,
}

/// The rows of a table; errors call it `file`.
fn parse(file: &str, table: &str) -> Result<Vec<ChartPoint>, Failure> {
    let columns: Vec<&str> = HEADER.split(',').collect();
    let lines = csv::lines(file, table, &columns)?;
    let points = lines.iter().map(|line| {
        let of_row = |row: &ChainMethod| line.optional(&format!("nodes {} %", row.name()));
        Ok(ChartPoint {
            network: line.text("network").into(),
            rate: line.value("GB/s")?,
            share: line.value("alpha")?,
            band: [
                line.optional("continuous POFO %")?,
                line.optional("bound %")?,
            ],
            nodes: ROWS.iter().map(of_row).collect::<Result<_, Failure>>()?,
        })
    });
    points.collect()
}

/// The picture of a table under [`HEADER`] as SVG text; errors call the table `file`.
///
/// # Errors
/// [`Failure::Usage`] with line and column, and a message of the drawing library.
pub fn draw(file: &str, table: &str) -> Result<String, Failure> {
    Ok(picture(&parse(file, table)?)?)
}

/// Bandwidth and shares of memory that a page shows.
const SHOWN: (f64, [f64; 2]) = (12.0, [0.2, 0.5]);

/// Some rows of a table under [`HEADER`] as Markdown; errors call the table `file`.
///
/// # Errors
/// [`Failure::Usage`] with line and column.
pub fn markdown(file: &str, table: &str) -> Result<String, Failure> {
    let columns: Vec<&str> = HEADER.split(',').collect();
    let mut text = format!(
        "| {} GB/s | stages | share | rotor | POFO (bound) | row | nodes | autocapper, nodes |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n",
        SHOWN.0
    );
    for line in csv::lines(file, table, &columns)? {
        let (rate, share): (f64, f64) = (line.value("GB/s")?, line.value("alpha")?);
        if rate != SHOWN.0 || !SHOWN.1.contains(&share) {
            continue;
        }
        let cell = |name| match line.text(name) {
            "" => "-",
            text => text,
        };
        text += &format!(
            "| {} | {} | {share} | {} | {} ({}) | {} | {} | {} |\n",
            cell("network"),
            cell("stages"),
            cell("continuous rotor %"),
            cell("continuous POFO %"),
            cell("bound %"),
            cell("pofo %"),
            cell("nodes pofo %"),
            cell("nodes autocapper %"),
        );
    }
    Ok(text)
}

fn picture(lines: &[ChartPoint]) -> Result<String, DrawError> {
    let mut networks: Vec<&str> = lines.iter().map(|line| line.network.as_str()).collect();
    networks.dedup();
    let mut rates: Vec<f64> = lines.iter().map(|line| line.rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let height = TOP + PANEL * networks.len() as i32 + 30;
    let words = style::Words {
        heading: "Recomputation and offloading of chains",
        explanation: "overhead (%) over the share of memory from recomputing all to saving all; \
                      plans of the graph, replayed; band: the chain's bound to its POFO",
        hovers: Vec::new(),
    };
    style::picture((WIDTH as u32, height as u32), &words, |area| {
        for (k, row) in ROWS.iter().enumerate() {
            let x = 60 + 200 * k as i32;
            curve::draw(area, Some(k), vec![(x, 84), (x + 26, 84)], 3)?;
            label(area, row.name(), (x + 34, 84), 15, INK, HPos::Left)?;
        }
        let width = WIDTH / rates.len().max(1) as i32;
        for (n, network) in networks.iter().enumerate() {
            for (r, &rate) in rates.iter().enumerate() {
                let (left, top) = (width * r as i32, TOP + PANEL * n as i32);
                let frame = Frame {
                    pixels: (left + 54, top + 24, left + width - 16, top + PANEL - 30),
                    x: (0.0, 1.0),
                    y: (0.0, OVERHEAD_LIMIT),
                    root: false,
                };
                let of_panel = |line: &&ChartPoint| line.network == *network && line.rate == rate;
                let mut points: Vec<&ChartPoint> = lines.iter().filter(of_panel).collect();
                points.sort_by(|a, b| a.share.total_cmp(&b.share));
                grid(area, &frame)?;
                let title = format!("{network}, {rate} GB/s");
                let at = ((frame.pixels.0 + frame.pixels.2) / 2, top + 10);
                label(area, &title, at, 15, INK, HPos::Center)?;
                panel(area, &frame, &points)?;
            }
        }
        Ok(())
    })
}

fn line(
    area: &Area<'_>,
    points: Vec<(i32, i32)>,
    colour: RGBColor,
    width: u32,
) -> Result<(), DrawError> {
    area.draw(&PathElement::new(points, colour.stroke_width(width)))
        .map_err(style::failed)
}

fn grid(area: &Area<'_>, frame: &Frame) -> Result<(), DrawError> {
    let (left, top, right, bottom) = frame.pixels;
    for k in 0..=4 {
        let value = OVERHEAD_LIMIT * f64::from(k) / 4.0;
        let at = frame.up(value);
        line(area, vec![(left, at), (right, at)], FAINT, 1)?;
        label(
            area,
            &format!("{value}"),
            (left - 6, at),
            13,
            INK,
            HPos::Right,
        )?;
        let share = f64::from(k) / 4.0;
        let at = frame.across(share);
        line(area, vec![(at, top), (at, bottom)], FAINT, 1)?;
        label(
            area,
            &format!("{share}"),
            (at, bottom + 12),
            13,
            INK,
            HPos::Center,
        )?;
    }
    line(
        area,
        vec![(left, top), (left, bottom), (right, bottom)],
        GREY,
        1,
    )
}

fn panel(area: &Area<'_>, frame: &Frame, points: &[&ChartPoint]) -> Result<(), DrawError> {
    let place = |share: f64, value: f64| (frame.across(share), frame.up(value.min(OVERHEAD_LIMIT)));
    let [pofo, bound] = [0, 1].map(|which: usize| {
        let found = points
            .iter()
            .filter_map(move |p| Some((p.share, p.band[which]?)));
        found
            .map(|(share, value)| place(share, value))
            .collect::<Vec<_>>()
    });
    let band: Vec<(i32, i32)> = pofo.into_iter().chain(bound.into_iter().rev()).collect();
    if band.len() > 2 {
        let shape = Polygon::new(band, PALETTE[0].mix(0.2).filled());
        area.draw(&shape).map_err(style::failed)?;
    }
    for k in (0..ROWS.len()).rev() {
        let value = |p: &&ChartPoint| Some((p.share, (*p.nodes.get(k)?)?));
        let values: Vec<(f64, f64)> = points.iter().filter_map(value).collect();
        // A curve starts at its first point within the panel.
        let first = values.iter().position(|v| v.1 <= OVERHEAD_LIMIT);
        let Some(first) = first else { continue };
        let inside = values[first..]
            .iter()
            .map(|&(share, value)| place(share, value));
        let mut path: Vec<(i32, i32)> = inside.collect();
        if let Some(&(share, value)) = first.checked_sub(1).and_then(|k| values.get(k)) {
            let (next, low) = values[first];
            let part = (OVERHEAD_LIMIT - low) / (value - low);
            path.insert(0, place(next + part * (share - next), OVERHEAD_LIMIT));
        }
        curve::draw(area, Some(k), path, 2)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_panel_has_its_curves() {
        let row = |share: f64, v: f64| {
            format!("net,2,1.0,12,{share},0.001,{v},{v},{v},{v},,,,,,,{v},{v},,99,,0\n")
        };
        let table = format!("# a table\n{HEADER}\n{}{}", row(0.1, 30.0), row(0.5, 10.0));
        let svg = draw("t.csv", &table).unwrap();
        let (_, marks) = svg.split_once("</style>").unwrap();
        let lines = |k: usize| {
            let RGBColor(r, g, b) = PALETTE[k];
            let colour = format!("stroke=\"#{r:02X}{g:02X}{b:02X}\"");
            marks.matches(&colour).count()
        };
        // One in the legend each, and one more for each curve within the panel.
        assert_eq!([0, 1, 2, 3].map(lines), [2, 2, 1, 1]);
        // The legend of the dashed one has pieces.
        assert!(lines(curve::DASHED) > 1);
        let shown = markdown("t.csv", &table).unwrap();
        let last = shown.lines().last().unwrap();
        assert_eq!(last, "| net | 2 | 0.5 | 10 | 10 (10) | - | 10 | - |");
        let broken = draw("t.csv", &table.replace(",12,", ",x,")).unwrap_err();
        assert_eq!(broken.to_string(), "t.csv, line 3, column GB/s: \"x\"");
    }
}
