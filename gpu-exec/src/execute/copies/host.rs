//! Host buffers of a plan: one storage, offsets assigned before a step, and the link.

use super::Carrier;
use super::lane::Lanes;
use super::stream::Streams;
use crate::device::host_free_bytes;
use crate::error::ExecError;
use crate::shim;
use crate::training::{Training, bytes_of};
use remat_instances::instance::Instance;
use remat_instances::place::{Buffer, Lives};
use remat_instances::plan::{HostBuffer, Plan, Step};
use remat_instances::simulate::{self, CACHE_LINE, Transfers};
use remat_memory::place::{PlaceSettings, place};
use std::collections::BTreeMap;
use tch::{Kind, Tensor};

/// Numbers that tune the offsets.
struct Tuning {
    /// Node limit of the search for offsets within the host peak: a few seconds.
    place_nodes: u64,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            place_nodes: 200_000,
        }
    }
}

/// Host memory for the copies of a plan, and the link that makes them. It is made once, for any
/// number of steps, which then allocate no host memory.
///
/// On the CPU the link consists of threads that copy at the speeds, latency and duplex of the
/// instance's `host_link`. On a GPU it is the GPU's link: the memory is pinned, each direction has
/// its own stream (one stream for both at half duplex), and speeds are the hardware's.
pub struct HostMemory {
    storage: Option<Tensor>,
    bytes: u64,
    peak_bytes: u64,
    /// Offset and size of each buffer, by the statement that allocates it.
    places: BTreeMap<usize, (u64, u64)>,
    carrier: Box<dyn Carrier>,
}

impl HostMemory {
    /// Assigns offsets, allocates the memory, and opens the link. `instance` has sizes and link.
    ///
    /// # Errors
    /// [`ExecError::Mismatch`] for a plan that cannot be executed, [`ExecError::Host`] if the host
    /// lacks memory or threads, [`ExecError::Torch`].
    pub fn new(training: &Training, instance: &Instance, plan: &Plan) -> Result<Self, ExecError> {
        let replay = simulate::plan(instance, plan)
            .map_err(|e| ExecError::Mismatch(format!("the plan cannot be executed: {e}")))?;
        let (places, bytes) = places(plan, instance, &replay.transfers)?;
        let device = training.device();
        let link = instance.host_link().cloned().unwrap_or_default();
        let gpu = device.gpu();
        check_room(bytes, host_free_bytes(), gpu.is_some())?;
        let storage = match (bytes, gpu) {
            (0, _) => None,
            (_, Some(_)) => Some(shim::pinned(bytes)?),
            (_, None) => {
                // Filled once, so that the first step finds its pages.
                let options = (Kind::Uint8, tch::Device::Cpu);
                Some(Tensor::f_zeros([bytes as i64], options)?)
            }
        };
        let carrier: Box<dyn Carrier> = match gpu {
            Some(index) => Box::new(Streams::new(index, link.duplex)?),
            None => Box::new(Lanes::throttled(&link)?),
        };
        Ok(HostMemory {
            storage,
            bytes,
            peak_bytes: replay.transfers.host_peak_bytes,
            places,
            carrier,
        })
    }

    /// Size of the storage in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Host peak of the plan in bytes, a lower bound on every storage.
    pub fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }

    pub(super) fn carrier(&mut self) -> &mut dyn Carrier {
        &mut *self.carrier
    }

    /// Replaces the link.
    #[cfg(test)]
    pub(super) fn set_carrier(&mut self, carrier: Box<dyn Carrier>) {
        self.carrier = carrier;
    }

    /// Offset and size of the buffer that a statement allocates.
    pub(super) fn place_of(&self, statement: usize) -> Result<(u64, u64), ExecError> {
        self.places.get(&statement).copied().ok_or_else(|| {
            ExecError::Mismatch(format!(
                "statement {statement} takes a host buffer for which this host memory has no place: it is another plan's"
            ))
        })
    }

    /// A view of the storage at an offset in bytes, with another tensor's type, shape and layout.
    pub(super) fn view(&self, offset: u64, like: &Tensor) -> Result<Tensor, ExecError> {
        let element = like.kind().elt_size_in_bytes().max(1) as u64;
        let fits = offset + bytes_of(like) <= self.bytes && offset.is_multiple_of(element);
        match (&self.storage, fits) {
            (Some(storage), true) => shim::view_like(storage, offset, like),
            // A tensor without elements needs no storage.
            (None, true) => Ok(Tensor::f_empty_strided(
                like.size(),
                like.stride(),
                (like.kind(), tch::Device::Cpu),
            )?),
            (_, false) => Err(ExecError::Mismatch(format!(
                "a tensor of {} bytes has no place at offset {offset} of the {} bytes of host memory",
                bytes_of(like),
                self.bytes
            ))),
        }
    }

    /// Fills a part with ones: readers get NaN.
    pub(super) fn poison(&self, offset: u64, bytes: u64) -> Result<(), ExecError> {
        if let Some(storage) = &self.storage {
            let mut part = storage.f_narrow(0, offset as i64, bytes as i64)?;
            let _ = part.f_fill_(255)?;
        }
        Ok(())
    }
}

