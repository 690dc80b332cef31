//! `remat-bb exec`

use super::objects::{
    Computation, CopiesJson, ExecJson, GradientsJson, MeasuredJson, Predicted, RunArenaJson,
};
use super::session::{self, Measured, Runnable};
use crate::arguments::ExecArguments;
use crate::failure::{Exit, Failure};
use crate::files::Files;
use crate::source;
use remat_gpu_exec::{Comparison, ExecError, HostMemory, compare, program_of};
use remat_instances::budget::format_bytes;
use remat_instances::plan::PlanAddresses;
use remat_instances::replayed::Replayed;
use remat_instances::simulate::{CACHE_LINE, TimelinePoint};
use remat_memory::place::{PlaceSettings, place_plan};
use remat_report::draw::memory::{self, MemoryPicture};
use remat_report::results;
use std::fmt::Write;

/// Alignment of addresses on a GPU in bytes: that of libtorch's own allocator, which kernels look
/// at.
const GPU_LINE: u64 = 512;
/// Relative difference of gradients that floating-point sums in another order explain.
const SAME_GRADIENT: f64 = 1e-4;

/// Runs the plan, measures it, and with `--check` compares it with its claims and with plain
/// training.
///
/// # Errors
/// [`Failure`] for bad input, a plan that cannot be executed, a missing device, and a failed check.
pub fn run(arguments: &ExecArguments) -> Result<Exit, Failure> {
    let files = Files::tried(
        arguments.json,
        &[&arguments.instance, &arguments.plan],
        &[("--svg", arguments.svg.as_deref())],
    )?;
    let found = source::replayed(&arguments.instance, &arguments.plan)?;
    let program = program_of(&found.instance)?;
    let mut training = session::training(program, &arguments.on)?;
    training.set_asynchronous(arguments.asynchronous);
    let plain = session::plain(&training.program().instance, found.plan.semantics)?;
    let addresses = addresses(arguments, &found)?;
    let host = match found.plan.has_copies() {
        true => {
            let memory = HostMemory::new(&training, &found.instance, &found.plan)?;
            Some((&found.instance, memory))
        }
        false => None,
    };
    let mut plans = vec![Runnable {
        plan: &found.plan,
        addresses: addresses.as_ref().map(|of| (&found.instance, of)),
        host,
    }];
    if arguments.check {
        plans.push(Runnable::from(&plain));
    }
    let mut all = session::measured(&mut training, &mut plans, arguments.repeat)?.into_iter();
    let too_little = || ExecError::OutOfMemory("the plan needs more than the device has".into());
    let measured = all.next().flatten().ok_or_else(too_little)?;
    let mut differences = Vec::new();
    let mut comparison = None;
    if arguments.check {
        differences = claims(&found, &measured, arguments.tolerance);
    }
    // Plain training may need more memory than the device has; then nothing is compared.
    if let Some(plain) = all.next().flatten() {
        let (loss, gradients) = against_plain(&measured, &plain)?;
        differences.extend(loss);
        if gradients.largest.is_nan() || gradients.largest > SAME_GRADIENT {
            differences.push(format!(
                "its gradients differ from plain training's by up to {:.1e}",
                gradients.largest
            ));
        }
        comparison = Some(gradients);
    }
    if let Some(path) = &arguments.svg {
        files.write(path, &picture(&found, &measured)?)?;
    }
    let result = ExecReport {
        found: &found,
        device: training.device().name(),
        measured: &measured,
        comparison,
        checked: arguments.check,
        differences: &differences,
    };
    files.print(&if arguments.json {
        result.json()
    } else {
        result.summary()
    })?;
    if differences.is_empty() {
        return Ok(Exit::Done);
    }
    Err(Failure::Mismatch {
        file: crate::files::input_name(&arguments.plan),
        differences,
    })
}

/// The addresses of the run: the plan's, or new ones if `--arena` requests them.
fn addresses(
    arguments: &ExecArguments,
    found: &Replayed,
) -> Result<Option<PlanAddresses>, Failure> {
    if arguments.no_arena {
        return Ok(None);
    }
    if found.addresses.is_some() || !arguments.arena {
        return Ok(found.addresses.clone());
    }
    let (instance, plan) = (&found.instance, &found.plan);
    let settings = PlaceSettings::default();
    let alignment = match arguments.on.is_gpu() {
        true => GPU_LINE,
        false => CACHE_LINE,
    };
    let placed = place_plan(instance, plan, Some(alignment), None, &settings);
    let placed = placed.map_err(|e| Failure::Usage {
        problem: format!("--arena: {e}"),
        remedy: "run the plan without --arena".into(),
    })?;
    Ok(Some(placed.addresses))
}

