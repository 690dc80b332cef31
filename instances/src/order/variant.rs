//! Variants of a graph: sets of edges that order its operators.

use std::fmt;
use std::str::FromStr;

/// Set of edges that apply in addition to the flow of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Variant {
    /// Data and `order_edges`: OLLA's own problem without its control edges. An order may run an
    /// update in place before another reader of the overwritten tensor.
    Free,
    /// `Free` with `sound_order_edges`: every order gives the results of the program, if the graph
    /// contains all such edges.
    Sound,
    /// `Sound` with `rng_order_edges`: random numbers are drawn in program order, so results are
    /// bitwise equal.
    #[default]
    SoundRng,
    /// `Free` with OLLA's heuristic control edges (arXiv 2210.12924, section 4.3), which may
    /// exclude optimal orders.
    Ctl,
}

impl Variant {
    /// All variants.
    pub const ALL: [Variant; 4] = [
        Variant::Free,
        Variant::Sound,
        Variant::SoundRng,
        Variant::Ctl,
    ];

    /// The name of the variant in files and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Variant::Free => "free",
            Variant::Sound => "sound",
            Variant::SoundRng => "sound+rng",
            Variant::Ctl => "ctl",
        }
    }

    /// Returns whether orders respect in-place overwrites.
    pub fn is_sound(self) -> bool {
        matches!(self, Variant::Sound | Variant::SoundRng)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Error of a text that is not a variant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the variant {0:?} is unknown; give free, sound, sound+rng or ctl")]
pub struct UnknownVariant(pub String);

/// Reads a variant from its [`Variant::as_str`] name.
///
/// ```
/// use remat_instances::order::Variant;
/// assert_eq!("sound+rng".parse(), Ok(Variant::SoundRng));
/// assert!("all".parse::<Variant>().unwrap_err().to_string().contains("free, sound"));
/// ```
impl FromStr for Variant {
    type Err = UnknownVariant;

    fn from_str(text: &str) -> Result<Self, UnknownVariant> {
        let known = Variant::ALL.into_iter().find(|v| v.as_str() == text);
        known.ok_or_else(|| UnknownVariant(text.into()))
    }
}
