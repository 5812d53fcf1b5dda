//! `Placement`: where a process runs, in numbers that the kernel gives.

use std::fmt;
use std::str::FromStr;

use crate::ArgumentError;

/// The namespaces that are compared, as `/proc/self/ns` names them (namespaces(7)), and the device
/// of the root directory.
pub const KEYS: [&str; 8] = ["mnt", "pid", "net", "ipc", "uts", "user", "cgroup", "root"];

/// The inodes of a process's namespaces, and the device of its root, in the order of [`KEYS`].
///
/// Two processes with the same numbers are in one container. Another mount namespace with the same
/// root, or the same mounts in another network, differ in one number at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement([u64; KEYS.len()]);

impl Placement {
    /// Takes the numbers, in the order of [`KEYS`].
    pub fn new(numbers: [u64; KEYS.len()]) -> Self {
        Self(numbers)
    }

    /// Returns the key of the first number that differs.
    pub fn difference(&self, other: &Self) -> Option<&'static str> {
        let pairs = self.0.iter().zip(&other.0);
        let mut keys = KEYS.into_iter().zip(pairs);
        keys.find_map(|(key, (one, another))| (one != another).then_some(key))
    }

    /// Returns true if both are in one network namespace.
    pub fn shares_network(&self, other: &Self) -> bool {
        let net = |placement: &Self| {
            let numbers = KEYS.iter().zip(placement.0);
            numbers
                .filter(|(key, _)| **key == "net")
                .map(|(_, number)| number)
                .next()
        };
        net(self) == net(other)
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (key, number)) in KEYS.iter().zip(self.0).enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{key}={number}")?;
        }
        Ok(())
    }
}

impl FromStr for Placement {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        let wrong = || ArgumentError::value("placement", "KEY=NUMBER,…", text);
        let numbers = text.split(',').zip(KEYS).map(|(pair, key)| {
            let number = pair.strip_prefix(key)?.strip_prefix('=')?;
            number.parse::<u64>().ok()
        });
        let numbers: Option<Vec<u64>> = numbers.collect();
        let numbers = numbers.and_then(|numbers| <[u64; KEYS.len()]>::try_from(numbers).ok());
        let placement = numbers.map(Self).ok_or_else(wrong)?;
        match placement.to_string() == text {
            true => Ok(placement),
            false => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placement_is_read_as_it_was_written() {
        let placement = Placement::new([1, 2, 3, 4, 5, 6, 7, u64::MAX]);
        let text = placement.to_string();
        assert_eq!(text.parse(), Ok(placement));
        for nonsense in [
            "",
            "mnt=1",
            &format!("{text},"),
            &format!("{text},more=1"),
            &text.replace("pid=2", "pid=+2"),
            &text.replace("pid=2", "pid=02"),
            &text.replace("pid", "pidx"),
            &text.replace("net=3,ipc=4", "ipc=4,net=3"),
        ] {
            nonsense.parse::<Placement>().expect_err(nonsense);
        }
    }

    #[test]
    fn con_27_every_number_counts() {
        let here = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(Placement::new(here).difference(&Placement::new(here)), None);
        for (index, key) in KEYS.into_iter().enumerate() {
            let mut there = here;
            there[index] = 9;
            let found = Placement::new(here).difference(&Placement::new(there));
            assert_eq!(found, Some(key));
        }
    }
}
