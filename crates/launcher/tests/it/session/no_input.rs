//! `--no-input` at a terminal: no verb asks, whatever is there to ask.

use lazaret_launcher::examples::EXAMPLES;

use super::review::Terminal;
use super::world::{BEFORE, World, tree};
use crate::examples::words;

/// Read what they are asked for from stdin: that ends.
const READ_STDIN: [&str; 2] = ["ask", "mcp"];

/// A session that waits for a decision.
fn world() -> World {
    let world = World::new();
    drop(world.cycle().unwrap());
    let state = world.path("xdg");
    std::fs::create_dir(&state).unwrap();
    std::os::unix::fs::symlink(world.path("state"), state.join("lazaret")).unwrap();
    world
}

/// Runs one command line with `--no-input`.
fn unasked(world: &World, line: &str) -> (Option<i32>, String) {
    let words = words(line);
    let mut arguments: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    arguments.insert(0, "--no-input");
    let terminal = Terminal::of_verb(world, &world.path("xdg"), &arguments);
    let reads = READ_STDIN.iter().any(|verb| arguments.contains(verb));
    terminal.end_unasked(if reads { "\u{4}" } else { "" })
}

/// The examples hold each verb of the command line: see `each_verb_has_two_examples_that_parse`.
#[test]
fn no_verb_asks() {
    for (verb, examples) in EXAMPLES {
        for example in examples {
            let world = world();
            let (code, said) = unasked(&world, example);
            assert!(code.is_some(), "{verb}: {said}");
            assert_ne!(code, Some(130), "{verb}: {said}");
            assert!(!said.contains("lazaret? "), "{verb}: {said}");
        }
    }
}

#[test]
fn where_a_question_would_stand_the_flag_is_named_and_nothing_is_changed() {
    for line in ["lazaret apply shop", "lazaret discard shop --no-capture"] {
        let world = world();
        let (code, said) = unasked(&world, line);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("--yes"), "{said}");
        assert_eq!(world.workspace(), tree(&[BEFORE]));
    }
    let world = world();
    let (code, said) = unasked(&world, "lazaret review shop");
    assert_eq!(code, Some(120), "{said}");
    assert_eq!(world.workspace(), tree(&[BEFORE]));
}
