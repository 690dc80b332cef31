//! Small sets of buffers, and the least height by enumeration of all offsets.

use remat_instances::place::{Buffer, Gap, Lives, Piece};

/// Random numbers by xorshift (Marsaglia 2003).
pub struct Random(u64);

impl Random {
    /// Numbers of a seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            random.below(2);
        }
        random
    }

    /// A number below a limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

/// Buffers of one of eight kinds, by seed: with and without alignments, gaps, windows and fixed
/// offsets. Fixed ones may clash.
pub fn small_lives(seed: u64) -> Lives {
    let mut random = Random::new(seed);
    let (aligned, gapped) = (seed % 2 == 1, seed / 2 % 2 == 1);
    let (fixed, windowed) = (seed / 4 % 2 == 1, seed / 8 % 2 == 1);
    let count = 2 + random.below(5);
    let times = 3 + random.below(5);
    let buffers = (0..count).map(|k| {
        let lower = random.below(times);
        let upper = lower + 1 + random.below(times - lower);
        let mut buffer = Buffer::new(format!("b{k}"), lower, upper, 1 + random.below(5));
        if aligned {
            buffer.alignment = [1, 1, 2, 3, 4][random.below(5) as usize];
        }
        if gapped && upper - lower > 2 && random.below(2) == 0 {
            let at = lower + 1 + random.below(upper - lower - 2);
            let start = random.below(buffer.size);
            let end = start + 1 + random.below(buffer.size - start);
            let window = (windowed && random.below(2) == 0).then_some((start, end));
            buffer.gaps.push(Gap {
                lower: at,
                upper: at + 1,
                window,
            });
        }
        if fixed && random.below(4) == 0 {
            buffer.offset = Some(buffer.alignment * random.below(3));
        }
        buffer
    });
    Lives::new(buffers.collect()).expect("sound buffers")
}

/// The least height of buffers, by trying all offsets from the load on; `None` above `limit`.
pub fn least_height(lives: &Lives, limit: u64) -> Option<u64> {
    (lives.load().bytes..=limit).find(|&height| fits(lives, height))
}

/// Returns whether buffers fit into a height, by trying all offsets.
pub fn fits(lives: &Lives, height: u64) -> bool {
    let mut order: Vec<usize> = (0..lives.buffers().len()).collect();
    order.sort_by_key(|&k| {
        let buffer = &lives.buffers()[k];
        (
            buffer.offset.is_none(),
            std::cmp::Reverse((buffer.upper - buffer.lower) * buffer.size),
        )
    });
    let pieces: Vec<Vec<Piece>> = order.iter().map(|&k| lives.buffers()[k].pieces()).collect();
    place_next(lives, &order, &pieces, &mut Vec::new(), height)
}

fn place_next(
    lives: &Lives,
    order: &[usize],
    pieces: &[Vec<Piece>],
    offsets: &mut Vec<u64>,
    height: u64,
) -> bool {
    let k = offsets.len();
    let Some(&index) = order.get(k) else {
        return true;
    };
    let buffer = &lives.buffers()[index];
    let end = pieces[k].iter().map(|piece| piece.end).max().unwrap_or(0);
    let mut offset = buffer.offset.unwrap_or(0);
    while offset + end <= height {
        let clashes = (0..k).any(|other| {
            pieces[other].iter().any(|a| {
                pieces[k].iter().any(|b| {
                    a.lower < b.upper
                        && b.lower < a.upper
                        && offsets[other] + a.start < offset + b.end
                        && offset + b.start < offsets[other] + a.end
                })
            })
        });
        if !clashes {
            offsets.push(offset);
            if place_next(lives, order, pieces, offsets, height) {
                return true;
            }
            offsets.pop();
        }
        if buffer.offset.is_some() || end == 0 {
            break;
        }
        offset += buffer.alignment;
    }
    false
}