/// Share of the free memory that may be pinned: a machine without pageable memory stops.
const PINNED_SHARE: f64 = 0.9;

/// Refuses more host memory than there is.
fn check_room(bytes: u64, free: Option<u64>, is_pinned: bool) -> Result<(), ExecError> {
    let Some(free) = free else {
        return Ok(());
    };
    let (room, kind) = match is_pinned {
        true => ((free as f64 * PINNED_SHARE) as u64, "pinned host memory"),
        false => (free, "host memory"),
    };
    match bytes > room {
        true => Err(ExecError::Host(format!(
            "the plan's copies take {bytes} bytes of {kind}, and {room} can be had"
        ))),
        false => Ok(()),
    }
}

/// Offset and size of a host buffer, by the statement that allocates it.
type Places = BTreeMap<usize, (u64, u64)>;

/// The place of every buffer, and the size of the storage, which is the host peak if the search
/// reaches it.
fn places(
    plan: &Plan,
    instance: &Instance,
    transfers: &Transfers,
) -> Result<(Places, u64), ExecError> {
    let mut nodes = transfers.spans.iter().filter(|span| span.to_host);
    let mut open: BTreeMap<HostBuffer, usize> = BTreeMap::new();
    let (mut statements, mut buffers) = (Vec::new(), Vec::new());
    for (at, step) in plan.steps.iter().enumerate() {
        match *step {
            Step::Offload { buffer, .. } => {
                let node = nodes.next().map(|span| span.node);
                let bytes = node.map_or(0, |node| instance.node(node).output_bytes);
                if bytes == 0 {
                    statements.push((at, None));
                    continue;
                }
                open.insert(buffer, buffers.len());
                statements.push((at, Some(buffers.len())));
                let name = format!("{buffer} of statement {at}");
                buffers.push(Buffer {
                    // The largest alignment without padding.
                    alignment: (1 << bytes.trailing_zeros().min(63)).min(CACHE_LINE),
                    ..Buffer::new(name, at as u64, plan.steps.len() as u64, bytes)
                });
            }
            Step::Release { buffer } => {
                if let Some(index) = open.remove(&buffer) {
                    buffers[index].upper = at as u64;
                }
            }
            _ => {}
        }
    }
    let sizes: Vec<u64> = buffers.iter().map(|buffer| buffer.size).collect();
    let wrong = |e: String| ExecError::Mismatch(format!("host buffers: {e}"));
    let lives = Lives::new(buffers).map_err(|e| wrong(e.to_string()))?;
    let settings = PlaceSettings {
        capacity: Some(transfers.host_peak_bytes),
        nodes: Some(Tuning::default().place_nodes),
        threads: 1,
        ..PlaceSettings::default()
    };
    let outcome = place(&lives, &settings).map_err(|e| wrong(e.to_string()))?;
    let offsets = outcome.placement.offsets();
    let place = |index: Option<usize>| index.map_or((0, 0), |k| (offsets[k], sizes[k]));
    let places = statements.into_iter().map(|(at, k)| (at, place(k)));
    Ok((places.collect(), outcome.height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned_memory_leaves_a_rest() {
        assert!(check_room(95, Some(100), false).is_ok());
        assert!(check_room(101, Some(100), false).is_err());
        assert!(check_room(90, Some(100), true).is_ok());
        let problem = check_room(95, Some(100), true).unwrap_err().to_string();
        assert!(problem.contains("95 bytes of pinned host memory, and 90"));
        assert!(check_room(u64::MAX, None, true).is_ok());
    }
}
