//! Calls into the C++ side (`shim.cpp`), for functions that `tch` lacks.

use crate::error::ExecError;
use std::ffi::{CStr, c_char, c_void};
use tch::Tensor;
use torch_sys::C_tensor;

unsafe extern "C" {
    fn remat_message() -> *const c_char;
    fn remat_count_cpu_memory();
    fn remat_arena_begin(storage: *const C_tensor) -> i32;
    fn remat_arena_end();
    fn remat_arena_offer(places: *const i64, count: i64, scratch: i64, scratch_bytes: i64);
    fn remat_arena_high() -> i64;
    fn remat_arena_left() -> i64;
    fn remat_arena_turn(at: *const c_void) -> i64;
    fn remat_view_like(
        out: *mut *mut C_tensor,
        storage: *const C_tensor,
        offset: i64,
        like: *const C_tensor,
    ) -> i32;
    fn remat_is_dense(t: *const C_tensor) -> bool;
    fn remat_copy_part(to: *const C_tensor, from: *const C_tensor, offset: i64, bytes: i64) -> i32;
    fn remat_pinned(out: *mut *mut C_tensor, bytes: i64) -> i32;
    fn remat_synchronise_stream(device: i32) -> i32;
    fn remat_lanes_new(out: *mut *mut c_void, device: i32, half: bool) -> i32;
    fn remat_lanes_free(lanes: *mut c_void);
    fn remat_lanes_copy(
        event: *mut *mut c_void,
        lanes: *mut c_void,
        to_host: bool,
        to: *const *const C_tensor,
        from: *const *const C_tensor,
        count: i64,
        after: *mut c_void,
    ) -> i32;
    fn remat_lanes_wait(lanes: *mut c_void, event: *mut c_void, host: bool) -> i32;
    fn remat_mark(event: *mut *mut c_void, device: i32) -> i32;
    fn remat_between(milliseconds: *mut f64, from: *mut c_void, to: *mut c_void) -> i32;
    fn remat_lanes_synchronise(lanes: *mut c_void) -> i32;
    fn remat_event_free(event: *mut c_void);
    fn remat_checksum(storage: *const C_tensor, offset: i64, bytes: i64) -> u64;
    fn remat_memory(device: i32, current: *mut i64, peak: *mut i64, reserved: *mut i64) -> i32;
    fn remat_reset_peak(device: i32) -> i32;
    fn remat_draw(t: *const C_tensor, what: i32, number: f64, seed: u64) -> i32;
    fn remat_empty_cache() -> i32;
    fn remat_set_precise(deterministic: bool) -> i32;
    fn remat_set_tf32(rounds: bool) -> i32;
    #[cfg(test)]
    fn remat_tf32() -> bool;
    fn remat_convolution_backward(
        out: *mut *mut C_tensor,
        dy: *const C_tensor,
        x: *const C_tensor,
        weight: *const C_tensor,
        bias: i64,
        stride: *const i64,
        padding: *const i64,
        dilation: *const i64,
        transposed: bool,
        axes: i64,
        groups: i64,
        want_input: bool,
        want_parameters: bool,
    ) -> i32;
    fn remat_batch_norm_backward(
        out: *mut *mut C_tensor,
        dy: *const C_tensor,
        x: *const C_tensor,
        weight: *const C_tensor,
        mean: *const C_tensor,
        invstd: *const C_tensor,
        eps: f64,
        want_input: bool,
    ) -> i32;
    fn remat_layer_norm_backward(
        out: *mut *mut C_tensor,
        dy: *const C_tensor,
        x: *const C_tensor,
        features: i64,
        mean: *const C_tensor,
        rstd: *const C_tensor,
        weight: *const C_tensor,
        bias: *const C_tensor,
        want_input: bool,
    ) -> i32;
    fn remat_attention(
        out: *mut *mut C_tensor,
        q: *const C_tensor,
        k: *const C_tensor,
        v: *const C_tensor,
        causal: bool,
    ) -> i32;
    fn remat_attention_backward(
        out: *mut *mut C_tensor,
        dy: *const C_tensor,
        q: *const C_tensor,
        k: *const C_tensor,
        v: *const C_tensor,
        y: *const C_tensor,
        lse: *const C_tensor,
        causal: bool,
    ) -> i32;
}

