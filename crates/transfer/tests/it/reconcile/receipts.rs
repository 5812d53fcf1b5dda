//! What a porter says that it did, held against what was known of the volume.

use lazaret_protocol::{UpdateReceipt, UpdateRequest};
use lazaret_tree::{RelPathBuf, Tree};

use super::kit::{Case, receipt};

/// Says what becomes of a volume that is told to lose and to get this, by a porter that claims
/// to have done all of it.
fn advanced(volume: &str, remove: &[&str], send: &str) -> String {
    let case = Case::new("", send, volume);
    let parse = |path: &&str| path.parse::<RelPathBuf>().expect("a path");
    // Of what is sent only the last: the rest is the way to it.
    let send: Tree =
        case.host
            .entries()
            .next_back()
            .into_iter()
            .fold(Tree::new(), |mut tree, (path, entry)| {
                tree.insert(path.clone(), entry.clone());
                tree
            });
    let written = receipt(&send);
    let request = UpdateRequest {
        remove: remove.iter().map(parse).collect(),
        send,
        quiet_since: None,
    };
    let claims = UpdateReceipt {
        written,
        stayed: Vec::new(),
    };
    match case.state().updated(&request, &claims) {
        Ok(_) => "a tree".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn nothing_is_left_hanging_by_what_a_porter_claims() {
    let volume = "f d/x \"x\"\nf d/e/y \"y\"\np o/pipe\nf f \"f\"";
    for (remove, send, expected) in [
        (&["d/e/y"][..], "", "a tree"),
        (&["d/e", "d/e/y"], "", "a tree"),
        (&["d/e", "d/e/y"], "f d/e \"a file now\"", "a tree"),
        (&["f"], "d f", "a tree"),
        (&[], "f d/new \"n\"", "a tree"),
        // What it held is still there.
        (&["d/e"], "", "d/e/y"),
        (&["d"], "", "d/e"),
        (&["o"], "", "o/pipe"),
        (&[], "f d/e \"a file now\"", "d/e/y"),
        // Nowhere to lie.
        (&[], "f new/x \"x\"", "new/x"),
        (&["d/e", "d/e/y"], "f d/e/z \"z\"", "d/e/z"),
        (&[], "f f/x \"x\"", "f/x"),
    ] {
        let said = advanced(volume, remove, send);
        let is_expected = match expected {
            "a tree" => said == expected,
            path => said.contains(path),
        };
        assert!(is_expected, "{remove:?} {send}: {said}");
    }
}
