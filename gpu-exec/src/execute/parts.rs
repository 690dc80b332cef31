//! Parts of an arena: of registers, and of the outputs in them.

use crate::training::Slot;

/// A part of the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub offset: u64,
    pub bytes: u64,
}

/// A register's part: the whole, which a computation may use, and the bytes of its tensor. These
/// are fewer if a smaller tensor was computed in place: the rest may then belong to another tensor.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    pub whole: Part,
    pub bytes: u64,
}

impl Taken {
    /// The part that the tensor takes.
    pub fn held(self) -> Part {
        Part {
            bytes: self.bytes,
            ..self.whole
        }
    }

    /// The part of the whole that the tensor does not use.
    pub fn rest(self) -> Part {
        Part {
            offset: self.whole.offset + self.bytes,
            bytes: self.whole.bytes - self.bytes,
        }
    }
}

/// Places of outputs of these sizes, one behind the other; one place if the sizes are unknown.
pub fn places(whole: Part, slots: &[Slot]) -> Vec<Part> {
    let sizes = slots.iter().map(|slot| slot.bytes);
    if slots.len() <= 1 || sizes.clone().sum::<u64>() > whole.bytes {
        let bytes = sizes.clone().next().unwrap_or(whole.bytes);
        return vec![Part {
            bytes: bytes.min(whole.bytes),
            ..whole
        }];
    }
    let mut offset = whole.offset;
    let place = |bytes: u64| {
        offset += bytes;
        Part {
            offset: offset - bytes,
            bytes,
        }
    };
    sizes.map(place).collect()
}
