//! Devices: where tensors live, and what memory they take there.

use crate::error::ExecError;
use crate::shim;
use std::sync::Once;
use tch::Device as Place;

/// A device to run on.
#[derive(Clone, Debug)]
pub struct Device {
    name: String,
    place: Place,
}

/// Memory of tensors on a device, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Allocated now.
    pub current: u64,
    /// Allocated at most since the last reset.
    pub peak: u64,
    /// Reserved from the device at most since the last reset; on the CPU what was allocated.
    pub reserved: u64,
}

impl Device {
    /// Opens `cpu`, `cuda` or `cuda:N`. On the CPU, memory is counted from here on; with `deterministic`, the same
    /// computation gives the same bits each time.
    ///
    /// # Errors
    /// [`ExecError::Device`] for another name, or a device that libtorch cannot use.
    pub fn open(name: &str, deterministic: bool) -> Result<Self, ExecError> {
        let fail = |problem: &str| {
            Err(ExecError::Device {
                device: name.into(),
                problem: problem.into(),
            })
        };
        static COUNTED: Once = Once::new();
        COUNTED.call_once(shim::count_cpu_memory);
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
        shim::set_precise(deterministic);
        Ok(Device {
            name: name.into(),
            place,
        })
    }

    /// As the user wrote it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// For `tch`.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Waits until everything that was started is done.
    pub fn synchronise(&self) {
        if let Place::Cuda(index) = self.place {
            tch::Cuda::synchronize(index as i64);
        }
    }

    fn index(&self) -> i32 {
        match self.place {
            Place::Cuda(index) => index as i32,
            _ => -1,
        }
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

    /// Peaks start again from what is allocated now.
    ///
    /// # Errors
    /// [`ExecError::Torch`].
    pub fn reset_peak(&self) -> Result<(), ExecError> {
        shim::reset_peak(self.index())
    }

    /// Gives cached memory back to the device.
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

/// The CUDA part of libtorch is loaded where it is wanted and there, so that one binary runs with and without.
fn load_cuda() {
    // SAFETY: a library that registers operators when it is loaded; it is never unloaded.
    unsafe {
        libc::dlopen(
            c"libtorch_cuda.so".as_ptr(),
            libc::RTLD_NOW | libc::RTLD_GLOBAL,
        )
    };
}
