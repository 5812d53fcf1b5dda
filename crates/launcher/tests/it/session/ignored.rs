//! New files that git ignores: they stay in the copy, and come out if they are asked for.

use lazaret_session::captures::Capture;
use lazaret_session::store::record::Phase;

use super::export::lazaret;
use super::world::World;

/// A session whose command made such files, and nothing else.
fn world() -> World {
    let world = World::new();
    std::fs::write(world.path("workspace/.gitignore"), "dist/\n*.log\n").unwrap();
    world.command(|volume, _| {
        std::fs::create_dir(volume.join("dist")).unwrap();
        std::fs::write(volume.join("dist/1.js"), "1\n").unwrap();
        std::fs::write(volume.join("a.log"), "log\n").unwrap();
        0
    });
    drop(world.cycle().unwrap());
    world
}

#[test]
fn they_are_counted_and_offered_by_a_flag() {
    let world = world();
    let (code, out, _) = lazaret(&world, &["diff", "shop"]);
    assert_eq!(code, 0);
    insta::assert_snapshot!(out, @"
    0 modified, 0 added, 0 deleted
    2 files that git ignores stay in the copy: a.log, dist/ (1); --with-ignored takes them
    ");
    let (_, json, _) = lazaret(&world, &["diff", "shop", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["left_out"], serde_json::json!(["a.log", "dist"]));

    let (code, _, said) = lazaret(&world, &["apply", "shop", "dist", "--yes"]);
    assert_eq!(code, 1);
    assert!(
        said.contains("git ignores dist, so it stays in the copy"),
        "{said}"
    );
    assert!(said.contains("--with-ignored"), "{said}");

    let (code, out, _) = lazaret(&world, &["diff", "shop", "--with-ignored", "--stat"]);
    assert_eq!(code, 0);
    assert!(
        out.contains("dist/1.js") && out.contains("git.ignored"),
        "{out}"
    );
    let (code, _, said) = lazaret(
        &world,
        &["apply", "shop", "dist", "--yes", "--with-ignored"],
    );
    assert_eq!(code, 0, "{said}");
    assert!(world.path("workspace/dist/1.js").exists());
    assert!(!world.path("workspace/a.log").exists());
}

/// They go with the volume, so they are captured before.
#[test]
fn alone_they_keep_no_session_and_are_not_lost() {
    let world = world();
    let (code, _, said) = lazaret(&world, &["apply", "shop", "--yes"]);
    assert_eq!(code, 0, "{said}");
    assert!(!world.path("workspace/dist").exists());
    assert_eq!(world.phase(), Some(Phase::Settled));

    let captures = Capture::list(&world.store).unwrap();
    let [capture] = &captures[..] else {
        panic!("{captures:?}");
    };
    let id = capture.id().to_string();
    assert!(said.contains(&format!("recover --captures {id}")), "{said}");
    let (code, _, said) = lazaret(&world, &["recover", "--captures", &id]);
    assert_eq!(code, 0, "{said}");
    let (code, _, said) = lazaret(&world, &["apply", &id, "--yes", "--with-ignored"]);
    assert_eq!(code, 0, "{said}");
    assert!(world.path("workspace/dist/1.js").exists());
}

/// A full disk is like that too.
#[test]
fn nothing_is_applied_if_they_cannot_be_captured() {
    let world = world();
    std::fs::write(world.path("state/captures"), "").unwrap();
    let (code, _, said) = lazaret(&world, &["apply", "shop", "--yes"]);
    assert_ne!(code, 0, "{said}");
    assert!(
        said.contains("apply shop --with-ignored") && !said.contains("--no-capture"),
        "{said}"
    );
    assert_eq!(world.phase(), Some(Phase::Collected));

    let (code, _, said) = lazaret(&world, &["apply", "shop", "--with-ignored", "--yes"]);
    assert_eq!(code, 0, "{said}");
    assert!(world.path("workspace/dist/1.js").exists());
}
