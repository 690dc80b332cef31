//! `remat-bb profile`

use super::session;
use crate::arguments::ProfileArguments;
use crate::failure::{Exit, Failure};
use crate::report::{self, Table};
use crate::{files, source};
use remat_formulations::budget::format_bytes;
use remat_formulations::instance::write_instance;
use remat_formulations::plan::Semantics;
use remat_gpu_exec::{Profile, ProfileSettings};
use serde::Serialize;

/// Rows of the table: the operators that take longest.
const SHOWN: usize = 12;

/// Measures the model's operators and writes the instance.
///
/// # Errors
/// [`Failure`] for unknown models, a device that is not there, and files that cannot be written.
pub fn run(arguments: &ProfileArguments) -> Result<Exit, Failure> {
    files::check_writable(&arguments.out)?;
    let program = session::model(&arguments.model, arguments.batch)?;
    let mut training = session::training(program, &arguments.on)?;
    let settings = ProfileSettings {
        repeats: usize::from(arguments.repeat),
        ..ProfileSettings::default()
    };
    let profile = remat_gpu_exec::profile(&mut training, &settings)?;
    files::write(&arguments.out, &write_instance(&profile.instance))?;
    files::print(&if arguments.json {
        json(&profile, training.device().name())
    } else {
        summary(&profile, arguments)?
    })?;
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct Node<'a> {
    name: &'a str,
    seconds: f64,
    interval: [f64; 2],
    output_bytes: u64,
    workspace_bytes: i64,
}

#[derive(Serialize)]
struct Json<'a> {
    instance: &'a str,
    device: &'a str,
    nodes: Vec<Node<'a>>,
}

fn json(profile: &Profile, device: &str) -> String {
    let nodes = profile.instance.nodes().iter().zip(&profile.timings);
    report::json(&Json {
        instance: profile.instance.name(),
        device,
        nodes: nodes
            .map(|(node, timing)| Node {
                name: &node.name,
                seconds: timing.median,
                interval: timing.interval,
                output_bytes: node.output_bytes,
                workspace_bytes: node.implementations[0].workspace_bytes,
            })
            .collect(),
    })
}

fn summary(profile: &Profile, arguments: &ProfileArguments) -> Result<String, Failure> {
    let instance = &profile.instance;
    let plain = source::plain_replay(instance, Semantics::Checkmate)?;
    let mut order: Vec<usize> = (0..instance.len()).collect();
    order.sort_by(|a, b| {
        profile.timings[*b]
            .median
            .total_cmp(&profile.timings[*a].median)
    });
    let mut table = Table::new(&[
        ("operator", false),
        ("median ms", true),
        ("interval ms", true),
        ("output", true),
        ("workspace", true),
    ]);
    for k in order.into_iter().take(SHOWN) {
        let (node, timing) = (&instance.nodes()[k], &profile.timings[k]);
        let [low, high] = timing.interval.map(|s| s * 1e3);
        table.row(vec![
            node.name.clone(),
            format!("{:.3}", timing.median * 1e3),
            format!("{low:.3}..{high:.3}"),
            format_bytes(node.output_bytes),
            format_bytes(node.implementations[0].workspace_bytes.max(0) as u64),
        ]);
    }
    Ok(format!(
        "{}: {} nodes of {} on {}, {} a step, peak without recomputation {}\n{}",
        arguments.out.display(),
        instance.len(),
        instance.name(),
        arguments.on.device,
        report::cost(instance.base_cost(), instance.cost_unit()),
        format_bytes(plain.peak_bytes),
        table.render("  ")
    ))
}
