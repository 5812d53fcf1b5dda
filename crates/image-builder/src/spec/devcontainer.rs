//! The image that a `devcontainer.json` names, as the base of ours.
//!
//! Of the file only `image` is taken. What would reach the host, or would make the image
//! another one than the file's author meant, is refused: all of it, in one answer.

use std::collections::BTreeMap;
use std::ops::Range;

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

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

/// JSON with comments and trailing commas, and no other freedom: what editors write.
const SYNTAX: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads the image out of the text of a `devcontainer.json` at `file`.
///
/// # Errors
/// Shows the line, and names everything in the file that is refused.
pub(crate) fn image(file: &str, text: &str) -> Result<PinnedReference, SpecError> {
    let refuse = |span: Range<usize>, message: &str| refusal(file, text, span, message);
    let parsed = parse_to_ast(text, &CollectOptions::default(), &SYNTAX).map_err(|error| {
        let start = error.range().start;
        refuse(
            start..start,
            &format!("no devcontainer.json: {}", error.kind()),
        )
    })?;
    let Some(Value::Object(object)) = parsed.value else {
        return Err(refuse(0..0, "no devcontainer.json: it is not an object"));
    };
    let mut refused = BTreeMap::new();
    for property in &object.properties {
        let name = property.name.as_str();
        let reason = match name {
            name if HOST.contains(&name) => "reaches the host",
            name if MAKES.contains(&name) => "would make another image of it",
            name if IDLE.contains(&name) => continue,
            _ => "is not known",
        };
        refused
            .entry(name)
            .or_insert((reason, span(&property.name)));
    }
    if let Some(first) = refused
        .values()
        .map(|(_, span)| span)
        .min_by_key(|span| span.start)
    {
        let reasons: Vec<String> = refused
            .iter()
            .map(|(name, (reason, _))| format!("`{name}` {reason}"))
            .collect();
        return Err(refuse(first.clone(), &reasons.join(", ")));
    }
    // Of a key that is there twice, the last one counts as in most readers.
    let mut properties = object.properties.iter().rev();
    let image = properties.find(|property| property.name.as_str() == "image");
    match image.map(|property| (&property.name, &property.value)) {
        Some((name, Value::StringLit(reference))) => reference
            .value
            .parse::<PinnedReference>()
            .map_err(|error| refuse(span(name), &error.to_string())),
        _ => Err(refuse(0..0, "expected `image`, a name with a digest")),
    }
}

fn span(name: &ObjectPropName<'_>) -> Range<usize> {
    let range = name.range();
    range.start..range.end
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
