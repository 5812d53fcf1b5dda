//! TOML, read by the crate that Cargo itself uses; a repeated key is an error there.

use std::borrow::Cow;

use toml::de::{DeTable, DeValue};
use toml_parser::Source;
use toml_parser::lexer::{Token, TokenKind};

use super::{Builder, Data, Document, Unreadable, Value, offset};

/// The most memory that the crate may take, in bytes. A lockfile of a thousand packages with
/// fifty files each, which is larger than real ones, takes 100 MiB of it.
const MOST_MEMORY: usize = 128 << 20;

/// Reads a document. Its tables are sorted by key.
pub(crate) fn read(text: &str) -> Result<Document<'_>, Unreadable> {
    budget(text)?;
    let table = DeTable::parse(text).map_err(|error| Unreadable {
        at: error.span().map(|span| offset(span.start)),
        reason: "is not well-formed TOML",
    })?;
    let builder = Builder::default();
    let root = from_table(&builder, 0, table.into_inner())?;
    Ok(builder.finish(root))
}

/// Adds up what the crate would allocate, before it does: five bytes can make a table.
fn budget(text: &str) -> Result<(), Unreadable> {
    let mut memory = 0;
    for token in Source::new(text).lex() {
        memory += cost(token.kind());
        if memory > MOST_MEMORY {
            let at = offset(token.span().start());
            return Err(Unreadable::at(at, "has too many values"));
        }
    }
    Ok(())
}

/// Bytes for one token, each kept until all is read, and for what comes of it (version 1.2):
/// a table takes a node of a B-tree, 1.5 KiB, which has room for keys that are paid for by
/// themselves; each part of a dotted key makes a table.
fn cost(kind: TokenKind) -> usize {
    let comes_of_it = match kind {
        TokenKind::Dot => 1536,
        TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => 1024,
        TokenKind::Equals => 256,
        TokenKind::Comma => 128,
        _ => 0,
    };
    size_of::<Token>() + comes_of_it
}

/// The crate refuses more than 80 levels, so the recursion is bounded.
fn from_table<'a>(builder: &Builder, at: u32, table: DeTable<'a>) -> Result<Value<'a>, Unreadable> {
    builder.count(at)?;
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let at = offset(key.span().start);
        entries.push((
            key.into_inner(),
            from_value(builder, at, value.into_inner())?,
        ));
    }
    Ok(builder.table(at, entries))
}

fn from_value<'a>(builder: &Builder, at: u32, value: DeValue<'a>) -> Result<Value<'a>, Unreadable> {
    builder.count(at)?;
    let data = match value {
        DeValue::String(text) => Data::Text(text),
        DeValue::Integer(number) => Data::Bare(Cow::Owned(number.as_str().to_owned())),
        DeValue::Float(number) => Data::Bare(Cow::Owned(number.as_str().to_owned())),
        DeValue::Boolean(true) => Data::Bare(Cow::Borrowed("true")),
        DeValue::Boolean(false) => Data::Bare(Cow::Borrowed("false")),
        DeValue::Datetime(date) => Data::Bare(Cow::Owned(date.to_string())),
        DeValue::Array(array) => {
            let items = array.into_iter().map(|item| {
                let at = offset(item.span().start);
                from_value(builder, at, item.into_inner())
            });
            Data::list(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => return from_table(builder, at, table),
    };
    Ok(Value::new(at, data))
}
