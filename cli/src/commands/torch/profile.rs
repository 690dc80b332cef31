//! `remat-bb profile`

use super::objects::{ImplementationJson, LinkJson, NodeJson, PointJson, ProfileJson};
use super::session;
use crate::arguments::ProfileArguments;
use crate::failure::{Exit, Failure};
use crate::files::Files;
use crate::source;
use remat_gpu_exec::{ExecError, LinkProfile, Profile, ProfileSettings, Timing, measure_link};
use remat_instances::budget::format_bytes;
use remat_instances::instance::{Implementation, Node, NodeKind};
use remat_instances::name::visible;
use remat_instances::{Instance, Semantics, write_instance};
use remat_report::Table;
use remat_report::results;

/// Rows of the table: the slowest operators.
const SHOWN: usize = 12;

/// Measures the model's operators and writes the instance.
///
/// # Errors
/// [`Failure`] for unknown models, a missing device, and files that cannot be written.
pub fn run(arguments: &ProfileArguments) -> Result<Exit, Failure> {
    let files = Files::tried(arguments.json, &[], &[("--out", Some(&arguments.out))])?;
    let program = session::model(&arguments.model, arguments.batch)?;
    let mut training = session::training(program, &arguments.on)?;
    let settings = ProfileSettings {
        repeats: usize::from(arguments.repeat),
        ..ProfileSettings::default()
    };
    let mut profile = remat_gpu_exec::profile(&mut training, &settings)?;
    let link = measure_link(training.device())?;
    if let Some(found) = &link {
        let linked = profile.instance.with_host_link(Some(found.link.clone()));
        profile.instance = linked.map_err(|e| ExecError::Mismatch(e.to_string()))?;
    }
    files.write(&arguments.out, &write_instance(&profile.instance))?;
    files.print(&if arguments.json {
        json(&profile, training.device().name(), link.as_ref())
    } else {
        summary(&profile, arguments)? + &link_table(link.as_ref())
    })?;
    Ok(Exit::Done)
}

impl LinkJson {
    fn of(found: &LinkProfile) -> Self {
        let points = found.points.iter().map(|point| PointJson {
            bytes: point.bytes,
            to_host_bytes_per_second: point.to_host_bytes_per_second,
            from_host_bytes_per_second: point.from_host_bytes_per_second,
            both_bytes_per_second: point.both_bytes_per_second,
        });
        LinkJson {
            to_host_bytes_per_second: found.link.to_host_bytes_per_second,
            from_host_bytes_per_second: found.link.from_host_bytes_per_second,
            latency_ns: found.link.latency_ns,
            duplex: found.link.duplex.as_str(),
            points: points.collect(),
        }
    }
}

impl<'a> NodeJson<'a> {
    /// A node and the timings of its implementations; the last one is in place.
    fn of(instance: &'a Instance, node: &'a Node, timings: &[Timing]) -> Self {
        let way = |name, timing: &Timing, workspace_bytes, saved_bytes| ImplementationJson {
            name,
            seconds: timing.median,
            interval: timing.interval,
            workspace_bytes,
            saved_bytes,
        };
        let implementations = node.implementations.iter().zip(timings).map(|(i, timing)| {
            let saved = saved_bytes(instance, node, i);
            way(i.name.as_str(), timing, i.workspace_bytes, saved)
        });
        let in_place = node.in_place.as_ref();
        NodeJson {
            name: &node.name,
            output_bytes: node.output_bytes,
            in_place: in_place
                .zip(timings.get(node.implementations.len()))
                .map(|(option, timing)| way("in place", timing, option.workspace_bytes, 0)),
            implementations: implementations.collect(),
        }
    }
}

/// Bytes of the forward pass that a backward node keeps alive by reading them; 0 for a forward
/// node.
fn saved_bytes(instance: &Instance, node: &Node, implementation: &Implementation) -> u64 {
    let reads = implementation.needs.iter().map(|need| instance.node(*need));
    reads
        .filter(|read| node.is_backward() && !read.is_backward() && read.kind != NodeKind::Loss)
        .map(|read| read.output_bytes)
        .sum()
}

fn measured(profile: &Profile) -> Vec<NodeJson<'_>> {
    let nodes = profile.instance.nodes().iter().zip(&profile.timings);
    nodes
        .map(|(node, timings)| NodeJson::of(&profile.instance, node, timings))
        .collect()
}

fn json(profile: &Profile, device: &str, link: Option<&LinkProfile>) -> String {
    results::json(&ProfileJson {
        instance: profile.instance.name(),
        device,
        link: link.map(LinkJson::of),
        nodes: measured(profile),
    })
}

/// Speeds of the link to host memory.
fn link_table(link: Option<&LinkProfile>) -> String {
    let Some(found) = link else {
        return "  the CPU has no link to host memory: name one for plans that copy\n".into();
    };
    let columns = [
        "copy",
        "to the host GB/s",
        "from it GB/s",
        "both at once GB/s",
    ];
    let mut table = Table::new(&columns.map(|name| (name, true)));
    for point in &found.points {
        let speeds = [
            point.to_host_bytes_per_second,
            point.from_host_bytes_per_second,
            point.both_bytes_per_second,
        ];
        let speeds = speeds.map(|speed| format!("{:.2}", speed * 1e-9));
        let row = std::iter::once(format_bytes(point.bytes)).chain(speeds);
        table.row(row.collect());
    }
    format!(
        "link to pinned host memory: {} duplex, latency {} ns\n{}",
        found.link.duplex.as_str(),
        found.link.latency_ns,
        table.render("  ")
    )
}

fn summary(profile: &Profile, arguments: &ProfileArguments) -> Result<String, Failure> {
    let instance = &profile.instance;
    let plain = source::plain_replay(instance, Semantics::Checkmate)?;
    let nodes = measured(profile);
    let mut rows: Vec<(&NodeJson<'_>, &ImplementationJson<'_>)> = nodes
        .iter()
        .flat_map(|node| node.implementations.iter().map(move |way| (node, way)))
        .collect();
    rows.sort_by(|(_, a), (_, b)| b.seconds.total_cmp(&a.seconds));
    let mut table = Table::new(&[
        ("operator", false),
        ("implementation", false),
        ("median ms", true),
        ("interval ms", true),
        ("output", true),
        ("workspace", true),
        ("saved", true),
    ]);
    for (node, way) in rows.into_iter().take(SHOWN) {
        let [low, high] = way.interval.map(|s| s * 1e3);
        table.row(vec![
            visible(node.name).into_owned(),
            visible(way.name).into_owned(),
            format!("{:.3}", way.seconds * 1e3),
            format!("{low:.3}..{high:.3}"),
            format_bytes(node.output_bytes),
            format_bytes(way.workspace_bytes.max(0) as u64),
            format_bytes(way.saved_bytes),
        ]);
    }
    Ok(format!(
        "{}: {} nodes of {} on {}, {} a step, peak without recomputation {}\n{}",
        crate::visible::shown(&arguments.out),
        instance.len(),
        instance.name(),
        arguments.on.device,
        remat_report::cost(instance.base_cost(), instance.cost_unit()),
        format_bytes(plain.peak_bytes),
        table.render("  ")
    ))
}
