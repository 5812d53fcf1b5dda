//! The sections of a `setup.cfg`, as Python's `configparser` reads them.

use std::borrow::Cow;

use super::{Builder, Data, Document, Unreadable, Value, offset};

/// The most sections and keys.
const MOST_KEYS: usize = 1 << 16;

/// Reads a document: a table of sections, each a table of keys in lower case.
pub(crate) fn read(text: &str) -> Result<Document<'_>, Unreadable> {
    let builder = Builder::default();
    let mut sections: Vec<Section<'_>> = Vec::new();
    let mut key_indent = 0;
    let mut at = 0;
    let mut keys = 0;
    for raw in text.split('\n') {
        let start = offset(at);
        at += raw.len() + 1;
        let body = raw.trim();
        if body.is_empty() || body.starts_with(['#', ';']) {
            continue;
        }
        let indent = raw.len() - raw.trim_start().len();
        let last = sections.last_mut();
        let open = last.and_then(|section| section.keys.last_mut());
        if let Some((_, _, value)) = open.filter(|_| indent > key_indent) {
            value.push('\n');
            value.push_str(body);
            continue;
        }
        keys += 1;
        if keys > MOST_KEYS {
            return Err(Unreadable::at(start, "has too many values"));
        }
        if let Some(name) = body.strip_prefix('[') {
            let name = name.strip_suffix(']').filter(|name| !name.is_empty());
            let name = name.ok_or(Unreadable::at(start, "is no section"))?;
            sections.push(Section {
                name,
                at: start,
                keys: Vec::new(),
            });
            continue;
        }
        let section = sections.last_mut();
        let section = section.ok_or(Unreadable::at(start, "stands before any section"))?;
        let (key, value) = body
            .split_once(['=', ':'])
            .ok_or(Unreadable::at(start, "is no key with a value"))?;
        key_indent = indent;
        let key = key.trim().to_lowercase();
        section.keys.push((start, key, value.trim().to_owned()));
    }
    let sections = sections.into_iter().map(|section| {
        let keys = section.keys.into_iter();
        let keys = keys.map(|(at, key, value)| {
            let value = Value::new(at, Data::Text(Cow::Owned(value)));
            (Cow::Owned(key), value)
        });
        let table = builder.table(section.at, keys.collect());
        (Cow::Borrowed(section.name), table)
    });
    let sections = sections.collect();
    let root = builder.table(0, sections);
    Ok(builder.finish(root))
}

struct Section<'a> {
    name: &'a str,
    at: u32,
    keys: Vec<(u32, String, String)>,
}
