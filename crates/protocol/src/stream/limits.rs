//! `StreamLimits`: how much of a stream is read before it is given up.

/// Upper bounds of one stream. Exceeding one ends the batch, before the bytes
/// over it are read (docs/design/threats.md, section 0, "Limits").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Entries, directories that are only named as a parent included.
    pub entries: u64,
    /// Bytes of all files together; a hard link counts as the copy that it becomes.
    pub total_bytes: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of one PAX header.
    pub meta_bytes: u64,
    /// Bytes of all names, link targets and notes together: what has to be kept
    /// in memory grows with them, and one name alone may fill a PAX header.
    pub name_bytes: u64,
}

impl StreamLimits {
    /// 200,000 entries, 4 GiB in all, 512 MiB per file, 64 KiB per PAX header,
    /// 24 MiB of names: those of 200,000 entries with 120 bytes each. The tree of Linux, with
    /// 88,000, has 4 MiB of them.
    pub const DEFAULT: Self = Self {
        entries: 200_000,
        total_bytes: 4 << 30,
        file_bytes: 512 << 20,
        meta_bytes: 64 << 10,
        name_bytes: 24 << 20,
    };
}
