//! `StreamError`: the ways in which a stream lies.

use std::io;

use lazaret_tree::{FindingCode, escape, finding_code};

/// Why a whole stream is thrown away.
///
/// A stream that cannot have come from walking a file system is forged or out of
/// step; nothing that follows in it can be trusted, so nothing before it is used
/// either. One variant per lie; [`StreamError::code`] is stable, the text is not.
/// Names are kept raw and escaped where they are shown.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The reader failed: the stream may be fine.
    #[error("the stream cannot be read: {0}")]
    Read(#[source] io::Error),
    /// The caller reads on after an error or after the end.
    #[error("the stream was given up before")]
    GivenUp,

    /// The stream ends inside a header, a body or the trailer (TAR-34).
    #[error("the stream ends in the middle of {within}")]
    Truncated {
        /// What the end cut short.
        within: &'static str,
    },
    /// The stream ends at a member boundary, without the two zero blocks (TAR-35).
    #[error("the stream has no end mark")]
    NoEof,
    /// One zero block, then something else (TAR-37).
    #[error("a single zero block is no end mark")]
    LoneZeroBlock,
    /// Something follows the end (TAR-36).
    #[error("data follows the end of the stream")]
    Trailing,
    /// The stream starts like a compressed file (TAR-50).
    #[error("the stream is compressed ({format}), not a tar stream")]
    Compressed {
        /// What it looks like; it was not decompressed.
        format: &'static str,
    },
    /// The bytes that fill a body up to a whole block are not zero.
    #[error("{}: the padding after the body is not zero", escape(.name))]
    Padding {
        /// The member.
        name: Vec<u8>,
    },

    /// The header's checksum is wrong (TAR-38).
    #[error("a header's checksum is wrong")]
    Checksum,
    /// The header is not a POSIX ustar header.
    #[error("a header is not ustar")]
    Magic,
    /// A number field is not the number of octal digits that POSIX asks for (TAR-24).
    #[error("the header field {field} is no number")]
    Number {
        /// The field.
        field: &'static str,
    },
    /// Bytes follow the NUL that ends a text field, or fill the unused part of the header.
    #[error("the header field {field} holds hidden bytes")]
    HiddenBytes {
        /// The field.
        field: &'static str,
    },
    /// The header and the PAX record disagree about the size (TAR-17).
    #[error("{}: header and PAX record disagree about the size", escape(.name))]
    SizeConflict {
        /// The member.
        name: Vec<u8>,
    },
    /// Something other than a file has a size (TAR-39).
    #[error("{}: only a file has a size", escape(.name))]
    SizeNonfile {
        /// The member.
        name: Vec<u8>,
    },
    /// Something other than a link has a link target.
    #[error("{}: only a link has a link target", escape(.name))]
    LinknameNonlink {
        /// The member.
        name: Vec<u8>,
    },
    /// A typeflag outside the grammar (TAR-19, -20, -26, -29).
    #[error("the typeflag {} is outside the grammar", escape(&[*.flag]))]
    Typeflag {
        /// The byte.
        flag: u8,
    },
    /// A character or block device (TAR-27).
    #[error("{}: a device", escape(.name))]
    Device {
        /// The member.
        name: Vec<u8>,
    },

    /// Two PAX headers for one member (TAR-18).
    #[error("two PAX headers in a row")]
    PaxStacked,
    /// A PAX header before the end of the stream.
    #[error("a PAX header without its member")]
    PaxOrphan,
    /// A PAX record that is not `LENGTH KEY=VALUE\n` (TAR-21).
    #[error("a malformed PAX record")]
    PaxMalformed,
    /// A PAX record with a line feed before its end, where some readers end it.
    #[error("a PAX record with a line feed in it")]
    PaxLineFeed,
    /// A PAX key given twice for one member.
    #[error("the PAX key {} is given twice", escape(.key))]
    PaxDuplicate {
        /// The key.
        key: Vec<u8>,
    },
    /// A PAX key outside the grammar (TAR-26).
    #[error("the PAX key {} is outside the grammar", escape(.key))]
    PaxKey {
        /// The key.
        key: Vec<u8>,
    },
    /// A PAX value that should be a decimal number and is not (TAR-22, -33).
    #[error("the PAX value of {key} is no decimal number in range")]
    PaxNumber {
        /// The key.
        key: &'static str,
    },

    /// A NUL byte inside a name or a link target (TAR-23).
    #[error("{}: a name with a NUL byte", escape(.name))]
    NameNul {
        /// The name.
        name: Vec<u8>,
    },
    /// An absolute name (TAR-01).
    #[error("{}: an absolute name", escape(.name))]
    PathAbsolute {
        /// The name.
        name: Vec<u8>,
    },
    /// A name with a `..` component (TAR-02).
    #[error("{}: a name with a `..` component", escape(.name))]
    PathDotDot {
        /// The name.
        name: Vec<u8>,
    },
    /// An empty name, an empty or `.` component, a file's name that ends in `/` (TAR-46).
    #[error("{}: not a canonical name", escape(.name))]
    PathNoncanonical {
        /// The name.
        name: Vec<u8>,
    },
    /// A name that leads through a symbolic link of the same stream (TAR-03, -05).
    #[error("{}: the name leads through a symbolic link", escape(.name))]
    PathThroughLink {
        /// The name.
        name: Vec<u8>,
    },

    /// The same name twice (TAR-14).
    #[error("{}: the same name twice", escape(.name))]
    Duplicate {
        /// The name.
        name: Vec<u8>,
    },
    /// The same name with another type, or something below a file (TAR-04, -15).
    #[error("{}: two members disagree about the type", escape(.name))]
    TypeConflict {
        /// The name.
        name: Vec<u8>,
    },

    /// A symbolic link without target, which no file system can hold.
    #[error("{}: a link without target", escape(.name))]
    LinkEmpty {
        /// The link.
        name: Vec<u8>,
    },
    /// A hard link to something outside (TAR-10).
    #[error("{}: a hard link to outside", escape(.name))]
    HardOutside {
        /// The link.
        name: Vec<u8>,
    },
    /// A hard link to something that did not come before it (TAR-12).
    #[error("{}: a hard link to nothing that came before", escape(.name))]
    HardForward {
        /// The link.
        name: Vec<u8>,
    },
    /// A hard link to a symbolic link (TAR-13) or to a directory.
    #[error("{}: a hard link to something that is no file", escape(.name))]
    HardNonfile {
        /// The link.
        name: Vec<u8>,
    },

    /// More entries than [`StreamLimits::entries`](crate::StreamLimits) (TAR-48).
    #[error("more than {limit} entries")]
    TooManyEntries {
        /// The limit.
        limit: u64,
    },
    /// More bytes than [`StreamLimits::total_bytes`](crate::StreamLimits).
    #[error("more than {limit} bytes in all")]
    TooManyBytes {
        /// The limit, in bytes.
        limit: u64,
    },
    /// A file over [`StreamLimits::file_bytes`](crate::StreamLimits) (TAR-49).
    #[error("{}: {size} bytes are more than {limit}", escape(.name))]
    FileTooBig {
        /// The file.
        name: Vec<u8>,
        /// The size that the header claims, in bytes.
        size: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// A PAX header over [`StreamLimits::meta_bytes`](crate::StreamLimits) (TAR-25).
    #[error("a PAX header of {size} bytes is more than {limit}")]
    MetaTooBig {
        /// The size that the header claims, in bytes.
        size: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// More names than [`StreamLimits::name_bytes`](crate::StreamLimits).
    #[error("the names alone are more than {limit} bytes")]
    TooManyNames {
        /// The limit, in bytes.
        limit: u64,
    },

    /// The block after the end mark is no trailer.
    #[error("the stream has no trailer")]
    TrailerMalformed,
    /// The trailer tells of another number of entries.
    #[error("{arrived} entries arrived, {sent} were sent")]
    TrailerEntries {
        /// Members that arrived.
        arrived: u64,
        /// Members that the trailer tells of.
        sent: u64,
    },
    /// The trailer tells of another number of bytes.
    #[error("{arrived} bytes arrived, {sent} were sent")]
    TrailerBytes {
        /// Bytes that arrived.
        arrived: u64,
        /// Bytes that the trailer tells of.
        sent: u64,
    },
    /// The trailer tells of other bytes.
    #[error("what arrived is not what was sent")]
    TrailerStream,
}

impl StreamError {
    /// Returns the stable code, such as `path.absolute`.
    pub fn code(&self) -> &'static FindingCode {
        match self {
            Self::Read(_) => finding_code::IO_READ,
            Self::GivenUp => finding_code::STREAM_GIVEN_UP,
            Self::Truncated { .. } => finding_code::STREAM_TRUNCATED,
            Self::NoEof => finding_code::STREAM_NO_EOF,
            Self::LoneZeroBlock => finding_code::STREAM_LONE_ZERO_BLOCK,
            Self::Trailing => finding_code::STREAM_TRAILING,
            Self::Compressed { .. } => finding_code::STREAM_COMPRESSED,
            Self::Padding { .. } => finding_code::STREAM_PADDING,
            Self::Checksum => finding_code::HEADER_CHECKSUM,
            Self::Magic => finding_code::HEADER_MAGIC,
            Self::Number { .. } => finding_code::HEADER_NUMBER,
            Self::HiddenBytes { .. } => finding_code::HEADER_HIDDEN_BYTES,
            Self::SizeConflict { .. } => finding_code::HEADER_SIZE_CONFLICT,
            Self::SizeNonfile { .. } => finding_code::HEADER_SIZE_NONFILE,
            Self::LinknameNonlink { .. } => finding_code::HEADER_LINKNAME_NONLINK,
            Self::Typeflag { .. } => finding_code::TYPEFLAG,
            Self::Device { .. } => finding_code::TYPE_DEVICE,
            Self::PaxStacked => finding_code::PAX_STACKED,
            Self::PaxOrphan => finding_code::PAX_ORPHAN,
            Self::PaxMalformed => finding_code::PAX_MALFORMED,
            Self::PaxLineFeed => finding_code::PAX_LINE_FEED,
            Self::PaxDuplicate { .. } => finding_code::PAX_DUPLICATE,
            Self::PaxKey { .. } => finding_code::PAX_KEY,
            Self::PaxNumber { .. } => finding_code::PAX_NUMBER,
            Self::NameNul { .. } => finding_code::NAME_NUL,
            Self::PathAbsolute { .. } => finding_code::PATH_ABSOLUTE,
            Self::PathDotDot { .. } => finding_code::PATH_DOTDOT,
            Self::PathNoncanonical { .. } => finding_code::PATH_NONCANONICAL,
            Self::PathThroughLink { .. } => finding_code::PATH_THROUGH_LINK,
            Self::Duplicate { .. } => finding_code::ENTRY_DUPLICATE,
            Self::TypeConflict { .. } => finding_code::ENTRY_TYPE_CONFLICT,
            Self::LinkEmpty { .. } => finding_code::LINK_EMPTY,
            Self::HardOutside { .. } => finding_code::LINK_HARD_OUTSIDE,
            Self::HardForward { .. } => finding_code::LINK_HARD_FORWARD,
            Self::HardNonfile { .. } => finding_code::LINK_HARD_NONFILE,
            Self::TooManyEntries { .. } => finding_code::LIMIT_ENTRIES,
            Self::TooManyBytes { .. } => finding_code::LIMIT_TOTAL_BYTES,
            Self::FileTooBig { .. } => finding_code::LIMIT_FILE_BYTES,
            Self::MetaTooBig { .. } => finding_code::LIMIT_META,
            Self::TooManyNames { .. } => finding_code::LIMIT_NAMES,
            Self::TrailerMalformed => finding_code::TRAILER_MALFORMED,
            Self::TrailerEntries { .. } => finding_code::TRAILER_ENTRIES,
            Self::TrailerBytes { .. } => finding_code::TRAILER_BYTES,
            Self::TrailerStream => finding_code::TRAILER_STREAM,
        }
    }
}

/// Unwraps a lie that travelled through [`Read`](io::Read): the body of a member
/// is a reader, and a reader can only fail with [`io::Error`].
impl From<io::Error> for StreamError {
    fn from(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(lie) => lie,
            Err(error) => Self::Read(error),
        }
    }
}

/// Wraps a lie so that it can travel through [`Read`](io::Read).
impl From<StreamError> for io::Error {
    fn from(error: StreamError) -> Self {
        match error {
            StreamError::Read(error) => error,
            lie => Self::new(io::ErrorKind::InvalidData, lie),
        }
    }
}
