//! Every byte that host and porter exchange.
//!
//! Both ends compile this crate, so a form is written and read by the same code. It reads
//! from [`Read`](std::io::Read), writes to [`Write`](std::io::Write), and knows neither
//! engines nor workspaces.
//!
//! # Conversations
//!
//! The host starts a porter by a [`Verb`]; both speak by its stdin and stdout.
//!
//! | verb | host → porter | porter → host |
//! |---|---|---|
//! | `deflated VERB` | as VERB, in one zlib stream ([`Decompressor`]) | as VERB, in one zlib stream ([`Compressor`]) |
//! | `dial` | bytes for the port | bytes from the port |
//! | `empty` | | |
//! | `export` | [`SurveyRequest`], then [`write_wanted`] | [`Survey`], then a stream |
//! | `gateway` | orders of `lazaret-egress` | its events |
//! | `hold` | any byte as a heartbeat, [`freeze::END`] | [`freeze::FreezeReply`] |
//! | `init` | [`init::InitRequest`] on its socket, then [`init::SpawnMessage`] | [`init::InitNotice`] |
//! | `layer` | | a tar of what the step changed |
//! | `lend` | [`SentCredential`] lines, `end` | [`CredentialEvent`] lines |
//! | `probe` | [`ProbeRequest`] as arguments | [`ProbeReport`] |
//! | `protect` | [`Protection`] | |
//! | `receive` | a stream | [`Receipt`] |
//! | `rejoin` | [`seat::RejoinRequest`], then [`seat::ToSeat`] frames | [`seat::FromSeat`] frames |
//! | `relay` | | `ready` |
//! | `release` | | |
//! | `run` | the words of [`bootstrap`], then the command's input | [`ProbeReport`], then the command's output |
//! | `seat` | [`seat::ToSeat`] frames | [`seat::FromSeat`] frames |
//! | `sealed` | [`Protection`] | lines `broken ATTEMPT PATH`, `end ENTRIES BROKEN` |
//! | `thaw` | | |
//! | `update` | [`SurveyRequest`], then [`UpdateRequest`] and a stream | [`Survey`], then [`UpdateReceipt`] |
//! | `usage` | bytes [`usage::FREE`] and [`usage::WALK`] | [`usage::UsageReply`] lines |
//!
//! # Lists
//!
//! Most messages are lists of [`records`] in a checked frame. A new message implements
//! [`Record`] in its file of [`messages`] and gets a row in `testing::MESSAGES`.
//!
//! # Streams
//!
//! Contents travel as tar, in both directions in the same form. [`StreamWriter`] is its
//! only writer, [`Members`] its only reader, and the reader takes far less than tar: the
//! exact grammar stands in [`stream`]. What the writer sends is less again:
//!
//! ```text
//! stream  = member* zero zero trailer        no byte before, no byte behind
//! member  = [pax] header body?               in path order, parents first, each once
//! header  = ustar: type 0, 2 or 5; uid and gid 1000, no names; 0644, 0755, links 0777;
//!           times not before 1980-01-01, their nanoseconds in the device fields
//! pax     = type x with path, linkpath or size, where ustar has no room for it
//! trailer = one block: entries, bytes, checksum of everything before it
//! ```
//!
//! The same tree becomes the same bytes each time, and a stream that was cut anywhere is
//! known to be cut: tar itself cannot tell (TAR-35). Every list and every stream ends by
//! itself: an engine's exec may never deliver an end of file.
//!
//! # Trust
//!
//! The porter is part of lazaret, but it speaks of names that the agent chose. Its streams
//! and lists are parsed strictly and bounded before they are kept.

mod argument;
pub mod bootstrap;
mod checksum;
mod compress;
mod control;
pub mod exit;
mod file_time;
pub mod filter;
pub mod freeze;
pub mod init;
mod line;
pub mod messages;
pub mod probe;
pub mod records;
pub mod seat;
pub mod stream;
mod terminal_size;
#[cfg(feature = "fuzz")]
pub mod testing;
mod ulimit;
pub mod usage;
pub mod verb;

/// Where the porter is in every image: its entrypoint, and so PID 1.
pub const PORTER_PATH: &str = "/lazaret/porter";

pub use argument::ArgumentError;
pub use checksum::{Checksum, ChecksumBuilder, ChecksumParseError};
pub use compress::{Compressor, Decompressor};
pub use control::{Control, UnknownControl};
pub use file_time::FileTime;
pub use line::read_line;
pub use messages::{
    ArrivedCredential, CredentialEvent, CredentialMode, FoundEntry, FoundKind, HashPolicy,
    HomeEntries, HomeEntry, HomeOrder, HomeOrders, HomeRequest, InFile, MAX_CREDENTIAL_BYTES,
    MAX_CREDENTIALS, MAX_HOME_BYTES, MAX_HOME_ENTRIES, MAX_HOME_FILE, MAX_MAIL_ENTRIES,
    MAX_MAIL_FILE, MAX_MAIL_IN, MAX_MAIL_REMOVED, MailEntry, MailFound, MailId, MailOrders,
    Manifest, ManifestWriter, OutBox, PartialSurveyRequest, ProtectedKind, Protection, Receipt,
    SET_ASIDE, SentCredential, SpecialType, Survey, SurveyError, SurveyRequest, UpdateReceipt,
    UpdateRequest, Wanted, Writers, read_credentials, read_tree, read_wanted, write_tree,
    write_wanted,
};
pub use probe::{
    ForeignNamespace, IdMapping, NetworkBarrier, PLACEMENT_KEYS, Placement, ProbeReport,
    ProbeRequest, REPORT_LIMIT, ReportError, ReportLine, SizedPath, Verdict,
};
pub use records::{
    Bare, FormatTag, Record, RecordError, RecordReader, RecordWriter, VolumeIdentity, read_list,
    write_list,
};
pub use stream::{
    Body, Member, MemberKind, MemberPath, Members, SendFileError, StreamError, StreamLimits,
    StreamWriter, TRAILER_BYTES, Trailer, TrailerError,
};
pub use terminal_size::TerminalSize;
pub use ulimit::{Resource, Ulimit};
pub use verb::{
    PortRoute, RunCommand, SeatCommand, Seated, UpdateMode, UsageError, Verb, WhenAbandoned,
};
