//! What one set of commits may take: time, memory, disk, and numbers of objects.

use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// The most bytes of a pack.
pub const MAX_PACK_BYTES: u64 = 512 << 20;
/// The most objects of a pack.
pub const MAX_OBJECTS: usize = 200_000;
/// The most entries that all commits of one examination change together.
pub const MAX_CHANGES: usize = 1_000_000;
/// The most new commits, of all tips together.
pub const MAX_COMMITS: usize = 20_000;
/// The largest commit or tag that is read, in bytes.
pub const MAX_COMMIT_BYTES: u64 = 1 << 20;
/// The largest tree that is read, in bytes: some 100,000 entries.
pub const MAX_TREE_BYTES: u64 = 8 << 20;
/// The largest target of a symbolic link that is read, in bytes.
pub const MAX_LINK_BYTES: u64 = 4096;

/// What one run of git may take of the machine (GIT-20).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Seconds of processor time.
    pub cpu_seconds: u64,
    /// Bytes of address space.
    pub address_space: u64,
    /// Bytes of one file that it writes.
    pub file_bytes: u64,
}

impl ProcessLimits {
    /// For git on objects that came out of a container. A pack of 2 MB that holds a blob of
    /// 2 GiB takes 27 s and 23 MiB: time is the bound.
    pub const HOSTILE: Self = Self {
        cpu_seconds: 60,
        address_space: 1 << 30,
        file_bytes: 1 << 30,
    };

    /// Sets them for a process that waits for its input.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn set(self, process: u32) -> std::io::Result<()> {
        let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
        for (resource, most) in [
            (Resource::Cpu, self.cpu_seconds),
            (Resource::As, self.address_space),
            (Resource::Fsize, self.file_bytes),
            (Resource::Core, 0),
        ] {
            let limit = Rlimit {
                current: Some(most),
                maximum: Some(most),
            };
            let _before = prlimit(pid, resource, limit)?;
        }
        Ok(())
    }
}