/// Claims of the file that the device does not confirm.
fn claims(found: &Replayed, measured: &Measured, tolerance: f64) -> Vec<String> {
    let mut list = Vec::new();
    let replay = &found.replay;
    if found.objective != replay.makespan {
        list.push(format!(
            "it records a cost of {}, the replay costs {}",
            found.objective, replay.makespan
        ));
    }
    if let Some(copies) = measured.run.copies {
        let (took, predicted) = (copies.host_peak_bytes, replay.transfers.host_peak_bytes);
        if took > predicted {
            list.push(format!(
                "its copies took {took} bytes on the host, {predicted} were predicted"
            ));
        }
        let link = found.instance.host_link();
        if let Some(limit) = link.and_then(|link| link.host_memory_bytes)
            && took > limit
        {
            list.push(format!(
                "its copies took {took} bytes on the host, its link allows {limit} (host_memory_bytes)"
            ));
        }
    }
    let peak = found.peak_bytes.unwrap_or(replay.peak_bytes);
    if peak != replay.peak_bytes {
        list.push(format!(
            "it records a peak of {peak} bytes, the replay needs {}",
            replay.peak_bytes
        ));
    }
    let allowed = |bytes: u64| bytes as f64 * (1.0 + tolerance);
    if let Some(arena) = measured.run.arena {
        // Scratch beyond the plan's workspaces is reported, but is no claim of the plan.
        let kept = arena.arena_bytes + arena.beside_bytes;
        if arena.used_bytes > arena.arena_bytes || kept as f64 > allowed(arena.arena_bytes) {
            list.push(format!(
                "{} are in use in its arena of {} and beside it",
                format_bytes(arena.used_bytes.max(kept)),
                format_bytes(arena.arena_bytes)
            ));
        }
        return list;
    }
    if measured.peak_bytes as f64 > allowed(peak.min(replay.peak_bytes)) {
        list.push(format!(
            "{} were allocated at the peak, {} were predicted (a model that was not profiled has no workspaces)",
            format_bytes(measured.peak_bytes),
            format_bytes(peak.min(replay.peak_bytes))
        ));
    }
    let budget = found.budget_bytes.unwrap_or(u64::MAX);
    if measured.peak_bytes as f64 > allowed(budget) {
        list.push(format!(
            "{} were allocated at the peak, the budget is {}",
            format_bytes(measured.peak_bytes),
            format_bytes(budget)
        ));
    }
    list
}

/// Loss (its difference in words, if there is one) and gradients, compared with plain training.
fn against_plain(
    measured: &Measured,
    plain: &Measured,
) -> Result<(Option<String>, Comparison), ExecError> {
    let (loss, wanted) = (measured.run.loss, plain.run.loss);
    let close = (loss - wanted).abs() <= SAME_GRADIENT * wanted.abs();
    let differs = format!("its loss is {loss}, plain training's {wanted}");
    let comparison = compare(&measured.gradients, &plain.gradients)?;
    Ok(((!close).then_some(differs), comparison))
}

/// The picture of predicted and measured memory over time.
fn picture(found: &Replayed, measured: &Measured) -> Result<String, Failure> {
    // Run and replay have the same order of computations.
    let timeline: Vec<TimelinePoint> = found
        .replay
        .timeline
        .iter()
        .filter(|point| point.at.node.is_some())
        .zip(&measured.run.computations)
        .map(|(point, computation)| TimelinePoint {
            bytes: computation.peak,
            ..*point
        })
        .collect();
    Ok(memory::draw(&MemoryPicture {
        instance: &found.instance,
        semantics: found.plan.semantics,
        replay: &found.replay,
        plain: None,
        measured: Some(&timeline),
        budget_bytes: found.budget_bytes,
        title: format!("{}: memory, predicted and measured", found.instance.name()),
    })?)
}

struct ExecReport<'a> {
    found: &'a Replayed,
    device: &'a str,
    measured: &'a Measured,
    comparison: Option<Comparison>,
    checked: bool,
    differences: &'a [String],
}

