//! MONeT's comparisons (Shah et al., ICLR 2021, section 5), with published values beside ours.
//!
//! | part | content |
//! |---|---|
//! | [`memory`] | memory at 10% overhead against Checkmate's program (Table 1, Figure 3), and encodings without recomputation (Table 3) |
//! | [`ablation`] | overhead at 8 GiB with some of the choices only (Figure 4) |
//! | [`runs`] | times until plan and bound are within 5% and 2%, beside the published runs (Tables 2, 5 and 6) |
//! | [`roots`] | root relaxations and sizes: the published program with both memory bounds, and the interval form (Table 7) |
//!
//! Networks are from the benchmark collection, with all choices, if its directory is given, and
//! otherwise models of our own zoo with its implementation sets. Overheads are relative to training
//! without recomputation as a framework does it, with the fastest algorithms that fit the paper's
//! device (16 GiB). The peak of that training is taken with the smallest workspaces. Every cost and
//! peak is of a plan that was replayed.

pub mod ablation;
pub mod memory;
pub mod paper;
mod plain;
pub mod roots;
pub mod runs;

pub use crate::checkmate::Failure;
use crate::checkmate::runs::{MONET_FORMULATION, Published, published};
use remat_formulations::monet::MonetFormulation;
use remat_instances::Instance;
use remat_instances::schedule::MonetSchedule;
use remat_instances::zoo::{self, ModelSpec};
use remat_search::{Listener, Outcome, Settings, Solvable};
use std::path::PathBuf;
use std::time::Duration;

/// Part of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum MonetPart {
    /// Memory at a fixed overhead.
    Memory,
    /// Some of the choices only.
    Ablation,
    /// Published runs.
    Runs,
    /// Root relaxations.
    Roots,
}

/// Settings of the comparison.
#[derive(Clone, Debug)]
pub struct MonetConfig {
    /// Directory of the benchmark collection, or `None` for models of the zoo.
    pub dir: Option<PathBuf>,
    /// The paper as text, for its tables.
    pub paper: Option<PathBuf>,
    /// Seconds for each solve.
    pub seconds: f64,
    /// Worker threads; 0 for one per core.
    pub threads: usize,
    /// Parts to run, in the order of [`MonetPart`].
    pub parts: Vec<MonetPart>,
    /// Only instances whose name contains one of these; all if empty.
    pub only: Vec<String>,
    /// Only these budgets of published runs, in GiB; all if empty.
    pub budgets: Vec<f64>,
    /// Budgets of each curve.
    pub points: usize,
    /// Largest published program whose relaxation is solved here, in nonzeros.
    pub most_nonzeros: usize,
    /// Where tables and pictures go.
    pub out: Option<PathBuf>,
}

/// The mode of the collection with all choices.
const ALL_CHOICES: &str = "_inplace_conv_multiway_newnode";
/// The paper's networks at its batch sizes, in our zoo.
const MODELS: [&str; 4] = [
    "vgg16?batch=176",
    "unet?batch=11",
    "resnet50?batch=184",
    "googlenet?batch=320",
];
/// Parameters that make the zoo's graphs like the paper's graphs.
const LIKE_THE_PAPER: &str =
    "device=p100&implementations=monet&gradients=split&grad_add=implicit&relu_saves=input";
/// Budgets of zoo models, which have no published runs, as percentages of the peak without
/// recomputation.
const SHARES: [u64; 3] = [40, 50, 70];

/// Runs the parts.
///
/// # Errors
/// Unreadable data, files that cannot be written, or a defect of the solver.
pub fn run(config: &MonetConfig) -> Result<(), Failure> {
    if let Some(out) = &config.out {
        std::fs::create_dir_all(out)?;
    }
    for part in [
        MonetPart::Memory,
        MonetPart::Ablation,
        MonetPart::Runs,
        MonetPart::Roots,
    ] {
        if !config.parts.contains(&part) {
            continue;
        }
        match part {
            MonetPart::Memory => memory::run(config)?,
            MonetPart::Ablation => ablation::run(config)?,
            MonetPart::Runs => runs::run(config)?,
            MonetPart::Roots => roots::run(config)?,
        }
    }
    Ok(())
}

/// A network with all choices.
struct Network {
    /// `vgg16`, `resnet50`, ...
    name: String,
    instance: Instance,
}

