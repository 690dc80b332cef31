//! Speeds of the link to host memory, measured on a GPU.

use crate::device::Device;
use crate::error::ExecError;
use crate::execute::{Carrier, Direction, Pair, Streams};
use crate::shim;
use remat_instances::instance::{Duplex, HostLink};
use std::time::Instant;
use tch::{Kind, Tensor};

/// Sizes of the copies, in bytes: 64 KiB to 256 MiB.
const SIZES: [u64; 7] = [
    64 << 10,
    256 << 10,
    1 << 20,
    4 << 20,
    16 << 20,
    64 << 20,
    256 << 20,
];

/// Numbers that tune the measurement.
struct Tuning {
    /// Bytes copied in one measured run, in one direction.
    run_bytes: u64,
    /// Copies in one measured run, at least and at most.
    copies: [u64; 2],
    /// Runs of each size; the fastest counts, because disturbances only make runs longer.
    runs: usize,
    /// Least ratio of the speed of both directions at once to the faster one alone that counts as
    /// full duplex.
    full_ratio: f64,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            run_bytes: 256 << 20,
            copies: [4, 256],
            runs: 5,
            full_ratio: 1.3,
        }
    }
}

/// Speeds for copies of one size, in pinned memory that is reused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkPoint {
    /// Size of each copy in bytes.
    pub bytes: u64,
    /// Bytes per second to the host, alone.
    pub to_host_bytes_per_second: f64,
    /// Bytes per second from the host, alone.
    pub from_host_bytes_per_second: f64,
    /// Bytes per second of both directions at the same time, summed.
    pub both_bytes_per_second: f64,
}

/// A measured link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkProfile {
    /// Speeds by size, ascending.
    pub points: Vec<LinkPoint>,
    /// The link in an instance's form: speeds of the largest copies alone, the latency of the
    /// smallest ones, and whether both directions run at the same time.
    pub link: HostLink,
}

/// Measures the link between a GPU and pinned host memory; `None` on the CPU.
///
/// # Errors
/// [`ExecError::OutOfMemory`] unless 512 MiB are free on both sides; [`ExecError::Torch`].
pub fn measure_link(device: &Device) -> Result<Option<LinkProfile>, ExecError> {
    let Some(gpu) = device.gpu() else {
        return Ok(None);
    };
    let _no_graph = tch::no_grad_guard();
    let most = SIZES[SIZES.len() - 1];
    let on_device = || Tensor::f_empty([most as i64], (Kind::Uint8, device.place()));
    let tensors = [
        [on_device()?, on_device()?],
        [shim::pinned(most)?, shim::pinned(most)?],
    ];
    let mut carrier = Streams::new(gpu, Duplex::Full)?;
    let tuning = Tuning::default();
    let points = SIZES.map(|bytes| point(&mut carrier, &tensors, bytes, &tuning));
    let points: Vec<LinkPoint> = points.into_iter().collect::<Result<_, _>>()?;
    let link = fitted(&points, tuning.full_ratio);
    Ok(Some(LinkProfile { points, link }))
}

/// Speeds for one size. `tensors` are a pair on the device and a pair on the host; the first of
/// each pair serves copies to the host.
fn point(
    carrier: &mut dyn Carrier,
    [on_device, on_host]: &[[Tensor; 2]; 2],
    bytes: u64,
    tuning: &Tuning,
) -> Result<LinkPoint, ExecError> {
    let [least, most] = tuning.copies;
    let copies = (tuning.run_bytes / bytes).clamp(least, most);
    let part = |tensor: &Tensor| tensor.f_narrow(0, 0, bytes as i64);
    let mut seconds = |directions: &[Direction]| {
        let mut fastest = f64::INFINITY;
        for _ in 0..tuning.runs {
            carrier.settle(false);
            let start = Instant::now();
            let mut last = Vec::new();
            for _ in 0..copies {
                last.clear();
                for direction in directions {
                    let (to, from) = match direction {
                        Direction::ToHost => (&on_host[0], &on_device[0]),
                        Direction::FromHost => (&on_device[1], &on_host[1]),
                    };
                    let pair = Pair {
                        to: part(to)?,
                        from: part(from)?,
                    };
                    last.push(carrier.start(*direction, vec![pair], None)?);
                }
            }
            for ticket in &last {
                carrier.wait(*ticket).map_err(ExecError::Torch)?;
            }
            fastest = fastest.min(start.elapsed().as_secs_f64());
        }
        carrier.settle(false);
        Ok::<f64, ExecError>(fastest.max(1e-9))
    };
    let total = (copies * bytes) as f64;
    Ok(LinkPoint {
        bytes,
        to_host_bytes_per_second: total / seconds(&[Direction::ToHost])?,
        from_host_bytes_per_second: total / seconds(&[Direction::FromHost])?,
        both_bytes_per_second: 2.0 * total / seconds(&[Direction::ToHost, Direction::FromHost])?,
    })
}

/// The link with these speeds.
fn fitted(points: &[LinkPoint], full_ratio: f64) -> HostLink {
    let (Some(small), Some(large)) = (points.first(), points.last()) else {
        return HostLink::default();
    };
    let [to, from] = [
        large.to_host_bytes_per_second,
        large.from_host_bytes_per_second,
    ];
    let beyond = |slow: f64, fast: f64| small.bytes as f64 * (1.0 / slow - 1.0 / fast);
    let latency = beyond(small.to_host_bytes_per_second, to)
        .max(beyond(small.from_host_bytes_per_second, from))
        .max(0.0);
    HostLink {
        to_host_bytes_per_second: to as u64,
        from_host_bytes_per_second: from as u64,
        latency_ns: (latency * 1e9).round() as u64,
        duplex: match large.both_bytes_per_second >= full_ratio * to.max(from) {
            true => Duplex::Full,
            false => Duplex::Half,
        },
        host_memory_bytes: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Speeds of a link with a latency, by size.
    fn points(link: &HostLink, both: f64) -> Vec<LinkPoint> {
        let speed = |bytes: u64, of: u64| {
            let seconds = bytes as f64 / of as f64 + link.latency_ns as f64 * 1e-9;
            bytes as f64 / seconds
        };
        let point = |bytes: u64| LinkPoint {
            bytes,
            to_host_bytes_per_second: speed(bytes, link.to_host_bytes_per_second),
            from_host_bytes_per_second: speed(bytes, link.from_host_bytes_per_second),
            both_bytes_per_second: both,
        };
        SIZES.iter().map(|bytes| point(*bytes)).collect()
    }

    #[test]
    fn a_link_is_found_again_from_its_speeds() {
        let link = HostLink {
            latency_ns: 5_000,
            ..HostLink::new(24_000_000_000, 50_000_000_000)
        };
        let found = fitted(&points(&link, 70e9), 1.3);
        let close = |a: u64, b: u64| (a as f64 / b as f64 - 1.0).abs() < 0.01;
        assert!(close(
            found.to_host_bytes_per_second,
            link.to_host_bytes_per_second
        ));
        assert!(close(
            found.from_host_bytes_per_second,
            link.from_host_bytes_per_second
        ));
        assert!(close(found.latency_ns, link.latency_ns), "{found:?}");
        assert_eq!(found.duplex, Duplex::Full);
        assert_eq!(fitted(&points(&link, 52e9), 1.3).duplex, Duplex::Half);
    }

    #[test]
    fn the_cpu_has_no_link() {
        let device = Device::open("cpu", true).expect("the CPU");
        assert_eq!(measure_link(&device), Ok(None));
    }
}
