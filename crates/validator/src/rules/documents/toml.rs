//! TOML, read by the crate that Cargo itself uses; a repeated key is an error there.

use std::borrow::Cow;

use toml::de::{DeTable, DeValue};
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

use super::{Builder, Data, Document, MOST_VALUES, Unreadable, Value, offset};

/// The most tokens that can become a table: a table of the crate takes up to 1.5 KiB, so
/// five bytes could take 300 times their size. A lockfile of 16 MiB has half as many.
const MOST_TABLES: usize = 1 << 17;

/// The most tokens of any kind.
const MOST_TOKENS: usize = 8 * MOST_VALUES;

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

fn budget(text: &str) -> Result<(), Unreadable> {
    let (mut tables, mut tokens) = (0, 0);
    for token in Source::new(text).lex() {
        tokens += 1;
        if matches!(
            token.kind(),
            TokenKind::Dot | TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket
        ) {
            tables += 1;
        }
        if tables > MOST_TABLES || tokens > MOST_TOKENS {
            let at = offset(token.span().start());
            return Err(Unreadable::at(at, "has too many values"));
        }
    }
    Ok(())
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
            Data::List(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => return from_table(builder, at, table),
    };
    Ok(Value::new(at, data))
}
