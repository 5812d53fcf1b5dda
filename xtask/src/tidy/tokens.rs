//! Splits Rust source into the tokens that paths are made of, without comments, literals and
//! tests.

/// A token and the line on which it starts, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
}

/// Returns the identifiers, `::` and single punctuation characters of `text`, except for items
/// under `#[cfg(test)]`.
pub(super) fn product_tokens(text: &str) -> Vec<Token<'_>> {
    without_tests(&tokens(text))
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some(length) = literal(rest) {
            length
        } else {
            let length = if is_word(first) {
                rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            let text = &rest[..length];
            tokens.push(Token { text, line });
            length
        };
        line += rest[..length].matches('\n').count();
        at += length;
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of the comment that `text` begins with; comments nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Returns the length of the string or character that `text` begins with. A lifetime is none.
fn literal(text: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r", "b", "c", ""].into_iter().find(|prefix| {
        let rest = text.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.starts_with(['"', '\'', '#']))
    })?;
    let rest = &text[prefix.len()..];
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    if prefix.ends_with('r') && rest[hashes..].starts_with('"') {
        let body = &rest[hashes + 1..];
        let end = format!("\"{}", "#".repeat(hashes));
        let length = body.find(&end).map_or(body.len(), |at| at + end.len());
        return Some(prefix.len() + hashes + 1 + length);
    }
    let quote = rest.chars().next().filter(|quote| *quote != '#')?;
    let body = &rest[1..];
    let mut characters = body.chars();
    let (first, second) = (characters.next(), characters.next());
    if quote == '\'' && first != Some('\\') && second != Some('\'') {
        return None;
    }
    let mut escaped = false;
    let end = body.char_indices().find(|(_, c)| {
        let ends = *c == quote && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    Some(prefix.len() + 1 + end.map_or(body.len(), |(at, _)| at + 1))
}

/// Drops each item that a `#[cfg(test)]` stands before: up to its `;` or its closing brace.
fn without_tests<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if is_test_attribute(&tokens[at..]) {
            at = end_of_item(tokens, at);
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    kept
}

/// `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn is_test_attribute(tokens: &[Token<'_>]) -> bool {
    let begins_with = |words: &[&str]| {
        let texts = tokens.iter().map(|token| token.text);
        texts.take(words.len()).eq(words.iter().copied())
    };
    begins_with(&["#", "[", "cfg", "(", "test", ")", "]"])
        || begins_with(&["#", "[", "cfg", "(", "all", "(", "test", ","])
}

fn end_of_item(tokens: &[Token<'_>], start: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(start) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                // An item ends with its braces; those of `use a::{b};` have the `;` behind them.
                let next = tokens.get(index + 1).map(|token| token.text);
                if depth == 0 && token.text == "}" && next != Some(";") {
                    return index + 1;
                }
            }
            ";" if depth == 0 => return index + 1,
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found: Vec<&str> = product_tokens(text)
            .into_iter()
            .map(|token| token.text)
            .collect();
        assert_eq!(found.join(" "), expected);
    }

    #[test]
    fn comments_and_literals_are_left_out() {
        check("a::b // crate::c\n/* d /* e */ f */ g", "a :: b g");
        check("x(\"crate::y\\\"z\", 'a', '\\'', '\"') w", "x ( , , , ) w");
        check("r#\"a \" b\"# c br\"d\\\" e b'f' r\"\"", "c e");
        check("fn f<'a>(x: &'a str)", "fn f < ' a > ( x : & ' a str )");
    }

    #[test]
    fn tests_are_left_out() {
        check("#[cfg(test)]\nmod tests { fn f() { a } }\nb", "b");
        check("#[cfg(test)] use a::{b, c};\nd", "d");
        check("#[cfg(all(test, unix))] mod tests;\nd", "d");
        check("#[cfg(test)] #[x] fn f(a: [u8; 3]) { b; c }\nd", "d");
    }

    #[test]
    fn lines_are_counted_in_everything() {
        let found = product_tokens("\"a\nb\" /*\n*/ c");
        assert_eq!(found, [Token { text: "c", line: 3 }]);
    }
}