impl ExecReport<'_> {
    fn predicted(&self) -> Predicted {
        Predicted {
            seconds: session::seconds(&self.found.instance, self.found.replay.cost),
            peak_memory_bytes: self.found.replay.peak_bytes,
        }
    }

    fn copies(&self) -> Option<CopiesJson> {
        let (instance, replay) = (&self.found.instance, &self.found.replay);
        let seconds = |time: u64| session::seconds(instance, time);
        self.measured.run.copies.map(|copies| CopiesJson {
            host_peak_bytes: copies.host_peak_bytes,
            predicted_host_peak_bytes: replay.transfers.host_peak_bytes,
            host_arena_bytes: copies.host_arena_bytes,
            to_host_bytes: copies.to_host_bytes,
            from_host_bytes: copies.from_host_bytes,
            makespan_seconds: copies.makespan_seconds,
            predicted_makespan_seconds: seconds(replay.makespan),
            idle_seconds: copies.idle_seconds,
            predicted_idle_seconds: seconds(replay.idle()),
        })
    }

    fn json(&self) -> String {
        let instance = &self.found.instance;
        let points = self.found.replay.timeline.iter();
        let points: Vec<u64> = points
            .filter(|point| point.at.node.is_some())
            .map(|point| point.bytes)
            .collect();
        let computations = self.measured.run.computations.iter().enumerate();
        results::json(&ExecJson {
            instance: instance.name(),
            device: self.device,
            predicted: self.predicted(),
            measured: MeasuredJson {
                seconds: self.measured.run.seconds,
                least_seconds: self.measured.range[0],
                greatest_seconds: self.measured.range[1],
                peak_memory_bytes: self.measured.peak_bytes,
                reserved_bytes: self.measured.run.memory.reserved,
            },
            arena: self.measured.run.arena.map(|arena| RunArenaJson {
                arena_bytes: arena.arena_bytes,
                used_bytes: arena.used_bytes,
                beside_bytes: arena.beside_bytes,
                outside_bytes: arena.outside_bytes,
            }),
            copies: self.copies(),
            loss: self.measured.run.loss,
            gradients: self.comparison.map(|c| GradientsJson {
                equal: c.equal,
                largest_relative_difference: c.largest,
            }),
            differences: self.differences,
            computations: computations
                .map(|(k, c)| Computation {
                    node: &instance.node(c.node).name,
                    seconds: c.seconds,
                    predicted_bytes: points.get(k).copied(),
                    peak_bytes: c.peak,
                })
                .collect(),
        })
    }

    fn summary(&self) -> String {
        let run = &self.measured.run;
        let predicted = self.predicted();
        let mut out = format!(
            "{} on {}: {} computations of {} nodes, loss {:.6}\n",
            self.found.instance.name(),
            self.device,
            run.computations.len(),
            self.found.instance.len(),
            run.loss
        );
        // Writing to a string cannot fail.
        let seconds = predicted.seconds.unwrap_or(f64::NAN);
        let _ = writeln!(
            out,
            "  time      {:.4} s, predicted {seconds:.4} s ({})\n  memory    peak {}, predicted {} ({}), reserved {}",
            run.seconds,
            session::off(run.seconds, seconds),
            format_bytes(self.measured.peak_bytes),
            format_bytes(predicted.peak_memory_bytes),
            session::off(
                self.measured.peak_bytes as f64,
                predicted.peak_memory_bytes as f64
            ),
            format_bytes(run.memory.reserved)
        );
        if let Some(copies) = self.copies() {
            let makespan = copies.predicted_makespan_seconds.unwrap_or(f64::NAN);
            let _ = writeln!(
                out,
                "  makespan  {:.4} s, predicted {makespan:.4} s ({}); waited for copies {:.4} s, predicted {:.4} s\n  \
                 host      peak {}, predicted {}, in one storage of {} bytes; {} to the host, {} back",
                copies.makespan_seconds,
                session::off(copies.makespan_seconds, makespan),
                copies.idle_seconds,
                copies.predicted_idle_seconds.unwrap_or(f64::NAN),
                format_bytes(copies.host_peak_bytes),
                format_bytes(copies.predicted_host_peak_bytes),
                copies.host_arena_bytes,
                format_bytes(copies.to_host_bytes),
                format_bytes(copies.from_host_bytes),
            );
        }
        if let Some(arena) = run.arena {
            let _ = writeln!(
                out,
                "  arena     one storage of {} ({} bytes), used up to byte {}; outside of it {} bytes at most: {} of what stays \
                 the whole step, the rest scratch of kernels",
                format_bytes(arena.arena_bytes),
                arena.arena_bytes,
                arena.used_bytes,
                arena.outside_bytes,
                arena.beside_bytes
            );
        }
        let _ = match self.comparison {
            Some(c) if c.equal => {
                writeln!(out, "  gradients equal to plain training's in every bit")
            }
            Some(c) => writeln!(
                out,
                "  gradients differ from plain training's by at most {:.1e} of a parameter's largest",
                c.largest
            ),
            None if self.checked => writeln!(
                out,
                "  gradients not compared: plain training needs more memory than the device has"
            ),
            None => Ok(()),
        };
        out
    }
}
