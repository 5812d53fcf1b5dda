//! The container's own cgroup, on v1, v2 and hybrid layouts (`man 7 cgroups`).

use std::fs;

use super::mounts::Mounts;

/// A limit as the kernel keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// This much.
    Of(u64),
    /// None at all.
    None,
    /// The file is not there.
    Unknown,
}

/// Where a controller's files are, and in which layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Controller {
    V1(String),
    V2(String),
    Absent,
}

impl Controller {
    /// Finds a controller: on a hybrid machine it is in one of the v1 hierarchies.
    pub(super) fn find(mounts: &Mounts, name: &str) -> Self {
        let v1 = mounts.iter().find(|mount| {
            mount.kind == "cgroup" && mount.super_options.iter().any(|option| option == name)
        });
        if let Some(mount) = v1 {
            return Self::V1(mount.point.clone());
        }
        match mounts.iter().find(|mount| mount.kind == "cgroup2") {
            Some(mount) if mount.point == "/sys/fs/cgroup" => Self::V2(mount.point.clone()),
            _ => Self::Absent,
        }
    }

    /// Reads the first word of a file as a limit: `v1` and `v2` are its names.
    pub(super) fn limit(&self, v1: &str, v2: &str) -> Limit {
        let path = match self {
            Self::V1(directory) => format!("{directory}/{v1}"),
            Self::V2(directory) => format!("{directory}/{v2}"),
            Self::Absent => return Limit::Unknown,
        };
        fs::read_to_string(path).map_or(Limit::Unknown, |text| parse(&text))
    }

    /// Returns billionths of a core.
    pub(super) fn nano_cpus(&self) -> Limit {
        let (quota, period) = match self {
            Self::V1(directory) => (
                read(&format!("{directory}/cpu.cfs_quota_us")),
                read(&format!("{directory}/cpu.cfs_period_us")),
            ),
            Self::V2(directory) => {
                let text = read(&format!("{directory}/cpu.max")).unwrap_or_default();
                let mut words = text.split_ascii_whitespace().map(str::to_owned);
                (words.next(), words.next())
            }
            Self::Absent => return Limit::Unknown,
        };
        let (Some(quota), Some(period)) = (quota, period) else {
            return Limit::Unknown;
        };
        match (parse(&quota), parse(&period)) {
            (Limit::Of(quota), Limit::Of(period)) if period > 0 => {
                Limit::Of(quota.saturating_mul(1_000_000_000) / period)
            }
            (Limit::None, _) => Limit::None,
            _ => Limit::Unknown,
        }
    }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// `max` (v2), `-1` (v1 cpu) and numbers near 2^63 (v1 memory) mean none.
fn parse(text: &str) -> Limit {
    match text.split_ascii_whitespace().next() {
        Some("max" | "-1") => Limit::None,
        Some(word) => match word.parse() {
            Ok(number) if number > 1 << 62 => Limit::None,
            Ok(number) => Limit::Of(number),
            Err(_) => Limit::Unknown,
        },
        None => Limit::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn con_16_every_spelling_of_no_limit() {
        assert_eq!(parse("max\n"), Limit::None);
        assert_eq!(parse("9223372036854771712\n"), Limit::None);
        assert_eq!(parse("-1\n"), Limit::None);
        assert_eq!(parse("4096\n"), Limit::Of(4096));
        assert_eq!(parse(""), Limit::Unknown);
        assert_eq!(parse("x"), Limit::Unknown);
    }
}