/// The outcome of a call, with its message.
fn checked(code: i32) -> Result<(), ExecError> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: the message is a C string that stays until the next failure on this thread.
    let text = unsafe { CStr::from_ptr(remat_message()) };
    Err(ExecError::of_torch(&text.to_string_lossy()))
}

/// Runs a call that writes up to `N` tensors; tensors that it leaves out are `None`.
fn tensors<const N: usize>(
    call: impl FnOnce(*mut *mut C_tensor) -> i32,
) -> Result<[Option<Tensor>; N], ExecError> {
    let mut out = [std::ptr::null_mut(); N];
    checked(call(out.as_mut_ptr()))?;
    // SAFETY: a pointer that is not null is a tensor that the call made for us.
    Ok(out.map(|raw| (!raw.is_null()).then(|| unsafe { Tensor::from_ptr(raw) })))
}

/// From here on, every byte that a tensor on the CPU requests is counted.
pub fn count_cpu_memory() {
    // SAFETY: installs a static allocator; memory that others allocated keeps its own deleter.
    unsafe { remat_count_cpu_memory() }
}

/// Makes the memory of a storage on the CPU the arena until [`arena_end`].
pub fn arena_begin(storage: &Tensor) -> Result<(), ExecError> {
    // SAFETY: a live tensor; the caller keeps it until the end.
    checked(unsafe { remat_arena_begin(storage.as_ptr()) })
}

/// Ends the arena: all memory from it has been returned.
pub fn arena_end() {
    // SAFETY: no pointers.
    unsafe { remat_arena_end() }
}

/// Offers parts of the arena, as offsets and bytes, to the next allocations. A place is for a
/// tensor of exactly its size that is requested at a turn (the third number; unknown if negative).
/// The scratch part is for other allocations, as far as it is free.
pub fn arena_offer(places: &[[i64; 3]], [scratch, scratch_bytes]: [i64; 2]) {
    // SAFETY: as many triples as stated.
    unsafe {
        remat_arena_offer(
            places.as_ptr().cast(),
            places.len() as i64,
            scratch,
            scratch_bytes,
        )
    }
}

/// The turn at which the memory of a tensor was requested since the last offer.
pub fn arena_turn(tensor: &Tensor) -> Option<u32> {
    // SAFETY: an address that is only compared.
    u32::try_from(unsafe { remat_arena_turn(tensor.data_ptr()) }).ok()
}

/// Withdraws all offers.
pub fn arena_withdraw() {
    // SAFETY: no places.
    unsafe { remat_arena_offer(std::ptr::null(), -1, 0, 0) }
}

/// Number of blocks that were given out and not returned.
pub fn arena_left() -> i64 {
    // SAFETY: no pointers.
    unsafe { remat_arena_left() }
}

/// Bytes up to the largest end of a block that was given out.
pub fn arena_high() -> u64 {
    // SAFETY: no pointers.
    unsafe { remat_arena_high() }.max(0) as u64
}

/// A view of a tensor of bytes at an offset in bytes, with another tensor's type, shape and layout.
pub fn view_like(storage: &Tensor, offset: u64, like: &Tensor) -> Result<Tensor, ExecError> {
    // SAFETY: live tensors; the caller keeps the view within the storage.
    let [view] = tensors(|out| unsafe {
        remat_view_like(out, storage.as_ptr(), offset as i64, like.as_ptr())
    })?;
    view.ok_or_else(|| ExecError::Torch("a view of a storage was not made".into()))
}

/// Returns whether a tensor's elements fill its memory without holes.
pub fn is_dense(tensor: &Tensor) -> bool {
    // SAFETY: a live tensor.
    unsafe { remat_is_dense(tensor.as_ptr()) }
}

