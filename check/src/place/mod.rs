//! Checkers of addresses: placements of buffers, and bounds on their height.
//!
//! | module | concept |
//! |---|---|
//! | `offsets` | whether a placement is one, in O(n log n) |
//! | `bound` | whether a certificate shows its bound |
//! | `refutation` | search trees without a placement |
//!
//! ```
//! use remat_check::place::{Evidence, bound, offsets};
//! use remat_instances::place::{Argument, BoundCertificate, Placement, read_lives_bytes};
//!
//! let lives = read_lives_bytes("x.csv", b"id,lower,upper,size\nx,0,2,4\ny,1,3,8\n")?;
//! assert_eq!(offsets(&lives, &Placement::new(vec![8, 0]))?, 12);
//! let certificate = BoundCertificate {
//!     bound: 12,
//!     argument: Argument::Stack { time: 1 },
//!     is_sum: false,
//!     buffers: vec![],
//! };
//! assert_eq!(bound(&lives, &certificate)?, Evidence::Load);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bound;
mod offsets;
mod refutation;

pub use bound::{BoundFault, Evidence, bound};
pub use offsets::{OffsetFault, offsets};
