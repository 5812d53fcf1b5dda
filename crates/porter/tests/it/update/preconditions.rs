//! An update by what is known does what one by a survey does, or finds out that it may not.

use lazaret_transfer::AgentChanges;
use lazaret_tree::diff;

use super::kept::{Fault, Kept, conflicts};

const PROJECT: &str = r#"
    f README.md "hello"
    f src/main.rs "main"
    f src/lib.rs "lib"
    l src/link -> ../README.md
    f docs/a "a"
    f docs/deep/b "b"
    f .git/HEAD "ref: refs/heads/main"
    f .git/refs/heads/main "1111111111111111111111111111111111111111\n"
    f .git/index "index"
"#;

/// What the command did before it ended and was collected.
const AGENT: &str = "f README.md \"mine\"\nf made/by/agent \"x\"\nf src/__pycache__/x \"y\"";

fn kept() -> Kept {
    let mut kept = Kept::new(PROJECT);
    kept.agent(AGENT);
    kept.survey();
    kept
}

/// Updates after the edits `host` to the workspace, and only the edits `behind` to the volume.
/// Returns whether the preconditions held, and as text the conflicts, the changes that count as the
/// agent's, and the volume.
#[track_caller]
fn updated(
    is_believed: bool,
    host: &str,
    behind: &str,
    agent_changes: AgentChanges,
) -> (Option<bool>, String) {
    let mut kept = kept();
    kept.host(host);
    kept.agent(behind);
    kept.is_believed = is_believed;
    let plan = kept.try_update(agent_changes, Fault::None, &mut |_| {});
    let plan = plan.expect("nothing goes wrong");
    let held = kept.held;
    // A survey finds what the update did not check.
    kept.survey();
    kept.assert_known(host);
    let changes = diff(&kept.baseline, &kept.known.tree());
    let changes: Vec<_> = changes.iter().map(|change| change.path.as_str()).collect();
    let found = format!(
        "conflicts: {}\nchanges: {}\n{}",
        conflicts(&plan),
        changes.join(" "),
        kept.dump()
    );
    (held, found)
}

const EDITS: [&str; 11] = [
    "",
    "f src/main.rs \"changed\"",
    "f README.md \"yours\"\nf new/file \"new\"",
    "- docs",
    "- docs\nf docs \"now a file\"",
    "- src/link\nl src/link -> main.rs\n- src/lib.rs",
    "f made/by/agent \"both\"\nf made/by/host \"h\"",
    "- src/lib.rs\nf src/lib.rs/deep/file \"a directory now\"",
    "- src/link\nf src/link/file \"a directory now\"",
    "f .git/index \"other\"",
    "f .git/refs/heads/main \"2222222222222222222222222222222222222222\\n\"\nf src/lib.rs \"2\"",
];

#[test]
fn by_what_is_known_the_same_comes_out_as_by_a_survey() {
    for host in EDITS {
        for agent_changes in [AgentChanges::Keep, AgentChanges::Discard] {
            let (held, found) = updated(true, host, "", agent_changes);
            assert_eq!(held, Some(true), "{host} {agent_changes:?}");
            assert_eq!(
                found,
                updated(false, host, "", agent_changes).1,
                "{host} {agent_changes:?}"
            );
        }
    }
}

/// If another process writes to the volume, against the rules, the update overwrites none of its
/// files.
#[test]
fn what_was_changed_behind_our_back_is_found_where_it_matters() {
    for (host, behind) in [
        ("f src/main.rs \"changed\"", "f src/main.rs \"MAIN\""),
        ("f src/main.rs \"changed\"", "m 755 src/main.rs"),
        ("f src/main.rs \"changed\"", "- src/main.rs"),
        ("f src/main.rs \"changed\"", "- src/main.rs\nd src/main.rs"),
        ("f src/main.rs \"changed\"", "- src\nl src -> docs"),
        ("f src/main.rs \"changed\"", "- src\nf src \"a file\""),
        ("f new/file \"new\"", "f new/file \"theirs\""),
        ("f new/file \"new\"", "l new -> /"),
        ("f new/file \"new\"", "d new"),
        ("- docs", "f docs/deep/b \"changed\""),
        ("- src/link", "- src/link\nl src/link -> main.rs"),
        (
            "f .git/index \"other\"",
            "f .git/refs/heads/main \"3333333333333333333333333333333333333333\\n\"",
        ),
        ("f .git/index \"other\"", "- .git/HEAD"),
    ] {
        let (held, found) = updated(true, host, behind, AgentChanges::Keep);
        assert_eq!(held, Some(false), "{host} over {behind}");
        assert_eq!(
            found,
            updated(false, host, behind, AgentChanges::Keep).1,
            "{host} over {behind}"
        );
    }
}

#[test]
fn what_was_changed_elsewhere_shows_when_it_is_collected() {
    for (host, behind) in [
        (
            "f src/main.rs \"changed\"",
            "f src/lib.rs \"theirs\"\nf src/more \"m\"",
        ),
        ("", "- docs"),
        // A directory that was to go stays with what it holds.
        ("- docs", "f docs/deep/new \"theirs\""),
    ] {
        let (held, found) = updated(true, host, behind, AgentChanges::Keep);
        assert_eq!(held, Some(true), "{host} beside {behind}");
        assert_eq!(
            found,
            updated(false, host, behind, AgentChanges::Keep).1,
            "{host} beside {behind}"
        );
    }
}

/// The host does not know how much an interrupted update did.
#[test]
fn after_an_update_that_broke_off_the_volume_is_surveyed() {
    let mut kept = kept();
    kept.host("f src/main.rs \"changed\"");
    kept.is_believed = true;
    let broken = kept.try_update(AgentChanges::Keep, Fault::LostReceipt, &mut |_| {});
    broken.expect_err("the receipt is lost");
    assert_eq!(kept.held, Some(true));
    kept.update();
    assert_eq!(kept.held, None);
    kept.assert_known("after the second one");
}
