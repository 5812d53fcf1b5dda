//! What a line must be before it is read as a message: JSON without repeated keys, not too deep.
//!
//! Two readers of a repeated key may take two different values, so a client's own check and the
//! server could see different calls.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// The most levels of arrays and objects in a message.
pub const MOST_DEPTH: usize = 64;

/// Checks a line.
///
/// # Errors
/// It is no JSON, repeats a key, or is deeper than [`MOST_DEPTH`].
pub(crate) fn check(line: &[u8]) -> serde_json::Result<()> {
    let mut reader = serde_json::Deserializer::from_slice(line);
    Level(0).deserialize(&mut reader)?;
    reader.end()
}

/// A value, and how many levels it lies within.
#[derive(Clone, Copy)]
struct Level(usize);

impl Level {
    fn below<E: Error>(self) -> Result<Self, E> {
        match self.0 {
            MOST_DEPTH.. => Err(E::custom(format!("more than {MOST_DEPTH} levels"))),
            depth => Ok(Self(depth + 1)),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Level {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let below = self.below()?;
        while items.next_element_seed(below)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let below = self.below()?;
        let mut keys = HashSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(A::Error::custom("a key is repeated"));
            }
            keys.insert(key);
            entries.next_value_seed(below)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_keys_and_deep_values_are_refused() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for good in [
            "{\"a\":1,\"b\":{\"a\":null}}",
            "[1.5,-3,\"x\",true]",
            &nested(64),
        ] {
            assert!(check(good.as_bytes()).is_ok(), "{good}");
        }
        for bad in [
            "{\"a\":1,\"a\":2}",
            "{\"b\":[{\"a\":1,\"\\u0061\":2}]}",
            &nested(65),
            &nested(100_000),
            "{} {}",
            "{",
            "",
        ] {
            assert!(check(bad.as_bytes()).is_err(), "{bad:.80}");
        }
        assert!(check(b"\"\xff\"").is_err());
    }
}