/// A checksum of a part of a storage on the CPU.
pub fn checksum(storage: &Tensor, offset: u64, bytes: u64) -> u64 {
    // SAFETY: a live tensor; the caller keeps the part within it.
    unsafe { remat_checksum(storage.as_ptr(), offset as i64, bytes as i64) }
}

/// Bytes allocated now, and at most allocated and reserved since the last reset.
pub fn memory(device: i32) -> Result<[i64; 3], ExecError> {
    let [mut current, mut peak, mut reserved] = [0; 3];
    // SAFETY: three valid places.
    checked(unsafe { remat_memory(device, &mut current, &mut peak, &mut reserved) })?;
    Ok([current, peak, reserved])
}

/// Resets the peak to the memory allocated now.
pub fn reset_peak(device: i32) -> Result<(), ExecError> {
    // SAFETY: no pointers.
    checked(unsafe { remat_reset_peak(device) })
}

/// Copies bytes of one tensor on the CPU to the same place of another; both are dense.
pub fn copy_part(to: &Tensor, from: &Tensor, offset: u64, bytes: u64) -> Result<(), ExecError> {
    // SAFETY: live tensors; the other side checks their sizes.
    checked(unsafe { remat_copy_part(to.as_ptr(), from.as_ptr(), offset as i64, bytes as i64) })
}

/// Allocates pinned host memory.
pub fn pinned(bytes: u64) -> Result<Tensor, ExecError> {
    // SAFETY: no pointers except the place for the tensor.
    let [made] = tensors(|out| unsafe { remat_pinned(out, bytes as i64) })?;
    made.ok_or_else(|| ExecError::Torch("pinned memory was not made".into()))
}

/// Waits for the stream of computations on a GPU, and for no other stream.
pub fn synchronise_stream(device: i32) -> Result<(), ExecError> {
    // SAFETY: no pointers.
    checked(unsafe { remat_synchronise_stream(device) })
}

/// Streams of a GPU that copy to the host and back beside its stream of computations.
pub struct Lanes(*mut c_void);

/// An event of such a stream: the end of a copy.
pub struct Event(*mut c_void);

impl Lanes {
    /// One stream for each direction, or with `half` one for both.
    pub fn new(device: i32, half: bool) -> Result<Self, ExecError> {
        let mut made = std::ptr::null_mut();
        // SAFETY: a valid place.
        checked(unsafe { remat_lanes_new(&mut made, device, half) })?;
        Ok(Lanes(made))
    }

    /// Starts copies to the first tensor of each pair from the second, once all earlier
    /// computations and the copy of `after` are done. Host tensors must be pinned, and all tensors
    /// must live until the copy has ended.
    pub fn copy(
        &self,
        to_host: bool,
        pairs: &[(&Tensor, &Tensor)],
        after: Option<&Event>,
    ) -> Result<Event, ExecError> {
        let to: Vec<_> = pairs.iter().map(|(to, _)| to.as_ptr()).collect();
        let from: Vec<_> = pairs.iter().map(|(_, from)| from.as_ptr()).collect();
        let mut made = std::ptr::null_mut();
        let after = after.map_or(std::ptr::null_mut(), |event| event.0);
        let count = pairs.len() as i64;
        // SAFETY: live tensors, as many as stated, live streams, and a live event or null.
        checked(unsafe {
            remat_lanes_copy(
                &mut made,
                self.0,
                to_host,
                to.as_ptr(),
                from.as_ptr(),
                count,
                after,
            )
        })?;
        Ok(Event(made))
    }

    /// Makes later computations wait for an event. With `host`, returns once it has occurred.
    pub fn wait(&self, event: &Event, host: bool) -> Result<(), ExecError> {
        // SAFETY: live streams and a live event.
        checked(unsafe { remat_lanes_wait(self.0, event.0, host) })
    }

