//! Files that mix settings and history, as two halves.

use serde_json::{Map, Value};

use super::keys::{Format, Keys, keys};

/// The most bytes of a TOML file that is read: five bytes of it can make a table.
const MOST_TOML: usize = 256 << 10;

/// A file in two halves.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Split {
    format: Format,
    state: Map<String, Value>,
    config: Map<String, Value>,
}

/// Reads a file; `None` for one that is not well-formed, or no table.
pub(super) fn split(format: Format, contents: &[u8]) -> Option<Split> {
    let value = match format {
        Format::Json => serde_json::from_slice(contents).ok()?,
        Format::Toml if contents.len() > MOST_TOML => return None,
        Format::Toml => {
            let text = std::str::from_utf8(contents).ok()?;
            let table: toml::Table = toml::from_str(text).ok()?;
            serde_json::to_value(table).ok()?
        }
    };
    let Value::Object(table) = value else {
        return None;
    };
    let (mut state, mut config) = Default::default();
    divide(table, keys(format), &mut state, &mut config);
    Some(Split {
        format,
        state,
        config,
    })
}

impl Split {
    /// Whether both have the same settings.
    pub(super) fn has_config_of(&self, other: &Self) -> bool {
        self.config == other.config
    }

    /// Whether it has no settings.
    pub(super) fn has_no_config(&self) -> bool {
        self.config.is_empty()
    }

    /// Whether it has no history.
    pub(super) fn has_no_state(&self) -> bool {
        self.state.values().all(is_void)
    }

    /// Returns a file with this one's history and another's settings.
    pub(super) fn with_config_of(&self, other: Option<&Self>) -> Vec<u8> {
        let mut table = self.state.clone();
        if let Some(other) = other {
            join(&mut table, &other.config);
        }
        write(self.format, &table)
    }

    /// Returns the settings as text.
    pub(super) fn config_text(&self) -> Vec<u8> {
        write(self.format, &self.config)
    }
}

/// Divides a table. A setting that says nothing, such as an empty list, is as good as none.
fn divide(
    table: Map<String, Value>,
    keys: &Keys,
    state: &mut Map<String, Value>,
    config: &mut Map<String, Value>,
) {
    for (key, value) in table {
        match (keys.table(&key), value) {
            (Some(inner), Value::Object(table)) => {
                let (mut below, mut above) = Default::default();
                divide(table, inner, &mut below, &mut above);
                state.insert(key.clone(), below.into());
                if !above.is_empty() {
                    config.insert(key, above.into());
                }
            }
            (_, value) if keys.is_state(&key) => drop(state.insert(key, value)),
            (_, value) if is_void(&value) => {}
            (_, value) => drop(config.insert(key, value)),
        }
    }
}

fn is_void(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(table) => table.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => false,
    }
}

fn join(table: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, value) in more {
        match (table.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(value)) => join(inner, value),
            _ => drop(table.insert(key.clone(), value.clone())),
        }
    }
}

