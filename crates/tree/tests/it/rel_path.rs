//! Paths below a workspace: which bytes are one, and in which order they come.

use lazaret_tests::Random;
use lazaret_tree::{RelPath, RelPathBuf, RelPathError};

#[track_caller]
fn refused(name: impl AsRef<[u8]>, error: RelPathError) {
    assert_eq!(RelPath::from_bytes(name.as_ref()), Err(error));
}

#[test]
fn what_is_no_path() {
    refused("", RelPathError::Empty);
    refused("/", RelPathError::Absolute);
    refused("//a", RelPathError::Absolute);
    refused("a\0b", RelPathError::Nul);
    for name in [".", "./a", "a/.", "a/./b", "a/", "a//b"] {
        refused(name, RelPathError::Noncanonical);
    }
    for name in ["..", "../a", "a/..", "a/../b"] {
        refused(name, RelPathError::DotDot);
    }
    for name in ["a\nb", "\x1b", "\x7f", "a/\u{85}", "\u{9b}"] {
        refused(name, RelPathError::Control);
    }
    refused(b"a\xff", RelPathError::Encoding);
    refused("c".repeat(256), RelPathError::ComponentTooLong);
    refused(["c"; 600].join("/"), RelPathError::TooLong);
    refused(["c"; 65].join("/"), RelPathError::TooDeep);
}

/// What only an archive can hold ends a batch, so an oddity before it must not
/// hide it.
#[test]
fn a_lie_is_reported_before_an_oddity() {
    let odd = "c".repeat(300);
    refused(format!("{odd}/../x"), RelPathError::DotDot);
    refused(format!("{odd}//x"), RelPathError::Noncanonical);
    refused(format!("{odd}\0"), RelPathError::Nul);
    refused(b"\xff\n/..", RelPathError::DotDot);
}

#[test]
fn what_is_a_path() {
    for name in [
        "a", "..a", "a..", "...", ".git", " ", "a\\..\\b", "C:x", "\u{202e}", "\u{e9}",
    ] {
        assert_eq!(RelPath::new(name).map(RelPath::as_str), Ok(name));
    }
    let path: RelPathBuf = "a/b/c".parse().unwrap();
    let ancestors: Vec<_> = path.ancestors().map(RelPath::as_str).collect();
    assert_eq!((path.file_name(), ancestors), ("c", vec!["a/b", "a"]));
    let below = |other: &str| path.starts_with(RelPath::new(other).unwrap());
    assert!(below("a") && below("a/b") && below("a/b/c"));
    assert!(!below("a/b/c/d") && !below("a/bc") && !below("b"));
    assert_eq!(path.join("d").unwrap().as_str(), "a/b/c/d");
    assert_eq!(path.join("../d"), Err(RelPathError::DotDot));
}

/// The rules, one by one; most paths are judged in another way, at first sight.
fn is_path(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let components: Vec<&str> = text.split('/').collect();
    !text.chars().any(char::is_control)
        && (components.iter())
            .all(|component| !matches!(*component, "" | "." | "..") && component.len() <= 255)
        && text.len() <= 1024
        && components.len() <= 64
}

#[test]
fn what_is_a_path_at_first_sight_is_one() {
    let mut random = Random::new(2);
    let long = "l".repeat(254);
    let parts = [
        "a", "b-c", "/", "/", "/", ".", "..", "x.y", " ", "\u{7f}", "\u{1f}", "\u{e9}", "~", &long,
    ];
    let deep = "d/".repeat(60);
    let (mut paths, mut others) = (0, 0);
    for _ in 0..20_000 {
        let head = if random.below(8) == 0 { &*deep } else { "" };
        let tail: String = (0..=random.below(9)).map(|_| random.pick(&parts)).collect();
        let mut bytes = format!("{head}{tail}").into_bytes();
        if random.below(16) == 0 {
            bytes.push(0xff);
        }
        let is = RelPath::from_bytes(&bytes).is_ok();
        assert_eq!(is, is_path(&bytes), "{}", String::from_utf8_lossy(&bytes));
        *(if is { &mut paths } else { &mut others }) += 1;
    }
    assert!(paths > 2_000 && others > 2_000, "{paths} {others}");
}

#[test]
fn the_order_is_that_of_the_components() {
    let mut random = Random::new(1);
    let parts = ["a", "b", "a-", "a.b", "ab", " ", "\u{e9}", "/", "/", "/"];
    // Most neighbours differ late.
    let heads = [
        "",
        "",
        "sevenby",
        "eight/by",
        "fifteen/bytes/b",
        "sixteen/bytes/by",
    ];
    let paths: Vec<RelPathBuf> = (0..2000)
        .filter_map(|_| {
            let head = random.pick(&heads);
            let tail: String = (0..=random.below(6)).map(|_| random.pick(&parts)).collect();
            format!("{head}{tail}").parse().ok()
        })
        .collect();
    assert!(paths.len() > 300);
    for one in &paths {
        for two in paths.iter().take(300) {
            assert_eq!(
                one.cmp(two),
                one.components().cmp(two.components()),
                "{one} {two}"
            );
        }
    }
}