    /// Waits for all copies.
    pub fn synchronise(&self) -> Result<(), ExecError> {
        // SAFETY: live streams.
        checked(unsafe { remat_lanes_synchronise(self.0) })
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and freed once.
        unsafe { remat_lanes_free(self.0) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: made by `copy`, and freed once.
        unsafe { remat_event_free(self.0) }
    }
}

/// Distribution of random numbers in a tensor.
#[derive(Clone, Copy, Debug)]
pub enum Draw {
    /// Normal, mean zero, variance one.
    Normal,
    /// One with this probability, else zero.
    Share(f64),
    /// Integers from zero to below this, uniformly.
    Below(i64),
}

/// A new tensor of random numbers, the same for the same seed, shape, kind and place. They come
/// from a separate generator: other draws and other threads do not affect them.
pub fn drawn(
    draw: Draw,
    shape: &[i64],
    (kind, place): (tch::Kind, tch::Device),
    seed: i64,
) -> Result<Tensor, ExecError> {
    let tensor = Tensor::f_empty(shape, (kind, place))?;
    let (what, number) = match draw {
        Draw::Normal => (0, 0.0),
        Draw::Share(share) => (1, share),
        Draw::Below(limit) => (2, limit as f64),
    };
    // SAFETY: a live tensor.
    checked(unsafe { remat_draw(tensor.as_ptr(), what, number, seed as u64) })?;
    Ok(tensor)
}

/// Returns cached memory of the GPU.
pub fn empty_cache() -> Result<(), ExecError> {
    // SAFETY: no pointers.
    checked(unsafe { remat_empty_cache() })
}

/// With `deterministic`, allows only algorithms that give the same bits each time.
pub fn set_precise(deterministic: bool) -> Result<(), ExecError> {
    // SAFETY: no pointers.
    checked(unsafe { remat_set_precise(deterministic) })
}

/// Chooses whether products and convolutions in float32 round their factors to 19 bits (TF32).
pub fn set_tf32(rounds: bool) -> Result<(), ExecError> {
    // SAFETY: no pointers.
    checked(unsafe { remat_set_tf32(rounds) })
}

/// Returns whether products and convolutions in float32 may round their factors (TF32).
#[cfg(test)]
pub fn tf32() -> bool {
    // SAFETY: no pointers.
    unsafe { remat_tf32() }
}

/// A time on the stream of computations of a GPU.
pub struct Mark(Event);

impl Mark {
    /// Marks the end of all work that was started so far.
    pub fn now(device: i32) -> Result<Self, ExecError> {
        let mut made = std::ptr::null_mut();
        // SAFETY: a valid place.
        checked(unsafe { remat_mark(&mut made, device) })?;
        Ok(Mark(Event(made)))
    }

    /// Seconds until a later mark; both must have occurred.
    pub fn seconds_until(&self, later: &Mark) -> Result<f64, ExecError> {
        let mut milliseconds = 0.0;
        // SAFETY: live events.
        checked(unsafe { remat_between(&mut milliseconds, self.0.0, later.0.0) })?;
        Ok(milliseconds * 1e-3)
    }
}

/// Strides, padding and other numbers of a convolution, one entry for each axis.
pub struct Geometry<'a> {
    pub stride: &'a [i64],
    pub padding: &'a [i64],
    pub dilation: &'a [i64],
    pub transposed: bool,
    pub groups: i64,
}

/// Gradients of a convolution's input, weight and bias, as far as wanted.
pub fn convolution_backward(
    dy: &Tensor,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<i64>,
    geometry: &Geometry<'_>,
    [want_input, want_parameters]: [bool; 2],
) -> Result<[Option<Tensor>; 3], ExecError> {
    // SAFETY: live tensors, and arrays with one entry for each axis.
    tensors(|out| unsafe {
        remat_convolution_backward(
            out,
            dy.as_ptr(),
            x.as_ptr(),
            weight.as_ptr(),
            bias.unwrap_or(0),
            geometry.stride.as_ptr(),
            geometry.padding.as_ptr(),
            geometry.dilation.as_ptr(),
            geometry.transposed,
            geometry.stride.len() as i64,
            geometry.groups,
            want_input,
            want_parameters,
        )
    })
}