/// Writes a table that was read; one whose own format has no words for it is left empty.
fn write(format: Format, table: &Map<String, Value>) -> Vec<u8> {
    match format {
        Format::Json => {
            let text = serde_json::to_vec_pretty(table);
            text.map(|mut text| {
                text.push(b'\n');
                text
            })
            .unwrap_or_default()
        }
        Format::Toml => toml::to_string(table).unwrap_or_default().into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(format: Format, text: &str) -> String {
        let split = split(format, text.as_bytes()).unwrap();
        serde_json::to_string(&split.config).unwrap()
    }

    #[test]
    fn keys_of_claude_that_are_settings() {
        for (text, expected) in [
            (r#"{"numStartups": 3, "tipsHistory": {"a": 1}}"#, "{}"),
            (
                r#"{"mcpServers": {"a": {"command": "x"}}, "userID": "u"}"#,
                r#"{"mcpServers":{"a":{"command":"x"}}}"#,
            ),
            (r#"{"hooks": {"Stop": [1]}}"#, r#"{"hooks":{"Stop":[1]}}"#),
            (r#"{"env": {"A": "b"}}"#, r#"{"env":{"A":"b"}}"#),
            (r#"{"apiKeyHelper": "x"}"#, r#"{"apiKeyHelper":"x"}"#),
            (r#"{"unknown": 7}"#, r#"{"unknown":7}"#),
            (
                r#"{"unknown": [], "mcpServers": {}, "a": null, "b": false}"#,
                "{}",
            ),
            (
                r#"{"bypassPermissionsModeAccepted": true}"#,
                r#"{"bypassPermissionsModeAccepted":true}"#,
            ),
            (
                r#"{"projects": {"/w": {"history": ["h"], "lastCost": 1, "allowedTools": []}}}"#,
                "{}",
            ),
            (
                r#"{"projects": {"/w": {"history": [], "hasTrustDialogAccepted": true}}}"#,
                r#"{"projects":{"/w":{"hasTrustDialogAccepted":true}}}"#,
            ),
            (
                r#"{"projects": {"/w": {"mcpServers": {"a": {}}, "allowedTools": ["Bash"]}}}"#,
                r#"{"projects":{"/w":{"allowedTools":["Bash"],"mcpServers":{"a":{}}}}}"#,
            ),
            (r#"{"projects": {"/w": 7}}"#, r#"{"projects":{"/w":7}}"#),
            (r#"{"projects": 7}"#, r#"{"projects":7}"#),
            // The last of two counts, as it does for every reader of JSON in use.
            (r#"{"env": {}, "env": {"A": "b"}}"#, r#"{"env":{"A":"b"}}"#),
        ] {
            assert_eq!(config(Format::Json, text), expected, "{text}");
        }
    }

    #[test]
    fn keys_of_codex_that_are_settings() {
        for (text, expected) in [
            ("[notice]\nhide_full_access_warning = true", "{}"),
            ("model = \"m\"", r#"{"model":"m"}"#),
            (
                "[mcp_servers.a]\ncommand = \"x\"",
                r#"{"mcp_servers":{"a":{"command":"x"}}}"#,
            ),
            (
                "[model_providers.a]\nbase_url = \"http://x\"",
                r#"{"model_providers":{"a":{"base_url":"http://x"}}}"#,
            ),
            (
                "[projects.\"/w\"]\ntrust_level = \"trusted\"",
                r#"{"projects":{"/w":{"trust_level":"trusted"}}}"#,
            ),
            ("notify = [\"sh\"]", r#"{"notify":["sh"]}"#),
        ] {
            assert_eq!(config(Format::Toml, text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_table_can_not_be_divided() {
        for text in [
            "",
            "[]",
            "7",
            "{",
            "{} {}",
            "\u{feff}{}",
            r#"{"a": "\ud800"}"#,
        ] {
            assert_eq!(split(Format::Json, text.as_bytes()), None, "{text}");
        }
        for text in ["a", "a = 1\na = 2", "\0"] {
            assert_eq!(split(Format::Toml, text.as_bytes()), None, "{text}");
        }
        assert_eq!(split(Format::Json, &[0xff]), None);
        let deep = "[".repeat(1 << 20);
        assert_eq!(split(Format::Json, deep.as_bytes()), None);
        assert_eq!(split(Format::Toml, &vec![b'#'; MOST_TOML + 1]), None);
    }

    #[test]
    fn history_stays_with_the_settings_of_another() {
        let theirs = split(
            Format::Json,
            br#"{"numStartups": 3, "mcpServers": {"evil": {}},
                "projects": {"/w": {"history": ["h"], "hasTrustDialogAccepted": true}}}"#,
        )
        .unwrap();
        let ours = split(Format::Json, br#"{"numStartups": 1, "verbose": true}"#).unwrap();
        let joined = theirs.with_config_of(Some(&ours));
        let joined: Value = serde_json::from_slice(&joined).unwrap();
        let expected = serde_json::json!({
            "numStartups": 3, "verbose": true, "projects": {"/w": {"history": ["h"]}}
        });
        assert_eq!(joined, expected);
        let codex = split(Format::Toml, b"model = \"m\"\n[notice]\na = true").unwrap();
        let bare = String::from_utf8(codex.with_config_of(None)).unwrap();
        assert_eq!(bare, "[notice]\na = true\n");
    }
}
