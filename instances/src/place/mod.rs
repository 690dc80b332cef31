//! Buffers with given lives, and their addresses: dynamic storage allocation.
//!
//! A buffer is live in `[lower, upper)`, and takes `size` bytes from its offset on. Two buffers
//! that are live at the same moment may not share an address. The *load* of a moment is the sum of
//! the live sizes; the *height* of a placement is its largest end. The height is at least the
//! largest load. This module does not optimise.
//!
//! | module | concept |
//! |---|---|
//! | `buffer` | [`Buffer`], its [`Gap`]s and [`Piece`]s |
//! | `lives` | [`Lives`]: validated sets of buffers |
//! | `load` | live bytes over time: [`Load`], [`Section`] |
//! | `csv` | records of a table, with the place of each field |
//! | `read`, `write` | MiniMalloc's tables of lives and placements |
//! | `certificate` | [`BoundCertificate`]: a lower bound on the height, with its argument |
//! | `placement` | [`Placement`]: an offset for each buffer; its [`replay`](Placement::replay) |
//!
//! ```
//! use remat_instances::place::{self, Placement};
//!
//! let table = "id,lower,upper,size\nx,0,2,4\ny,1,3,8\nz,2,4,4\n";
//! let lives = place::read_lives_bytes("lives.12.csv", table.as_bytes())?;
//! assert_eq!((lives.capacity(), lives.load().bytes), (Some(12), 12));
//! let placement = Placement::new(vec![0, 4, 0]);
//! assert_eq!(placement.replay(&lives)?.height, 12);
//! let clash = Placement::new(vec![0, 3, 0]).replay(&lives).unwrap_err();
//! assert!(clash.to_string().contains("\"x\" and \"y\""));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod buffer;
mod certificate;
mod csv;
mod lives;
mod load;
mod placement;
mod read;
mod write;

pub use buffer::{Buffer, Gap, Piece};
pub use certificate::{Argument, BoundCertificate, CERTIFICATE_HEADER, CertificateError, WASTE};
pub use lives::{BufferFault, Lives, LivesError};
pub use load::{Load, Section};
pub use placement::{Placement, PlacementError, Replayed};
pub use read::{ReadLivesError, capacity_in_name, read_lives, read_lives_bytes, read_placement};
pub use write::{write_lives, write_placement};
