//! Devices, and the memory of tensors on them.

use crate::error::ExecError;
use crate::shim;
use std::sync::{Once, OnceLock};
use std::time::Instant;
use tch::Device as Place;

/// Clock that measures seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// Time on the wall.
    #[default]
    Wall,
    /// Processor time of this process, which other processes on a busy machine change less.
    Cpu,
}

/// A device to run on.
#[derive(Clone, Debug)]
pub struct Device {
    name: String,
    place: Place,
    clock: Clock,
}

/// Memory of tensors on a device, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Allocated now.
    pub current: u64,
    /// Allocated at most since the last reset.
    pub peak: u64,
    /// Reserved from the device at most since the last reset; on the CPU the allocated bytes.
    pub reserved: u64,
}

impl Device {
    /// Opens `cpu`, `cuda` or `cuda:N`. On the CPU, memory is counted from this call on. With
    /// `deterministic`, the same computation gives the same bits each time.
    ///
    /// # Errors
    /// [`ExecError::Device`] for another name, or a device that libtorch cannot use;
    /// [`ExecError::Torch`].
    pub fn open(name: &str, deterministic: bool) -> Result<Self, ExecError> {
        let fail = |problem: &str| {
            Err(ExecError::Device {
                device: name.into(),
                problem: problem.into(),
            })
        };
        static COUNTED: Once = Once::new();
        COUNTED.call_once(|| {
            shim::count_cpu_memory();
            keep_freed_memory();
        });
        let place = match name.split_once(':') {
            None if name == "cpu" => Place::Cpu,
            None if name == "cuda" => Place::Cuda(0),
            Some(("cuda", index)) => match index.parse() {
                Ok(index) => Place::Cuda(index),
                Err(_) => return fail("the number of the GPU is no number"),
            },
            _ => return fail("there are cpu, cuda and cuda:N"),
        };
        if let Place::Cuda(index) = place {
            set_defaults(deterministic);
            load_cuda();
            if !tch::Cuda::is_available() {
                return fail(
                    "libtorch finds no usable GPU (a libtorch with CUDA and a driver are needed)",
                );
            }
            let count = tch::Cuda::device_count();
            if index as i64 >= count {
                return fail(&format!("there are {count} GPUs, numbered from 0"));
            }
        }
        shim::set_precise(deterministic)?;
        Ok(Device {
            name: name.into(),
            place,
            clock: Clock::Wall,
        })
    }

    /// The same device with another clock.
    ///
    /// # Errors
    /// [`ExecError::Device`] for [`Clock::Cpu`] on a GPU.
    pub fn with_clock(mut self, clock: Clock) -> Result<Self, ExecError> {
        if clock == Clock::Cpu && self.place != Place::Cpu {
            return Err(ExecError::Device {
                device: self.name,
                problem: "its work takes no time of the processors: use the clock on the wall"
                    .into(),
            });
        }
        self.clock = clock;
        Ok(self)
    }

    /// Seconds by the device's clock, from an arbitrary moment.
    pub(crate) fn seconds(&self) -> f64 {
        static START: OnceLock<Instant> = OnceLock::new();
        match self.clock {
            Clock::Wall => START.get_or_init(Instant::now).elapsed().as_secs_f64(),
            Clock::Cpu => cpu_seconds(),
        }
    }

    /// Returns whether freed memory stays reserved for the next tensors.
    pub fn caches(&self) -> bool {
        matches!(self.place, Place::Cuda(_))
    }

    /// Name as the user wrote it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The device as `tch` names it.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Waits until all started work is done.
    pub fn synchronise(&self) {
        if let Place::Cuda(index) = self.place {
            tch::Cuda::synchronize(index as i64);
        }
    }

    /// Waits until all computations are done; copies to the host and back go on.
    pub(crate) fn synchronise_computations(&self) -> Result<(), ExecError> {
        self.gpu().map_or(Ok(()), shim::synchronise_stream)
    }

    /// Number of the GPU; `None` on the CPU.
    pub(crate) fn gpu(&self) -> Option<i32> {
        match self.place {
            Place::Cuda(index) => Some(index as i32),
            _ => None,
        }
    }

    fn index(&self) -> i32 {
        self.gpu().unwrap_or(-1)
    }

    /// Memory of tensors.
    ///
    /// # Errors
    /// [`ExecError::Torch`].
    pub fn memory(&self) -> Result<Memory, ExecError> {
        let [current, peak, reserved] =
            shim::memory(self.index())?.map(|bytes| bytes.max(0) as u64);
        Ok(Memory {
            current,
            peak,
            reserved,
        })
    }

    /// Bytes that are still available on the CPU, where the system reports them; `None` on a GPU,
    /// which reports an error when its memory runs out.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        match self.place {
            Place::Cpu => host_free_bytes(),
            _ => None,
        }
    }

    /// Resets peaks to the memory allocated now.
    ///
    /// # Errors
    /// [`ExecError::Torch`].
    pub fn reset_peak(&self) -> Result<(), ExecError> {
        shim::reset_peak(self.index())
    }

    /// Returns cached memory to the device.
    ///
    /// # Errors
    /// [`ExecError::Torch`].
    pub fn empty_cache(&self) -> Result<(), ExecError> {
        match self.place {
            Place::Cuda(_) => shim::empty_cache(),
            _ => Ok(()),
        }
    }
}

/// Keeps freed memory in the process. Otherwise the C library returns large blocks to the system at
/// once, and the next tensor pays for every page anew. (Without this, plans that hold more memory
/// ran up to a quarter longer than the sum of their operators; page faults were not counted
/// separately.)
fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets two numbers of the allocator: large requests get no separate mappings, and
    // memory is not trimmed.
    unsafe {
        libc::mallopt(libc::M_MMAP_MAX, 0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, -1);
    }
}

/// Bytes of the host's memory that are still available, where the system reports them.
pub(crate) fn host_free_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Sets what libraries of CUDA read when they are loaded, unless the user has set it. Expandable
/// segments leave no rest of a block unused, so tensors take what the plan says. With
/// `deterministic`, cuBLAS needs workspaces of fixed size, or libtorch warns at every product.
fn set_defaults(deterministic: bool) {
    let mut defaults = vec![(c"PYTORCH_CUDA_ALLOC_CONF", c"expandable_segments:True")];
    if deterministic {
        defaults.push((c"CUBLAS_WORKSPACE_CONFIG", c":4096:8"));
    }
    for (name, value) in defaults {
        // SAFETY: two C strings. Threads of this program read no environment at the same time.
        unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 0) };
    }
}

/// Processor time of this process in seconds.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a valid place. The clock exists on every system that libtorch runs on; elsewhere the
    // time stays zero.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Loads the CUDA part of libtorch if it is wanted and installed, so that one binary runs with and
/// without it.
fn load_cuda() {
    // SAFETY: a library that registers operators when it is loaded, and is never unloaded.
    unsafe {
        libc::dlopen(
            c"libtorch_cuda.so".as_ptr(),
            libc::RTLD_NOW | libc::RTLD_GLOBAL,
        )
    };
}
