//! `VolumeIdentity`: an entry of a volume, told from any later state of it.

use crate::FileTime;

/// How an entry is told from any later state of it, without reading it.
///
/// Taken inside the volume, by the porter, and compared there for inequality.
/// Without CAP_SYS_TIME no process can set a ctime, and every write, truncation,
/// rename and change of mode moves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VolumeIdentity {
    /// The inode.
    pub ino: u64,
    /// Bytes.
    pub size: u64,
    /// Type and permissions, as `stat` gives them.
    pub mode: u32,
    /// Last change of the contents; can be set at will, so never trusted alone.
    pub mtime: FileTime,
    /// Last change of anything.
    pub ctime: FileTime,
}

impl From<&rustix::fs::Stat> for VolumeIdentity {
    #[expect(
        clippy::unnecessary_cast,
        reason = "the fields' types differ between Linux and macOS"
    )]
    fn from(stat: &rustix::fs::Stat) -> Self {
        Self {
            ino: stat.st_ino as u64,
            size: stat.st_size as u64,
            mode: stat.st_mode as u32,
            mtime: FileTime::modified(stat),
            ctime: FileTime {
                seconds: stat.st_ctime as i64,
                nanos: stat.st_ctime_nsec as u32,
            },
        }
    }
}