/// An instance under a budget, with the published run of it.
struct Case {
    name: String,
    instance: Instance,
    budget_bytes: u64,
    published: Option<Published>,
}

impl MonetConfig {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part.as_str()))
    }

    /// Prints a text, and writes it to a file of the output directory.
    fn publish(&self, file: &str, text: &str) -> Result<(), Failure> {
        println!("{text}");
        self.save(file, text)
    }

    fn save(&self, file: &str, text: &str) -> Result<(), Failure> {
        if let Some(out) = &self.out {
            std::fs::write(out.join(file), text)?;
        }
        Ok(())
    }

    fn settings(&self) -> Settings {
        Settings {
            time_limit: Some(Duration::from_secs_f64(self.seconds)),
            threads: self.threads,
            ..Settings::default().without_overtime()
        }
    }

    fn solve(
        &self,
        instance: &Instance,
        budget_bytes: u64,
        listener: &dyn Listener,
    ) -> Result<Outcome<MonetSchedule>, Failure> {
        let program = MonetFormulation::new(instance.clone())?;
        Ok(program.solve(budget_bytes, &[], &self.settings(), listener)?)
    }

    /// Networks with all choices.
    fn networks(&self) -> Result<Vec<Network>, Failure> {
        let mut networks = Vec::new();
        let Some(dir) = &self.dir else {
            for model in MODELS.iter().filter(|m| self.wants(m)) {
                networks.push(Network {
                    name: model.split('?').next().unwrap_or(model).to_owned(),
                    instance: zoo_model(model)?,
                });
            }
            return Ok(networks);
        };
        let graphs = dir.join("graphs");
        let listed = std::fs::read_dir(&graphs);
        let listed = listed.map_err(|e| format!("{}: {e}", graphs.display()))?;
        let mut names: Vec<String> = listed
            .filter_map(|entry| Some(crate::checkmate::stem(&entry.ok()?.path())))
            .filter(|name| name.ends_with(ALL_CHOICES) && self.wants(name))
            .collect();
        names.sort();
        for name in names {
            networks.push(Network {
                instance: self.graph(&name)?.ok_or("a listed file is gone")?,
                name: name.split('_').next().unwrap_or(&name).to_owned(),
            });
        }
        Ok(networks)
    }

    /// An instance of the collection; `None` if this copy lacks it.
    fn graph(&self, name: &str) -> Result<Option<Instance>, Failure> {
        let Some(dir) = &self.dir else {
            return Ok(None);
        };
        let path = dir.join("graphs").join(format!("{name}.json"));
        if !path.is_file() {
            return Ok(None);
        }
        Ok(Some(remat_instances::read(path)?))
    }

    /// The published runs; for models of the zoo, some budgets of each.
    fn cases(&self) -> Result<Vec<Case>, Failure> {
        let mut cases = Vec::new();
        let Some(dir) = &self.dir else {
            for network in self.networks()? {
                let peak = plain::Plain::new(&network.instance)?.peak_bytes;
                cases.extend(SHARES.iter().map(|share| Case {
                    name: format!("{} {share}%", network.name),
                    instance: network.instance.clone(),
                    budget_bytes: peak * share / 100,
                    published: None,
                }));
            }
            return Ok(cases);
        };
        let path = dir.join("anchors.csv");
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|e| format!("{}: {e}", path.display()))?;
        for run in published(&text, MONET_FORMULATION) {
            let asked = self.budgets.is_empty() || self.budgets.contains(&run.budget_gib);
            if !asked || !self.wants(&run.instance) {
                continue;
            }
            let Some(instance) = self.graph(&run.instance)? else {
                println!("left out: {} is not in {}", run.instance, dir.display());
                continue;
            };
            cases.push(Case {
                name: format!("{} {}", run.instance, run.budget_gib),
                instance,
                budget_bytes: (run.budget_gib * (1u64 << 30) as f64) as u64,
                published: Some(run),
            });
        }
        Ok(cases)
    }
}

fn zoo_model(model: &str) -> Result<Instance, Failure> {
    let spec: ModelSpec = format!("zoo:{model}&{LIKE_THE_PAPER}").parse()?;
    Ok(zoo::build(&spec)?)
}

/// Percentage by which a cost is above another one.
fn over(cost: u64, base: u64) -> f64 {
    let base = base.max(1) as f64;
    (cost as f64 - base) * 100.0 / base
}
