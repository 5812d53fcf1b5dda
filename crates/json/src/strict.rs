//! `check`: JSON without repeated keys, without NUL, not too deep.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

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
    #[error("it is nested deeper than {most} levels")]
    TooDeep {
        /// The most levels of arrays and objects; the outermost one counts.
        most: usize,
    },
    /// An object has a key twice: programs differ in which one counts.
    #[error("an object has the key {0:?} twice")]
    RepeatedKey(String),
    /// It is no JSON.
    #[error("it is not JSON: {0}")]
    Syntax(String),
}

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An object.
    Object,
    /// Another value.
    Other,
}

/// Checks that `bytes` are one value with at most `most_depth` levels of arrays and objects, and
/// returns what it is. serde_json itself reads 127 levels at most.
///
/// # Errors
/// See [`JsonError`].
pub fn check(bytes: &[u8], most_depth: usize) -> Result<Kind, JsonError> {
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
        most_depth,
        found: &found,
    };
    let kind = check
        .deserialize(&mut parser)
        .and_then(|kind| parser.end().map(|()| kind));
    match (kind, found.into_inner()) {
        (_, Some(error)) => Err(error),
        (Ok(kind), None) => Ok(kind),
        (Err(error), None) => Err(JsonError::Syntax(error.to_string())),
    }
}

/// Reads a value and keeps nothing of it. Returns what it is.
#[derive(Clone, Copy)]
struct Check<'a> {
    depth: usize,
    most_depth: usize,
    found: &'a RefCell<Option<JsonError>>,
}

impl Check<'_> {
    fn refuse<E: serde::de::Error>(self, error: JsonError) -> E {
        *self.found.borrow_mut() = Some(error);
        E::custom("refused")
    }

    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        match self.depth < self.most_depth {
            true => Ok(Self {
                depth: self.depth + 1,
                ..self
            }),
            false => Err(self.refuse(JsonError::TooDeep {
                most: self.most_depth,
            })),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Check<'_> {
    type Value = Kind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Check<'_> {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Kind, E> {
        Ok(Kind::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Kind, E> {
        Ok(Kind::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Kind, E> {
        Ok(Kind::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Kind, E> {
        Ok(Kind::Other)
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Other)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Kind, E> {
        match text.contains('\0') {
            true => Err(self.refuse(JsonError::Nul)),
            false => Ok(Kind::Other),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Kind, A::Error> {
        let inner = self.deeper()?;
        while seq.next_element_seed(inner)?.is_some() {}
        Ok(Kind::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Kind, A::Error> {
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
        Ok(Kind::Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 64;

    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn a_value_says_whether_it_is_an_object() {
        for (text, kind) in [
            ("{\"a\":1,\"b\":{\"a\":null}}", Kind::Object),
            (" {} ", Kind::Object),
            ("[1.5,-3,\"x\",true]", Kind::Other),
            ("null", Kind::Other),
            (&nested(MOST), Kind::Other),
        ] {
            assert_eq!(check(text.as_bytes(), MOST), Ok(kind), "{text}");
        }
        assert_eq!(check(nested(127).as_bytes(), 127), Ok(Kind::Other));
    }

    #[test]
    fn what_is_refused_has_a_name() {
        let error = |bytes: &[u8]| check(bytes, MOST).expect_err("refused");
        assert_eq!(error(b"{\"a\":\"\xff\"}"), JsonError::NotUtf8 { at: 6 });
        for nul in ["{\"a\":\"\0\"}", "{\"a\":\"\\u0000\"}", "{\"\\u0000\":1}"] {
            assert_eq!(error(nul.as_bytes()), JsonError::Nul, "{nul:?}");
        }
        for depth in [MOST + 1, 100, 100_000] {
            let expected = JsonError::TooDeep { most: MOST };
            assert_eq!(error(nested(depth).as_bytes()), expected);
        }
        for twice in ["{\"a\":1,\"a\":1}", "{\"b\":[{\"a\":1,\"\\u0061\":2}]}"] {
            let expected = JsonError::RepeatedKey("a".to_owned());
            assert_eq!(error(twice.as_bytes()), expected);
        }
        for none in ["", " ", "{", "{} {}", "{}x", "{'a':1}", "{\"a\":1,}", "NaN"] {
            let error = error(none.as_bytes());
            assert!(matches!(error, JsonError::Syntax(_)), "{none:?}: {error}");
        }
    }
}
