//! Strict JSON: one object, no repeated key, no NUL, no deeper than [`MAX_DEPTH`].

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// How deep arrays and objects may lie in each other; the outermost one counts.
pub const MAX_DEPTH: usize = 64;

/// Why a text is not the JSON that is taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// It is no text.
    #[error("it is not UTF-8, at byte {at}")]
    NotUtf8 {
        /// Where that begins.
        at: usize,
    },
    /// It holds a NUL character, as a byte or escaped.
    #[error("it holds a NUL character")]
    Nul,
    /// It is nested too deeply.
    #[error("it is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// An object has a key twice: programs differ in which one counts.
    #[error("an object has the key {0:?} twice")]
    RepeatedKey(String),
    /// It is JSON, but no object.
    #[error("it is not a JSON object")]
    NotAnObject,
    /// It is no JSON.
    #[error("it is not JSON: {0}")]
    Syntax(String),
}

/// Checks that `bytes` are one object, and returns it on one line. Numbers, order and escapes stay
/// as they are written.
///
/// # Errors
/// See [`JsonError`].
pub fn object(bytes: &[u8]) -> Result<String, JsonError> {
    let text = std::str::from_utf8(bytes).map_err(|error| JsonError::NotUtf8 {
        at: error.valid_up_to(),
    })?;
    if text.contains('\0') {
        return Err(JsonError::Nul);
    }
    let found = RefCell::new(None);
    let mut parser = serde_json::Deserializer::from_str(text);
    let check = Check {
        depth: 0,
        found: &found,
    };
    let is_object = check
        .deserialize(&mut parser)
        .and_then(|is_object| parser.end().map(|()| is_object));
    match (is_object, found.into_inner()) {
        (_, Some(error)) => Err(error),
        (Ok(true), None) => Ok(on_one_line(text)),
        (Ok(false), None) => Err(JsonError::NotAnObject),
        (Err(error), None) => Err(JsonError::Syntax(error.to_string())),
    }
}

/// Removes white space between the tokens of a text that is JSON.
fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let (mut in_string, mut is_escaped) = (false, false);
    for char in text.chars() {
        match (in_string, char) {
            (false, ' ' | '\t' | '\n' | '\r') => continue,
            (false, '"') => in_string = true,
            (true, '"') if !is_escaped => in_string = false,
            _ => {}
        }
        is_escaped = in_string && char == '\\' && !is_escaped;
        line.push(char);
    }
    line
}

/// Reads a value and keeps nothing of it. Returns whether it is an object.
#[derive(Clone, Copy)]
struct Check<'a> {
    depth: usize,
    found: &'a RefCell<Option<JsonError>>,
}

impl Check<'_> {
    fn refuse<E: serde::de::Error>(self, error: JsonError) -> E {
        *self.found.borrow_mut() = Some(error);
        E::custom("refused")
    }

    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        match self.depth < MAX_DEPTH {
            true => Ok(Self {
                depth: self.depth + 1,
                ..self
            }),
            false => Err(self.refuse(JsonError::TooDeep)),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Check<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Check<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<bool, E> {
        match text.contains('\0') {
            true => Err(self.refuse(JsonError::Nul)),
            false => Ok(false),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
        let inner = self.deeper()?;
        while seq.next_element_seed(inner)?.is_some() {}
        Ok(false)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let inner = self.deeper()?;
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if key.contains('\0') {
                return Err(self.refuse(JsonError::Nul));
            }
            if keys.contains(&key) {
                return Err(self.refuse(JsonError::RepeatedKey(key)));
            }
            keys.insert(key);
            map.next_value_seed(inner)?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> String {
        format!(
            "{{\"a\":{}{}}}",
            "[".repeat(depth - 1),
            "]".repeat(depth - 1)
        )
    }

    #[test]
    fn an_object_comes_on_one_line_as_it_was_written() {
        let text = " {\n\t\"b\" : [ 1.50 , 1e400 , \"x \\\" y\\\\\" ],\r\n \"a\":{ } } \n";
        let line = object(text.replace("1e400", "12345678901234567890123").as_bytes());
        let expected =
            "{\"b\":[1.50,12345678901234567890123,\"x \\\" y\\\\\"],\"a\":{}}".to_owned();
        assert_eq!(line, Ok(expected));
        object(nested(MAX_DEPTH).as_bytes()).unwrap();
    }

    #[test]
    fn what_is_refused_has_a_name() {
        let error = |bytes: &[u8]| object(bytes).expect_err("refused");
        assert_eq!(error(b"{\"a\":\"\xff\"}"), JsonError::NotUtf8 { at: 6 });
        for nul in ["{\"a\":\"\0\"}", "{\"a\":\"\\u0000\"}", "{\"\\u0000\":1}"] {
            assert_eq!(error(nul.as_bytes()), JsonError::Nul, "{nul:?}");
        }
        for depth in [MAX_DEPTH + 1, 100, 100_000] {
            assert_eq!(error(nested(depth).as_bytes()), JsonError::TooDeep);
        }
        for twice in ["{\"a\":1,\"a\":1}", "{\"b\":[{\"a\":1,\"\\u0061\":2}]}"] {
            let expected = JsonError::RepeatedKey("a".to_owned());
            assert_eq!(error(twice.as_bytes()), expected);
        }
        for other in ["[]", "1", "null", "\"{}\"", "true"] {
            assert_eq!(error(other.as_bytes()), JsonError::NotAnObject);
        }
        for none in ["", " ", "{", "{} {}", "{}x", "{'a':1}", "{\"a\":1,}", "NaN"] {
            let error = error(none.as_bytes());
            assert!(matches!(error, JsonError::Syntax(_)), "{none:?}: {error}");
        }
    }
}
