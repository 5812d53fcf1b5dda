//! `/proc/self/status`: who we are, in the kernel's words (`man 5 proc_pid_status`).

use std::fs;
use std::io;

/// The lines of `/proc/self/status`.
#[derive(Debug, Clone)]
pub(crate) struct Status(String);

impl Status {
    /// Reads it.
    pub(crate) fn read() -> io::Result<Self> {
        fs::read_to_string("/proc/self/status").map(Self)
    }

    #[cfg(test)]
    pub(crate) fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the words of a line; none when the line is not there.
    pub(crate) fn words(&self, name: &str) -> Vec<&str> {
        self.0
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(|rest| rest.split_ascii_whitespace().collect())
            .unwrap_or_default()
    }

    /// Returns whether a line is this one word.
    pub(crate) fn is(&self, name: &str, value: &str) -> bool {
        self.words(name) == [value]
    }

    /// Returns the names of the capability lines whose mask is not `mask`. A line that is
    /// not there counts as different.
    pub(crate) fn other_capabilities(&self, masks: [u64; 5]) -> Vec<&'static str> {
        ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]
            .into_iter()
            .zip(masks)
            .filter(|(name, mask)| {
                let found = match self.words(name)[..] {
                    [word] => u64::from_str_radix(word, 16).ok(),
                    _ => None,
                };
                found != Some(*mask)
            })
            .map(|(name, _)| name)
            .collect()
    }
}
