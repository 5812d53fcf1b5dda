//! `RelPath`: what is accepted keeps its promises, and is itself again.

use lazaret_tree::{
    LinkTarget, MAX_COMPONENT_BYTES, MAX_DEPTH, MAX_PATH_BYTES, RelPath, is_git_name,
};

use crate::input::Input;

/// The bytes are two names, separated by a line feed.
pub(crate) fn parsed(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (one, two) = (input.until(b'\n'), input.0);
    let parsed = RelPath::from_bytes(one);
    if let Ok(target) = LinkTarget::from_bytes(one) {
        assert_eq!(target.as_str().as_bytes(), one);
        assert!(!target.as_str().chars().any(char::is_control));
    }
    let Ok(path) = parsed else {
        return;
    };
    check(path, one);
    let Ok(other) = RelPath::from_bytes(two) else {
        return;
    };
    check(other, two);
    let by_components = path.components().cmp(other.components());
    assert_eq!(path.cmp(other), by_components);
    assert_eq!(other.cmp(path), by_components.reverse());
    let below = path
        .components()
        .zip(other.components())
        .all(|(a, b)| a == b)
        && path.components().count() >= other.components().count();
    assert_eq!(path.starts_with(other), below);
    if let Ok(joined) = path.join(other.as_str()) {
        assert!(joined.starts_with(path) && *joined > *path);
    }
}

fn check(path: &RelPath, bytes: &[u8]) {
    assert_eq!(path.as_str().as_bytes(), bytes);
    assert!(path.as_str().len() <= MAX_PATH_BYTES);
    let components: Vec<&str> = path.components().collect();
    assert!(!components.is_empty() && components.len() <= MAX_DEPTH);
    for component in &components {
        assert!(!["", ".", ".."].contains(component) && component.len() <= MAX_COMPONENT_BYTES);
        assert!(!component.chars().any(char::is_control));
        // Only that it ends.
        let _ = is_git_name(component);
    }
    assert_eq!(components.last(), Some(&path.file_name()));
    match path.parent() {
        Some(parent) => assert_eq!(parent.join(path.file_name()).as_deref(), Ok(path)),
        None => assert_eq!(components.len(), 1),
    }
    assert_eq!(path.ancestors().count(), components.len() - 1);
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let deep = "a/".repeat(63) + "a";
    [
        "a\na/b",
        "a/b/c\na/b",
        "a-b\na/b",
        ".git/config\n.GIT",
        "../x\na",
        deep.as_str(),
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect()
}
