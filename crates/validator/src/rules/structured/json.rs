//! JSON, read by serde_json, whose limit of 128 levels keeps the stack small.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde_core::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{Builder, Data, Document, Unreadable, Value, offset};

/// Reads a document.
pub(crate) fn read(text: &str) -> Result<Document<'_>, Unreadable> {
    let builder = Builder::default();
    let reader = Reader {
        text,
        last: &Cell::new(0),
        builder: &builder,
        over: &Cell::new(None),
    };
    let mut json = serde_json::Deserializer::from_str(text);
    let root = reader.deserialize(&mut json);
    let root = root.and_then(|root| json.end().map(|()| root));
    match root {
        Ok(root) => Ok(builder.finish(root)),
        Err(error) => Err(reader.over.take().unwrap_or_else(|| {
            Unreadable::at(line_start(text, error.line()), "is not well-formed JSON")
        })),
    }
}

fn line_start(text: &str, line: usize) -> u32 {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1));
    offset(before.map(str::len).sum())
}

/// Reads any value. Borrowed strings tell by their address where they stand.
#[derive(Clone, Copy)]
struct Reader<'r, 'a> {
    text: &'a str,
    /// Where the last string stood: near enough for a value that has no place of its own.
    last: &'r Cell<u32>,
    builder: &'r Builder,
    over: &'r Cell<Option<Unreadable>>,
}

impl<'a> Reader<'_, 'a> {
    fn place(&self, text: &str) -> u32 {
        let start = self.text.as_ptr() as usize;
        let at = (text.as_ptr() as usize).wrapping_sub(start);
        if at <= self.text.len() {
            self.last.set(offset(at));
        }
        self.last.get()
    }

    fn value<E: Error>(&self, data: Data<'a>) -> Result<Value<'a>, E> {
        self.count()?;
        Ok(Value::new(self.last.get(), data))
    }

    fn count<E: Error>(&self) -> Result<(), E> {
        self.builder.count(self.last.get()).map_err(|error| {
            self.over.set(Some(error));
            E::custom("too many values")
        })
    }

    fn bare<E: Error>(&self, word: impl Into<Cow<'a, str>>) -> Result<Value<'a>, E> {
        self.value(Data::Bare(word.into()))
    }
}

impl<'a> DeserializeSeed<'a> for Reader<'_, 'a> {
    type Value = Value<'a>;

    fn deserialize<D: Deserializer<'a>>(self, json: D) -> Result<Value<'a>, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Reader<'_, 'a> {
    type Value = Value<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value<'a>, E> {
        self.bare("null")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value<'a>, E> {
        self.bare(if value { "true" } else { "false" })
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value<'a>, E> {
        self.bare(value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value<'a>, E> {
        self.bare(value.to_string())
    }

    // With an exponent: `1e300` would become 300 digits otherwise.
    fn visit_f64<E: Error>(self, value: f64) -> Result<Value<'a>, E> {
        self.bare(format!("{value:e}"))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'a str) -> Result<Value<'a>, E> {
        self.place(value);
        self.value(Data::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value<'a>, E> {
        self.value(Data::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut seq: A) -> Result<Value<'a>, A::Error> {
        self.count()?;
        let at = self.last.get();
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::new(at, Data::list(items)))
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Value<'a>, A::Error> {
        self.count()?;
        let at = self.last.get();
        let mut entries = Vec::new();
        while let Some(key) = map.next_key_seed(KeyReader(self))? {
            let at = self.last.get();
            let mut value = map.next_value_seed(self)?;
            value.at = at;
            entries.push((key, value));
        }
        Ok(self.builder.table(at, entries))
    }
}

struct KeyReader<'r, 'a>(Reader<'r, 'a>);

impl<'a> DeserializeSeed<'a> for KeyReader<'_, 'a> {
    type Value = Cow<'a, str>;

    fn deserialize<D: Deserializer<'a>>(self, json: D) -> Result<Cow<'a, str>, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for KeyReader<'_, 'a> {
    type Value = Cow<'a, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, value: &'a str) -> Result<Cow<'a, str>, E> {
        self.0.place(value);
        Ok(Cow::Borrowed(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Cow<'a, str>, E> {
        Ok(Cow::Owned(value.to_owned()))
    }
}
