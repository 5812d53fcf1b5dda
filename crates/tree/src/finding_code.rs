//! `FindingCode`: what a finding can be about, and how grave it is.
//!
//! A report names a constant, so a code that is not here, or in the
//! validator, does not compile.

use std::fmt;

use Severity::{Block, Note};

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// For the record.
    Note,
    /// A person should look at it; never applied automatically.
    Warn,
    /// Not applied: the entry is withheld, or the whole batch rejected.
    Block,
}

impl Severity {
    /// Returns the severity of a deletion, given that of any other change.
    pub fn downgraded(self) -> Self {
        match self {
            Self::Block => Self::Warn,
            Self::Warn | Self::Note => Self::Note,
        }
    }

    /// Returns the word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warn => "warn",
            Self::Block => "block",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One code.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FindingCode {
    /// The stable id, such as `git.hook`.
    pub id: &'static str,
    /// Each severity that a finding with this code can have.
    pub severities: &'static [Severity],
    /// Why it matters, a sentence fragment.
    pub reason: &'static str,
    /// The cases of `docs/design/threats.md`.
    pub cases: &'static [&'static str],
}

/// Writes the id.
impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// Defines constants, and a list of all of them.
#[macro_export]
macro_rules! finding_codes {
    (
        $(#[$doc:meta])* $vis:vis $list:ident:
        $($name:ident = $id:literal, [$($severity:ident),+], $reason:literal, [$($case:literal),*];)+
    ) => {
        $(
            #[doc = concat!("`", $id, "`: ", $reason, ".")]
            $vis const $name: &$crate::FindingCode = &$crate::FindingCode {
                id: $id,
                severities: &[$($severity),+],
                reason: $reason,
                cases: &[$($case),*],
            };
        )+

        $(#[$doc])*
        $vis const $list: &[&$crate::FindingCode] = &[$($name),+];
    };
}

finding_codes! {
    /// What is said of an entry that is not carried or was made safe, and why a whole stream
    /// is thrown away.
    pub TRANSPORT:
    ENTRY_DUPLICATE = "entry.duplicate", [Block], "the same name twice; rejects the batch", ["TAR-14"];
    ENTRY_TYPE_CONFLICT = "entry.type_conflict", [Block], "two members disagree about the type; rejects the batch", ["TAR-04", "TAR-15"];
    HEADER_CHECKSUM = "header.checksum", [Block], "a header's checksum is wrong; rejects the batch", ["TAR-38"];
    HEADER_HIDDEN_BYTES = "header.hidden_bytes", [Block], "a header holds bytes that no reader uses; rejects the batch", [];
    HEADER_LINKNAME_NONLINK = "header.linkname_nonlink", [Block], "something other than a link has a target; rejects the batch", [];
    HEADER_MAGIC = "header.magic", [Block], "a header is not ustar; rejects the batch", [];
    HEADER_NUMBER = "header.number", [Block], "a field is no number; rejects the batch", ["TAR-24"];
    HEADER_SIZE_CONFLICT = "header.size_conflict", [Block], "header and PAX record disagree about the size; rejects the batch", ["TAR-17"];
    HEADER_SIZE_NONFILE = "header.size_nonfile", [Block], "something other than a file has a size; rejects the batch", ["TAR-39"];
    IO_READ = "io.read", [Block], "the stream can't be read", [];
    IO_STORE = "io.store", [Block], "the quarantine can't be written", ["FLT-07"];
    LIMIT_ENTRIES = "limit.entries", [Block], "more changes than allowed; rejects the batch", ["TAR-48"];
    LIMIT_FILE_BYTES = "limit.file_bytes", [Block], "a file with more bytes than allowed; rejects the batch", ["TAR-49"];
    LIMIT_LIST = "limit.list", [Block], "a list from the other side is longer than allowed; rejects the batch", [];
    LIMIT_META = "limit.meta", [Block], "a PAX header is larger than allowed; rejects the batch", ["TAR-25"];
    LIMIT_NAMES = "limit.names", [Block], "the names alone are more than allowed; rejects the batch", ["TAR-48"];
    LIMIT_TOTAL_BYTES = "limit.total_bytes", [Block], "more bytes than allowed in all; rejects the batch", ["TAR-49"];
    LINK_CONTROL = "link.control", [Block], "the link's target has a control character", ["TAR-42"];
    LINK_EMPTY = "link.empty", [Block], "a link without target", [];
    LINK_ENCODING = "link.encoding", [Block], "the link's target is not UTF-8", ["TAR-41"];
    LINK_HARD = "link.hard", [Note], "a hard link becomes a file of its own", ["TAR-11"];
    LINK_HARD_FORWARD = "link.hard_forward", [Block], "a hard link to nothing that came before; rejects the batch", ["TAR-12"];
    LINK_HARD_NONFILE = "link.hard_nonfile", [Block], "a hard link to something that is no file; rejects the batch", ["TAR-13"];
    LINK_HARD_OUTSIDE = "link.hard_outside", [Block], "a hard link to outside; rejects the batch", ["TAR-10"];
    LINK_NUL = "link.nul", [Block], "the link's target has a NUL byte", ["TAR-23"];
    LINK_TOO_LONG = "link.too_long", [Block], "the link's target is longer than allowed", ["TAR-40"];
    LIST_DAMAGED = "list.damaged", [Block], "a list from the other side is damaged; rejects the batch", [];
    LIST_MAGIC = "list.magic", [Block], "a list from the other side is none; rejects the batch", [];
    LIST_MALFORMED = "list.malformed", [Block], "a list from the other side breaks its grammar; rejects the batch", [];
    LIST_TRAILING = "list.trailing", [Block], "data follows a list from the other side; rejects the batch", [];
    LIST_TRUNCATED = "list.truncated", [Block], "a list from the other side was cut; rejects the batch", ["FLT-03"];
    MODE_SPECIAL = "mode.special", [Note], "setuid, setgid and sticky bits are dropped", ["TAR-30"];
    NAME_CONTROL = "name.control", [Block], "the name has a control character", ["TAR-42"];
    NAME_ENCODING = "name.encoding", [Block], "the name is not UTF-8", ["TAR-41"];
    NAME_NUL = "name.nul", [Block], "a name with a NUL byte; rejects the batch", ["TAR-23"];
    PATH_ABSOLUTE = "path.absolute", [Block], "an absolute name; rejects the batch", ["TAR-01"];
    PATH_DOTDOT = "path.dotdot", [Block], "a name with a `..` component; rejects the batch", ["TAR-02"];
    PATH_NONCANONICAL = "path.noncanonical", [Block], "not a canonical name; rejects the batch", ["TAR-46"];
    PATH_THROUGH_LINK = "path.through_link", [Block], "a name that leads through a link; rejects the batch", ["TAR-03", "TAR-05"];
    PATH_TOO_DEEP = "path.too_deep", [Block], "the path has more components than allowed", ["TAR-40"];
    PATH_TOO_LONG = "path.too_long", [Block], "the path, or a component of it, is longer than allowed", ["TAR-40"];
    PAX_DUPLICATE = "pax.duplicate", [Block], "a PAX key given twice; rejects the batch", [];
    PAX_KEY = "pax.key", [Block], "a PAX key outside the grammar; rejects the batch", ["TAR-26"];
    PAX_LINE_FEED = "pax.line_feed", [Block], "a PAX record with a line feed in it, where some readers end it; rejects the batch", ["TAR-21"];
    PAX_MALFORMED = "pax.malformed", [Block], "a malformed PAX record; rejects the batch", ["TAR-21"];
    PAX_NUMBER = "pax.number", [Block], "a PAX value that is no number; rejects the batch", ["TAR-22", "TAR-33"];
    PAX_ORPHAN = "pax.orphan", [Block], "a PAX header without its member; rejects the batch", [];
    PAX_STACKED = "pax.stacked", [Block], "two PAX headers in a row; rejects the batch", ["TAR-18"];
    PAX_XATTR = "pax.xattr", [Note], "extended attributes are dropped", ["TAR-31"];
    STREAM_COMPRESSED = "stream.compressed", [Block], "a compressed stream; rejects the batch", ["TAR-50"];
    STREAM_GIVEN_UP = "stream.given_up", [Block], "the stream was read on after its end; rejects the batch", [];
    STREAM_LONE_ZERO_BLOCK = "stream.lone_zero_block", [Block], "a single zero block is no end mark; rejects the batch", ["TAR-37"];
    STREAM_MISMATCH = "stream.mismatch", [Block], "what arrived is not what was asked for; rejects the batch", [];
    STREAM_NO_EOF = "stream.no_eof", [Block], "the stream has no end mark; rejects the batch", ["TAR-35"];
    STREAM_PADDING = "stream.padding", [Block], "the padding after a body is not zero; rejects the batch", [];
    STREAM_TRAILING = "stream.trailing", [Block], "data follows the end of the stream; rejects the batch", ["TAR-36"];
    STREAM_TRUNCATED = "stream.truncated", [Block], "the stream was cut; rejects the batch", ["TAR-34"];
    SURVEY_CONTRADICTION = "survey.contradiction", [Block], "the survey contradicts itself; rejects the batch", [];
    SURVEY_NAME = "survey.name", [Block], "the survey names what can't be; rejects the batch", [];
    TRAILER_BYTES = "trailer.bytes", [Block], "other bytes arrived than were sent; rejects the batch", ["FLT-03"];
    TRAILER_ENTRIES = "trailer.entries", [Block], "other entries arrived than were sent; rejects the batch", ["FLT-03"];
    TRAILER_MALFORMED = "trailer.malformed", [Block], "the stream has no trailer; rejects the batch", ["TAR-35"];
    TRAILER_STREAM = "trailer.stream", [Block], "what arrived is not what was sent; rejects the batch", ["FLT-03"];
    TYPE_DEVICE = "type.device", [Block], "a device; in a stream it rejects the batch", ["TAR-27"];
    TYPE_FIFO = "type.fifo", [Block], "a FIFO has no contents to bring back", ["TAR-28"];
    TYPE_MOUNT = "type.mount", [Block], "another file system, which nothing is read of", [];
    TYPE_SOCKET = "type.socket", [Block], "a socket has no contents to bring back", [];
    TYPE_UNKNOWN = "type.unknown", [Block], "a type of entry that lazaret does not know", [];
    TYPEFLAG = "typeflag", [Block], "a type of tar entry outside the grammar; rejects the batch", ["TAR-19", "TAR-20", "TAR-26", "TAR-29"];
}