/// Gradients of a batch normalisation's input (as far as wanted), scale and shift.
pub fn batch_norm_backward(
    dy: &Tensor,
    x: &Tensor,
    scale: &Tensor,
    [mean, invstd]: [&Tensor; 2],
    eps: f64,
    want_input: bool,
) -> Result<[Option<Tensor>; 3], ExecError> {
    // SAFETY: live tensors.
    tensors(|out| unsafe {
        remat_batch_norm_backward(
            out,
            dy.as_ptr(),
            x.as_ptr(),
            scale.as_ptr(),
            mean.as_ptr(),
            invstd.as_ptr(),
            eps,
            want_input,
        )
    })
}

/// Gradients of a layer normalisation's input (as far as wanted), scale and shift.
pub fn layer_norm_backward(
    dy: &Tensor,
    x: &Tensor,
    features: i64,
    [mean, rstd]: [&Tensor; 2],
    [scale, shift]: [&Tensor; 2],
    want_input: bool,
) -> Result<[Option<Tensor>; 3], ExecError> {
    // SAFETY: live tensors.
    tensors(|out| unsafe {
        remat_layer_norm_backward(
            out,
            dy.as_ptr(),
            x.as_ptr(),
            features,
            mean.as_ptr(),
            rstd.as_ptr(),
            scale.as_ptr(),
            shift.as_ptr(),
            want_input,
        )
    })
}

/// Attention on CUDA: output and log-sum-exp.
pub fn attention([q, k, v]: [&Tensor; 3], causal: bool) -> Result<[Option<Tensor>; 2], ExecError> {
    // SAFETY: live tensors.
    tensors(|out| unsafe { remat_attention(out, q.as_ptr(), k.as_ptr(), v.as_ptr(), causal) })
}

/// Gradients of queries, keys and values on CUDA; `output` is the result of [`attention`].
pub fn attention_backward(
    dy: &Tensor,
    [q, k, v]: [&Tensor; 3],
    [y, lse]: [&Tensor; 2],
    causal: bool,
) -> Result<[Option<Tensor>; 3], ExecError> {
    // SAFETY: live tensors.
    tensors(|out| unsafe {
        remat_attention_backward(
            out,
            dy.as_ptr(),
            q.as_ptr(),
            k.as_ptr(),
            v.as_ptr(),
            y.as_ptr(),
            lse.as_ptr(),
            causal,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind};

    #[test]
    fn draws_are_of_their_seed_alone() {
        let of = |seed: i64| {
            let normal = drawn(Draw::Normal, &[500], (Kind::Float, Device::Cpu), seed);
            let mask = drawn(Draw::Share(0.9), &[500], (Kind::Bool, Device::Cpu), seed);
            let ids = drawn(Draw::Below(7), &[500], (Kind::Int64, Device::Cpu), seed);
            [normal, mask, ids].map(|t| t.expect("the processor draws"))
        };
        let alone = of(11);
        let kept = alone[1].sum(Kind::Int64).int64_value(&[]);
        assert!((400..500).contains(&kept), "{kept}");
        assert_eq!(
            (
                alone[2].min().int64_value(&[]),
                alone[2].max().int64_value(&[])
            ),
            (0, 6)
        );
        assert!(alone.iter().zip(of(12)).all(|(a, b)| !a.equal(&b)));
        // Other threads draw from their own seeds and from libtorch's generator meanwhile.
        std::thread::scope(|scope| {
            for seed in 0..3 {
                scope.spawn(move || {
                    for k in 0..200 {
                        let _ = of(1000 * seed + k);
                        let _ = Tensor::randn([100], (Kind::Float, Device::Cpu));
                    }
                });
            }
            for _ in 0..200 {
                assert!(alone.iter().zip(of(11)).all(|(a, b)| a.equal(&b)));
            }
        });
    }
}
