//! Names as git writes and reads them in a patch (git, quote.c).

use lazaret_tree::RelPath;

/// Writes `prefix/path`, in quotes and with C's escapes where anything is out of the
/// ordinary. Blanks count as that too: without quotes git has to guess where a name with a
/// blank ends.
pub(super) fn name(prefix: &str, path: &RelPath) -> String {
    let whole = format!("{prefix}/{}", path.as_str());
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    if whole.bytes().all(plain) {
        return whole;
    }
    let mut quoted = String::from('"');
    for byte in whole.bytes() {
        match byte {
            b'"' => quoted.push_str("\\\""),
            b'\\' => quoted.push_str("\\\\"),
            b' ' => quoted.push(' '),
            byte if plain(byte) => quoted.push(char::from(byte)),
            // Three octal digits: every control character and every byte of other scripts.
            byte => quoted.push_str(&format!("\\{byte:03o}")),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_git_does() {
        let quoted = |path: &str| name("a", RelPath::new(path).unwrap());
        assert_eq!(quoted("src/main.rs"), "a/src/main.rs");
        assert_eq!(quoted("x y"), r#""a/x y""#);
        assert_eq!(quoted("ä"), r#""a/\303\244""#);
        assert_eq!(quoted(r#"say "hi"\n"#), r#""a/say \"hi\"\\n""#);
        assert_eq!(quoted("a\u{202e}b"), r#""a/a\342\200\256b""#);
    }
}
