//! Generated lives.

use remat_instances::place::{Buffer, Lives};

/// Shape of generated lives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// A training step: activations live until their gradients, temporaries, weights' gradients.
    Training,
    /// Lives of up to a tenth of the time anywhere, sizes of up to 1 MiB.
    Random,
    /// Lives between two random moments.
    Long,
    /// Lives and sizes that spread over many powers of two.
    Spread,
}

pub(super) const SHAPES: [Shape; 4] = [Shape::Training, Shape::Random, Shape::Long, Shape::Spread];

/// Lives of a shape, the same on every machine.
pub(super) fn generate(shape: Shape, count: u64) -> Result<Lives, Box<dyn std::error::Error>> {
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
