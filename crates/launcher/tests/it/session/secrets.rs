//! Secrets of the workspace do not go in, and what is not there inside is not deleted.

use lazaret_tests::tree_text;

use super::world::{BEFORE, EDITS, World, tree};

const SECRETS: &str = "
    f deploy.md \"-----BEGIN PRIVATE KEY-----\\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\\n\"
    f prod.env \"A=b\\n\"
";

#[test]
fn sec_01_what_stayed_out_is_said_and_is_no_deletion() {
    let world = World::new();
    tree_text::build(SECRETS, &world.path("workspace"));
    world.command(|volume, _| {
        assert!(!volume.join("deploy.md").exists() && !volume.join("prod.env").exists());
        tree_text::build(EDITS, volume);
        0
    });
    let end = world.run().unwrap();
    assert_eq!(end.exit_code.value(), 0, "{}", world.said());
    // Two are modified or added, one is deleted, and these two are still there.
    assert_eq!(world.workspace(), tree(&[BEFORE, SECRETS, EDITS]));
    let said = world.said();
    for line in [
        "left out: deploy.md (holds a private key; a line `!PATH` in .lazaretignore takes it in)",
        "left out: prod.env (looks like a secret; a line `!PATH` in .lazaretignore takes it in)",
    ] {
        assert!(said.contains(line), "{said}");
    }
}
