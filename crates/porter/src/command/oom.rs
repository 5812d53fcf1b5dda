//! Whether the kernel's OOM killer was in this container.
//!
//! Engines tell only what happened to the first process, and the command is another one.

use std::fs;

/// Where the count is, on cgroup v2 and v1, in a container's own view (`man 7 cgroups`).
const COUNTERS: [&str; 2] = [
    "/sys/fs/cgroup/memory.events",
    "/sys/fs/cgroup/memory/memory.oom_control",
];

/// Returns how many processes it killed; 0 where the kernel does not say.
pub(crate) fn kills() -> u64 {
    let texts = COUNTERS
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok());
    texts.map(|text| count(&text)).max().unwrap_or(0)
}

fn count(text: &str) -> u64 {
    text.lines()
        .filter_map(|line| line.strip_prefix("oom_kill "))
        .find_map(|number| number.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn both_layouts_are_read() {
        assert_eq!(
            count("low 0\nhigh 0\nmax 41\noom 2\noom_kill 1\noom_group_kill 0\n"),
            1
        );
        assert_eq!(count("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), 3);
        assert_eq!(count("oom_kill_disable 1\nunder_oom 0\n"), 0);
        assert_eq!(count(""), 0);
    }
}
