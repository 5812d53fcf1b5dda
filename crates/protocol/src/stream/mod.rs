//! The grammar of streams, and the one reader of it.
//!
//! A stream is read once, by [`Members`], and by nothing else: where two tar
//! readers disagree, an attacker shows one tree to the judge and another to the
//! host. Hence no leniency at all. A stream is
//!
//! ```text
//! stream  = member* zero zero ending
//! member  = [pax] header body?
//! pax     = header of type x, then records, filled up to a block with NUL
//! body    = as many bytes as the size says, filled up to a block with NUL
//! ending  = zero*                        Members::finish_plain
//!         | trailer                      Members::finish_trailer
//! ```
//!
//! - Never compressed; nothing is sniffed but to name the error.
//! - Headers are POSIX ustar: right unsigned checksum, magic `ustar\0` `00`, octal
//!   numbers with an end, text fields without bytes behind their NUL. Base-256
//!   numbers are refused, but for the modification time, where they are the only
//!   way to a time before 1970. Owners and device numbers are not read.
//! - Types `0 1 2 5 6` and the local PAX header `x`. Types 3 and 4, devices, are
//!   refused by name, every other byte as a typeflag.
//! - PAX keys `path`, `linkpath`, `size`, `mtime`, each once; attributes and access
//!   lists are dropped and noted; any other key is refused, and so is a line feed
//!   inside of a record. A size in both places must be the same, unless the header's
//!   is 0.
//! - Names: one leading `./` is stripped, one trailing `/` from a directory's; a
//!   root entry `./` is ignored. Then the rules of [`RelPath`](lazaret_tree::RelPath).
//! - Every name once; nothing below a file or a link; a hard link only to a file
//!   that came before.
//!
//! What breaks a rule that every file system keeps is a [`StreamError`]. What only
//! lazaret minds is a [`RejectedEntry`](lazaret_tree::RejectedEntry) inside the [`Member`].
//!
//! Memory: nothing is allocated by a claimed size. What is kept per entry is
//! bounded by [`StreamLimits`], `entries` and `name_bytes`.

mod decode_member;
mod error;
pub mod header;
mod input;
mod limit_counter;
mod limits;
mod member;
mod name_table;
mod names;
mod number;
mod pax;
mod reader;
mod trailer;
mod ustar;
mod writer;

pub use error::StreamError;
pub use limits::StreamLimits;
pub use member::{Member, MemberKind, MemberPath};
pub use reader::{Body, Members};
pub use trailer::{TRAILER_BYTES, Trailer, TrailerError};
pub use writer::{SendFileError, StreamWriter};
