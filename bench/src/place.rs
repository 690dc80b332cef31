//! Addresses of buffers with given lives: heights and bounds beside known ways and published times.

use remat_check::place as check;
use remat_formulations::place::{PlaceBaseline, PlaceSettings, place};
use remat_instances::place::{Buffer, Lives, read_lives};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A published run.
struct Published {
    /// Name of the instance's file.
    file: &'static str,
    /// Seconds in which MiniMalloc fits it into its capacity (Moffitt, ASPLOS 2023,
    /// doi 10.1145/3623278.3624752, table of challenging instances).
    minimalloc_seconds: f64,
    /// Least height in bytes that a published comparison found in 5 seconds
    /// (github.com/tonibohnlein/dsa-solver, 2026), by any of its solvers.
    best_height: u64,
}

const PUBLISHED: [Published; 6] = [
    Published {
        file: "A.1048576.csv",
        minimalloc_seconds: 4.91,
        best_height: 1_063_936,
    },
    Published {
        file: "C.1048576.csv",
        minimalloc_seconds: 0.64,
        best_height: 1_039_360,
    },
    Published {
        file: "E.1048576.csv",
        minimalloc_seconds: 3.72,
        best_height: 1_252_352,
    },
    Published {
        file: "G.1048576.csv",
        minimalloc_seconds: 1.18,
        best_height: 1_119_232,
    },
    Published {
        file: "I.1048576.csv",
        minimalloc_seconds: 3.91,
        best_height: 1_292_288,
    },
    Published {
        file: "K.1048576.csv",
        minimalloc_seconds: 0.63,
        best_height: 1_256_448,
    },
];

/// Lives that are made by code: their shape.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// A training step: activations live until their gradients, temporaries, weights' gradients.
    Training,
    /// Lives of up to a tenth of the time anywhere, sizes of up to 1 MiB.
    Random,
    /// Lives between two random moments.
    Long,
    /// Lives and sizes that spread over many powers of two.
    Spread,
}

const SHAPES: [Shape; 4] = [Shape::Training, Shape::Random, Shape::Long, Shape::Spread];

/// The table of all files in a folder and in its folders, and of generated lives of so many
/// buffers; limits are for each solve.
///
/// # Errors
/// Whatever a file, a solve or a check says.
pub fn table(
    folder: &Path,
    seconds: f64,
    threads: usize,
    generated: usize,
) -> Result<String, Box<dyn std::error::Error>> {
    let mut text = String::from("name,buffers,load,capacity,status,height,bound,evidence,nodes,");
    text += "seconds,capacity seconds,MiniMalloc seconds,best published height";
    for baseline in PlaceBaseline::ALL {
        let _ = write!(text, ",{}", baseline.name());
    }
    text.push('\n');
    for path in tables(folder)? {
        let lives = read_lives(&path)?;
        let file = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        text += &row(&file, &lives, seconds, threads)?;
    }
    for shape in SHAPES.into_iter().filter(|_| generated > 0) {
        let name = format!("{shape:?} {generated}").to_lowercase();
        text += &row(&name, &generate(shape, generated as u64)?, seconds, threads)?;
    }
    Ok(text)
}

/// Files of lives below a folder, by name.
fn tables(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "csv") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn row(
    name: &str,
    lives: &Lives,
    seconds: f64,
    threads: usize,
) -> Result<String, Box<dyn std::error::Error>> {
    let time_limit = Some(Duration::try_from_secs_f64(seconds)?);
    let least = PlaceSettings {
        time_limit,
        threads,
        ..PlaceSettings::default()
    };
    let outcome = place(lives, &least)?;
    let height = check::offsets(lives, &outcome.placement)?;
    let evidence = match check::bound(lives, &outcome.certificate) {
        Ok(evidence) => format!("{evidence:?}"),
        Err(fault) => fault.to_string(),
    };
    let capacity = lives.capacity();
    let within = match capacity {
        Some(_) => {
            let within = place(lives, &PlaceSettings { capacity, ..least })?;
            within.placement.replay_within(lives)?;
            format!("{:.3}", within.seconds)
        }
        None => String::new(),
    };
    let published = PUBLISHED.iter().find(|published| published.file == name);
    let mut row = format!(
        "{name},{},{},{},{},{height},{},{evidence},{},{:.3},{within},{},{}",
        lives.buffers().len(),
        outcome.load,
        capacity.map_or(String::new(), |capacity| capacity.to_string()),
        outcome.status.name(),
        outcome.bound,
        outcome.nodes,
        outcome.seconds,
        published.map_or(String::new(), |run| run.minimalloc_seconds.to_string()),
        published.map_or(String::new(), |run| run.best_height.to_string()),
    );
    for baseline in PlaceBaseline::ALL {
        // Among very many buffers they take minutes.
        let is_small = lives.buffers().len() <= 5_000;
        let height = match is_small.then(|| baseline.place(lives, 0)) {
            Some(Ok(placement)) => check::offsets(lives, &placement)?.to_string(),
            _ => String::new(),
        };
        let _ = write!(row, ",{height}");
    }
    row.push('\n');
    Ok(row)
}

/// Lives of a shape, the same on every machine.
fn generate(shape: Shape, count: u64) -> Result<Lives, Box<dyn std::error::Error>> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut below = |limit: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    };
    const SIZES: [u64; 7] = [
        4_096, 16_384, 65_536, 262_144, 1_048_576, 3_145_728, 7_077_888,
    ];
    let mut buffers = Vec::new();
    for k in 0..count {
        let (lower, length, size) = match shape {
            Shape::Training => {
                let (layer, end) = (k / 5, 2 * (count / 5 + 1));
                let size = SIZES[below(7) as usize];
                match k % 5 {
                    0 => (layer, end - 2 * layer, size),
                    1 => (layer, 1 + below(3), size),
                    2 => (layer, end - 2 * layer, size / 8),
                    3 => (end - layer - 1, 1 + below(3), size),
                    _ => (end - layer - 1, 1 + below(4), size),
                }
            }
            Shape::Random => (below(count), 1 + below(count / 10 + 1), 1 + below(1 << 20)),
            Shape::Long => {
                let (a, b) = (below(count), below(count));
                (a.min(b), a.abs_diff(b) + 1, 1 + below(1 << 20))
            }
            Shape::Spread => {
                let (length, size) = (1 << below(16), 64 << below(15));
                (
                    below(count),
                    length + below(length),
                    size + 64 * below(size / 64),
                )
            }
        };
        buffers.push(Buffer::new(k.to_string(), lower, lower + length, size));
    }
    Ok(Lives::new(buffers)?)
}
