//! The image that a `devcontainer.json` names, as the base of ours.
//!
//! Of the file only `image` is taken. What would reach the host, or would make the image
//! another one than the file's author meant, is refused: all of it, in one answer.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::spec::diagnostics::refusal;
use crate::{PinnedReference, SpecError};

/// What reaches the host, or takes the container's walls down.
const HOST: &[&str] = &[
    "appPort",
    "capAdd",
    "initializeCommand",
    "mounts",
    "privileged",
    "runArgs",
    "securityOpt",
    "workspaceMount",
];

/// What makes another image of it, which lazaret does not do.
const MAKES: &[&str] = &[
    "build",
    "dockerComposeFile",
    "dockerFile",
    "features",
    "onCreateCommand",
    "postAttachCommand",
    "postCreateCommand",
    "postStartCommand",
    "updateContentCommand",
];

/// What has no meaning for an image, or that a profile says.
const IDLE: &[&str] = &[
    "$schema",
    "containerEnv",
    "containerUser",
    "customizations",
    "forwardPorts",
    "hostRequirements",
    "image",
    "name",
    "otherPortsAttributes",
    "overrideCommand",
    "portsAttributes",
    "remoteEnv",
    "remoteUser",
    "shutdownAction",
    "updateRemoteUserUID",
    "userEnvProbe",
    "waitFor",
    "workspaceFolder",
];

/// Reads the image out of the text of a `devcontainer.json` at `file`.
///
/// # Errors
/// Shows the line, and names everything in the file that is refused.
pub(crate) fn image(file: &str, text: &str) -> Result<PinnedReference, SpecError> {
    let plain = without_comments(text);
    let keys: Map<String, Value> = serde_json::from_str(&plain).map_err(|error| {
        let start = line_start(text, error.line());
        refusal(
            file,
            text,
            start..start,
            &format!("no devcontainer.json: {error}"),
        )
    })?;
    let mut refused = Vec::new();
    let mut first: Option<Range<usize>> = None;
    for key in keys.keys() {
        let reason = match key.as_str() {
            key if HOST.contains(&key) => "reaches the host",
            key if MAKES.contains(&key) => "would make another image of it",
            key if IDLE.contains(&key) => continue,
            _ => "is not known",
        };
        refused.push(format!("`{key}` {reason}"));
        let span = span_of(&plain, key);
        if first.as_ref().is_none_or(|first| span.start < first.start) {
            first = Some(span);
        }
    }
    if let Some(first) = first {
        return Err(refusal(file, text, first, &refused.join(", ")));
    }
    let Some(Value::String(name)) = keys.get("image") else {
        return Err(refusal(
            file,
            text,
            0..0,
            "expected `image`, a name with a digest",
        ));
    };
    let span = span_of(&plain, "image");
    name.parse::<PinnedReference>()
        .map_err(|error| refusal(file, text, span, &error.to_string()))
}

/// Where a key stands; the whole beginning where it is written with escapes.
fn span_of(text: &str, key: &str) -> Range<usize> {
    let quoted = format!("\"{key}\"");
    match text.find(&quoted) {
        Some(start) => start..start + quoted.len(),
        None => 0..0,
    }
}

fn line_start(text: &str, line: usize) -> usize {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1));
    lines.map(str::len).sum()
}

/// Puts spaces in the place of comments and of commas before a closing bracket: the file is
/// "JSON with comments". Every byte stays where it is.
fn without_comments(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut comma: Option<usize> = None;
    let mut at = 0;
    let blank = |out: &mut Vec<u8>, range: Range<usize>| {
        for byte in out.get_mut(range).into_iter().flatten() {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    };
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = if byte == b'"' {
            comma = None;
            string_length(rest)
        } else if rest.starts_with(b"//") {
            let length = rest
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(rest.len());
            blank(&mut out, at..at + length);
            length
        } else if rest.starts_with(b"/*") {
            let end = rest.windows(2).skip(2).position(|pair| pair == b"*/");
            let length = end.map_or(rest.len(), |end| end + 4);
            blank(&mut out, at..at + length);
            length
        } else {
            match byte {
                b',' => comma = Some(at),
                b'}' | b']' => {
                    if let Some(comma) = comma.take() {
                        blank(&mut out, comma..comma + 1);
                    }
                }
                byte if byte.is_ascii_whitespace() => {}
                _ => comma = None,
            }
            1
        };
        at += length.max(1);
    }
    // Only whole characters were replaced, each of their bytes.
    String::from_utf8(out).unwrap_or_default()
}

/// The length of the string that `bytes` begins with, quotes included.
fn string_length(bytes: &[u8]) -> usize {
    let mut escaped = false;
    for (at, byte) in bytes.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn read(text: &str) -> Result<String, String> {
        image(
            ".devcontainer/devcontainer.json",
            &text.replace("<digest>", DIGEST),
        )
        .map(|reference| reference.to_string().replace(DIGEST, "<digest>"))
        .map_err(|error| error.to_string())
    }

    #[test]
    fn the_image_is_read_through_comments() {
        let text = r#"{
  // The team's image: "image": "not/this"
  "name": "shop // not a comment",
  "image": "registry.test/shop@sha256:<digest>", /* é, "mounts": [] */
  "customizations": { "vscode": { "extensions": ["a", "b",], }, },
}"#;
        assert_eq!(read(text).unwrap(), "registry.test/shop@sha256:<digest>");
    }

    #[test]
    fn what_reaches_the_host_is_listed_and_refused() {
        let text = r#"{
  "image": "registry.test/shop@sha256:<digest>",
  "initializeCommand": "curl x | sh",
  "mounts": ["source=/,target=/host,type=bind"],
  "runArgs": ["--privileged"],
  "privileged": true,
  "features": {},
  "surprise": 1
}"#;
        insta::assert_snapshot!(read(text).unwrap_err(), @r#"
        .devcontainer/devcontainer.json:3: `features` would make another image of it, `initializeCommand` reaches the host, `mounts` reaches the host, `privileged` reaches the host, `runArgs` reaches the host, `surprise` is not known
          |
        3 |   "initializeCommand": "curl x | sh",
          |   ^^^^^^^^^^^^^^^^^^^
        "#);
    }

    #[test]
    fn a_tag_is_no_digest_and_a_broken_file_no_devcontainer() {
        insta::assert_snapshot!(read("{\n  \"image\": \"debian:12\"\n}").unwrap_err(), @r#"
        .devcontainer/devcontainer.json:2: "debian:12" is not a pinned image: expected `name@sha256:` and 64 lower-case hexadecimal digits
          |
        2 |   "image": "debian:12"
          |   ^^^^^^^
        "#);
        insta::assert_snapshot!(read("{ \"name\": \"x\" }").unwrap_err(), @r#"
        .devcontainer/devcontainer.json:1: expected `image`, a name with a digest
          |
        1 | { "name": "x" }
          | ^
        "#);
        assert!(
            read("{ \"image\": ")
                .unwrap_err()
                .contains("devcontainer.json:1: no devcontainer.json")
        );
        assert!(read("{ \"image\": \"x").is_err());
        assert!(read("[]").is_err());
        assert!(read("/*").is_err());
    }
}
