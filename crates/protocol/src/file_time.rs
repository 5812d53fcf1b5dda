//! `FileTime`: a point in time as a file system keeps it.

/// A point in time as the kernel keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FileTime {
    /// Seconds since 1970, rounded down.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
}

impl FileTime {
    /// Returns the last change of the contents, as `stat` gives it.
    #[expect(
        clippy::unnecessary_cast,
        reason = "the fields' types differ between Linux and macOS"
    )]
    pub fn modified(stat: &rustix::fs::Stat) -> Self {
        Self {
            seconds: stat.st_mtime as i64,
            nanos: stat.st_mtime_nsec as u32,
        }
    }
}
