//! A request or an answer: one strict JSON object.

use lazaret_json::{JsonError, Kind, check};

/// How deep arrays and objects may lie in each other; the outermost one counts.
pub const MAX_DEPTH: usize = 64;

/// Why a text is no request, or no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// It is not the JSON that is taken.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// It is JSON, but no object.
    #[error("it is not a JSON object")]
    NotAnObject,
}

/// Checks that `bytes` are one object, and returns it on one line. Numbers, order and escapes stay
/// as they are written.
///
/// # Errors
/// See [`ObjectError`].
pub fn object(bytes: &[u8]) -> Result<String, ObjectError> {
    match check(bytes, MAX_DEPTH)? {
        Kind::Object => Ok(on_one_line(&String::from_utf8_lossy(bytes))),
        Kind::Other => Err(ObjectError::NotAnObject),
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
    fn only_an_object_is_taken() {
        for other in ["[]", "1", "null", "\"{}\"", "true"] {
            assert_eq!(object(other.as_bytes()), Err(ObjectError::NotAnObject));
        }
        let deep = object(nested(MAX_DEPTH + 1).as_bytes());
        let expected = JsonError::TooDeep { most: MAX_DEPTH };
        assert_eq!(deep, Err(expected.into()));
    }
}
