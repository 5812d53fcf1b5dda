//! The system call filter: an allowlist of our own (CON-04, CON-05, CON-24).
//!
//! Engine defaults differ: Podman 4.3's allows `keyctl`, `unshare`, `clone3` and AF_ALG;
//! Docker's allows AF_ALG up to 29.4.2. `seccomp/profile.json` is in Docker's format, which
//! Podman reads too, and each group in it says why it is there. Three decisions are not
//! visible in a single group:
//!
//! - No 32-bit (x86) and no x32 calls. In the 32-bit table `socketcall` packs its arguments
//!   into memory, where no filter sees the address family. Such a call kills the thread.
//! - Of the ioctls only terminals' are listed one by one; for all others the type byte
//!   differs from `T`. A rule "everything but TIOCSTI" can't be said in this format, and
//!   comparing 64 bits would miss a request with bits above the 32 that the kernel reads
//!   (CVE-2019-10063).
//! - What is refused answers EPERM, except `clone3`: glibc takes ENOSYS as "use clone", and
//!   the audit socket: the programs that install users take EPERM as a reason to give up.
//!   Calls newer than the newest listed one get ENOSYS from runc itself.

/// The profile, JSON in the format of Docker and Podman.
pub const PROFILE: &str = include_str!("../seccomp/profile.json");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    fn rules() -> Vec<Value> {
        let profile: Value = serde_json::from_str(super::PROFILE).expect("JSON");
        assert_eq!(profile["defaultAction"], "SCMP_ACT_ERRNO");
        profile["syscalls"].as_array().expect("rules").clone()
    }

    fn names(rule: &Value) -> BTreeSet<String> {
        let names = rule["names"].as_array().expect("names").iter();
        names
            .map(|name| name.as_str().expect("a name").to_owned())
            .collect()
    }

    fn rules_of(call: &str) -> Vec<Value> {
        let mut rules = rules();
        rules.retain(|rule| names(rule).contains(call));
        rules
    }

    /// Evaluates a rule's arguments as libseccomp does: all of them must match.
    fn allows(rule: &Value, arguments: [u64; 3]) -> bool {
        let conditions = rule["args"].as_array().expect("args");
        rule["action"] == "SCMP_ACT_ALLOW"
            && conditions.iter().all(|condition| {
                let number = |key: &str| condition[key].as_u64().expect("a number");
                let index = usize::try_from(number("index")).expect("an index");
                let value = arguments[index];
                match condition["op"].as_str().expect("an operator") {
                    "SCMP_CMP_EQ" => value == number("value"),
                    "SCMP_CMP_MASKED_EQ" => value & number("value") == number("valueTwo"),
                    other => panic!("unknown operator {other}"),
                }
            })
    }

    fn allowed(call: &str, arguments: [u64; 3]) -> bool {
        rules_of(call).iter().any(|rule| allows(rule, arguments))
    }

    #[test]
    fn con_04_every_group_says_why_and_no_call_is_in_two() {
        let mut seen = BTreeSet::new();
        for rule in rules() {
            assert!(rule["comment"].as_str().is_some_and(|why| why.len() > 7));
            if rule["args"] == Value::Array(vec![]) {
                for name in names(&rule) {
                    // libseccomp lets a rule without arguments win over those with.
                    assert!(seen.insert(name.clone()), "{name} twice");
                    assert_eq!(rules_of(&name).len(), 1, "{name}");
                }
            }
        }
    }

    #[test]
    fn con_04_dangerous_calls_are_on_no_list() {
        for call in [
            "acct",
            "add_key",
            "adjtimex",
            "bpf",
            "chroot",
            "clock_settime",
            "delete_module",
            "fanotify_init",
            "finit_module",
            "fsconfig",
            "fsmount",
            "fsopen",
            "fspick",
            "init_module",
            "io_setup",
            "io_uring_enter",
            "io_uring_register",
            "io_uring_setup",
            "ioperm",
            "iopl",
            "kexec_file_load",
            "kexec_load",
            "keyctl",
            "lookup_dcookie",
            "mbind",
            "modify_ldt",
            "mount",
            "mount_setattr",
            "move_mount",
            "move_pages",
            "name_to_handle_at",
            "nfsservctl",
            "open_by_handle_at",
            "open_tree",
            "perf_event_open",
            "pivot_root",
            "quotactl",
            "reboot",
            "remap_file_pages",
            "request_key",
            "set_mempolicy",
            "setdomainname",
            "sethostname",
            "setns",
            "settimeofday",
            "socketcall",
            "stime",
            "swapoff",
            "swapon",
            "sysfs",
            "syslog",
            "umount",
            "umount2",
            "unshare",
            "uselib",
            "userfaultfd",
            "ustat",
            "vhangup",
        ] {
            assert!(rules_of(call).is_empty(), "{call}");
        }
        let [clone3] = &rules_of("clone3")[..] else {
            panic!("one rule for clone3");
        };
        assert_eq!(clone3["action"], "SCMP_ACT_ERRNO");
        assert_eq!(clone3["errnoRet"], 38);
    }

    #[test]
    fn con_04_clone_makes_threads_and_processes_but_no_namespace() {
        // pthread_create, fork, posix_spawn.
        for flags in [0x003d_0f00, 0x0120_0011, 0x4111] {
            assert!(allowed("clone", [flags, 0, 0]), "{flags:#x}");
        }
        for bit in [
            0x2_0000_u64,
            0x200_0000,
            0x400_0000,
            0x800_0000,
            0x1000_0000,
            0x2000_0000,
            0x4000_0000,
        ] {
            assert!(!allowed("clone", [bit | 17, 0, 0]), "{bit:#x}");
        }
    }

    #[test]
    fn con_05_sockets_by_family_type_and_protocol() {
        const CLOEXEC: u64 = 0o2_000_000;
        for socket in [
            [1, 1, 0],
            [1, 5 | CLOEXEC, 0],
            [2, 1, 0],
            [2, 1 | CLOEXEC, 6],
            [2, 2, 17],
            [10, 1, 6],
            [10, 2 | CLOEXEC, 0],
            [16, 3 | CLOEXEC, 0],
        ] {
            assert!(allowed("socket", socket), "{socket:?}");
        }
        for socket in [
            [2, 3, 0],
            [2, 5, 0],
            [2, 1, 132],
            [2, 1, 262],
            [2, 2, 1],
            [10, 3, 58],
            [15, 3, 2],
            [16, 3, 6],
            [16, 3, 9],
            [16, 3, 12],
            [17, 3, 0],
            [30, 1, 0],
            [31, 1, 0],
            [33, 2, 0],
            [38, 5, 0],
            [40, 1, 0],
            [44, 3, 0],
        ] {
            assert!(!allowed("socket", socket), "{socket:?}");
        }
    }

    #[test]
    fn con_21_no_call_makes_a_device() {
        for (kind, may) in [
            (0, true),
            (0x1000, true),
            (0x8000, true),
            (0xc000, true),
            (0x2000, false),
            (0x6000, false),
        ] {
            assert_eq!(allowed("mknod", [0, kind | 0o644, 0]), may, "{kind:#x}");
            assert_eq!(allowed("mknodat", [0, 0, kind | 0o644]), may, "{kind:#x}");
        }
    }

    #[test]
    fn con_24_no_ioctl_types_on_a_terminal() {
        // TCGETS, TIOCGWINSZ, FIONREAD, FIOCLEX, TIOCGPTN, FS_IOC_GETFLAGS, FICLONE.
        for request in [
            0x5401,
            0x5413,
            0x541b,
            0x5451,
            0x8004_5430,
            0x8008_6601,
            0x4004_9409,
        ] {
            assert!(allowed("ioctl", [0, request, 0]), "{request:#x}");
        }
        // TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, each also with high bits.
        for request in [0x5412_u64, 0x541c, 0x5423, 0x541d] {
            for high in [0, 1 << 32, 1 << 63] {
                assert!(!allowed("ioctl", [0, request | high, 0]), "{request:#x}");
            }
        }
    }

    #[test]
    fn con_04_personality_only_as_debuggers_need_it() {
        for (domain, may) in [
            (0, true),
            (0xffff_ffff, true),
            (0x4_0000, true),
            (0x40_0000, false),
            (0x10_0000, false),
            (8, false),
        ] {
            assert_eq!(allowed("personality", [domain, 0, 0]), may, "{domain:#x}");
        }
    }
}
