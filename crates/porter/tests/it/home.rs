//! `porter home`: what an agent left in a home is told within bounds, and put back, and nothing
//! outside is touched.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use lazaret_protocol::{
    HomeEntries, HomeEntry, HomeOrder, HomeOrders, HomeRequest, MAX_HOME_FILE, SET_ASIDE,
};
use lazaret_tree::{Mode, PathPattern};
use rustix::fs::{CWD, mkfifoat};

use super::talking::Talking;

/// Asks for patterns, and then for orders. Returns what was told.
#[track_caller]
fn exchange(
    home: &Path,
    patterns: &[&str],
    orders: &[(&str, HomeOrder)],
) -> BTreeMap<String, HomeEntry> {
    let mut porter = Talking::with(&["home", home.to_str().unwrap()]);
    let patterns = patterns.iter();
    let patterns = patterns.map(|text| PathPattern::parse(text).unwrap());
    let mut request = Vec::new();
    HomeRequest(patterns.collect())
        .write_to(&mut request)
        .unwrap();
    porter.say(&request);
    let told = HomeEntries::read_from(&mut porter.stdout).unwrap();
    let orders = orders.iter();
    let orders = orders.map(|(path, order)| (path.parse().unwrap(), order.clone()));
    let mut bytes = Vec::new();
    HomeOrders(orders.collect()).write_to(&mut bytes).unwrap();
    porter.say(&bytes);
    porter.rest().ok();
    let told = told.0.into_iter();
    told.map(|(path, entry)| (path.to_string(), entry))
        .collect()
}

fn file(text: &str) -> HomeEntry {
    HomeEntry::File {
        mode: Mode::Plain,
        contents: text.as_bytes().to_vec(),
    }
}

fn write(mode: Mode, text: &str) -> HomeOrder {
    HomeOrder::Write {
        mode,
        contents: text.as_bytes().to_vec(),
    }
}

#[test]
fn what_lies_at_the_patterns_is_told_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let at = |path: &str| home.path().join(path);
    for dir in [".claude/hooks/a", "bin", "lib/p1/s", "lib/p2/s", "notes"] {
        fs::create_dir_all(at(dir)).unwrap();
    }
    for path in [
        ".claude/hooks/a/b.sh",
        "lib/p1/s/x.pth",
        "lib/p2/s/y.py",
        "notes/n",
        ".rc",
    ] {
        fs::write(at(path), path).unwrap();
    }
    let patterns = [
        ".claude/hooks/**",
        "bin/**",
        "lib/*/s/*.pth",
        ".rc",
        ".absent",
    ];
    let told = exchange(home.path(), &patterns, &[]);
    let expected = [".claude/hooks/a/b.sh", ".rc", "lib/p1/s/x.pth"];
    let expected = expected.map(|path| (path.to_owned(), file(path)));
    assert_eq!(told, expected.into());
}

#[test]
fn what_is_hostile_is_told_within_bounds() {
    let home = tempfile::tempdir().unwrap();
    let at = |path: &str| home.path().join(path);
    symlink("/etc", at(".claude")).unwrap();
    symlink("/etc/passwd", at(".rc")).unwrap();
    mkfifoat(CWD, at(".pipe"), rustix::fs::Mode::RWXU).unwrap();
    let large = fs::File::create(at(".large")).unwrap();
    large.set_len(MAX_HOME_FILE as u64 + 1).unwrap();
    fs::create_dir_all(at(".dir/a")).unwrap();
    fs::create_dir(at("odd")).unwrap();
    fs::write(at("odd").join(OsStr::from_bytes(b"\xff")), "x").unwrap();
    fs::create_dir(at("many")).unwrap();
    for number in 0..1100 {
        fs::write(at("many").join(number.to_string()), "x").unwrap();
    }
    fs::create_dir_all(at("deep").join(["d"; 40].join("/"))).unwrap();
    fs::create_dir(at("closed")).unwrap();
    fs::write(at("closed/a"), "x").unwrap();
    fs::set_permissions(at("closed/a"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(at("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    let patterns = [
        ".claude/settings.json",
        ".rc",
        ".pipe",
        ".large",
        ".dir",
        "odd/**",
        "many/**",
        "deep/**",
        "closed/**",
    ];
    let told = exchange(home.path(), &patterns, &[]);
    let link = |target: &str| HomeEntry::Link {
        target: target.as_bytes().to_vec(),
    };
    let bytes = MAX_HOME_FILE as u64 + 1;
    let expected = [
        (".claude", link("/etc")),
        (".dir", HomeEntry::Dir),
        (".large", HomeEntry::Large { bytes }),
        (".pipe", HomeEntry::Special),
        (".rc", link("/etc/passwd")),
        ("closed/a", file("x")),
        ("deep", HomeEntry::Dir),
        ("many", HomeEntry::Dir),
        ("odd", HomeEntry::Dir),
    ];
    let expected = expected.map(|(path, entry)| (path.to_owned(), entry));
    assert_eq!(told, expected.into());
}

#[test]
fn orders_follow_no_link_and_touch_nothing_outside() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("settings.json"), "theirs").unwrap();
    let home = tempfile::tempdir().unwrap();
    let at = |path: &str| home.path().join(path);
    symlink(outside.path(), at(".claude")).unwrap();
    symlink(outside.path(), at(SET_ASIDE)).unwrap();
    symlink(outside.path().join("new"), at(".rc")).unwrap();
    fs::create_dir_all(at("bin/a")).unwrap();
    fs::set_permissions(at("bin"), fs::Permissions::from_mode(0o500)).unwrap();
    fs::create_dir_all(at(".tool/login/a")).unwrap();
    let aside = HomeOrder::SetAside {
        name: "1-bin".to_owned(),
    };
    let orders = [
        // Through the link there is nothing.
        (".claude/settings.json", HomeOrder::Remove),
        (".claude", HomeOrder::Remove),
        ("bin", aside),
        (".tool/login", HomeOrder::Remove),
        (".absent/a", HomeOrder::Remove),
        (".claude/settings.json", write(Mode::Plain, "ours")),
        (".rc", write(Mode::Executable, "ours")),
    ];
    exchange(home.path(), &[], &orders);
    let settings = fs::read_to_string(outside.path().join("settings.json")).unwrap();
    assert_eq!(settings, "theirs");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(
        fs::read_to_string(at(".claude/settings.json")).unwrap(),
        "ours"
    );
    let rc = fs::symlink_metadata(at(".rc")).unwrap();
    assert!(rc.is_file());
    assert_eq!(rc.permissions().mode() & 0o777, 0o700);
    assert!(at(SET_ASIDE).join("1-bin/a").is_dir());
    assert!(!at("bin").exists() && !at(".tool/login").exists());
}
