//! `file:` URIs (RFC 8089), and how those of the workspace are mapped.

/// A text in a place where a URI is expected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// It names a file: its path, and what follows it, such as `#L10`.
    File { path: String, rest: String },
    /// It names a file in a way that can't be mapped, or on another machine.
    Unmappable,
    /// It names no file.
    Other,
}

impl Target {
    pub(crate) fn of(uri: &str) -> Self {
        // Editors take a path for a file, too.
        if uri.starts_with('/') || uri.starts_with('\\') {
            return match uri.starts_with("//") || uri.contains('\\') {
                true => Self::Unmappable,
                false => Self::File {
                    path: uri.to_owned(),
                    rest: String::new(),
                },
            };
        }
        // What white space around it means differs from one reader to the next.
        let trimmed = uri.trim_matches(|char: char| char.is_whitespace() || char.is_control());
        let Some((scheme, rest)) = trimmed.split_once(':') else {
            return Self::Other;
        };
        if !(scheme.chars())
            .filter(|char| !char.is_control())
            .collect::<String>()
            .eq_ignore_ascii_case("file")
        {
            return Self::Other;
        }
        if trimmed != uri || scheme.len() != 4 || uri.contains('\\') {
            return Self::Unmappable;
        }
        let local = match rest.strip_prefix("//") {
            None => Some(rest),
            Some(rest) => rest.strip_prefix("localhost").or(Some(rest)),
        };
        let Some(local) = local.filter(|local| local.starts_with('/') && !local.starts_with("//"))
        else {
            return Self::Unmappable;
        };
        let end = local.find(['?', '#']).unwrap_or(local.len());
        let (path, rest) = local.split_at(end);
        match decoded(path) {
            Some(path) => Self::File {
                path,
                rest: rest.to_owned(),
            },
            None => Self::Unmappable,
        }
    }
}

/// A URI of a path. `rest` follows it as it is.
pub(crate) fn of_path(path: &str, rest: &str) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri + rest
}

/// Decodes `%20` and its like; `None` if that gives no text.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let [high, low] = [rest.next()?, rest.next()?].map(|digit| {
                    let digit = char::from(digit).to_digit(16)?;
                    u8::try_from(digit).ok()
                });
                high? << 4 | low?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes)
        .ok()
        .filter(|path| !path.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_a_file_or_something_else() {
        let file = |path: &str, rest: &str| Target::File {
            path: path.to_owned(),
            rest: rest.to_owned(),
        };
        for (uri, expected) in [
            ("file:///a/b%20c#L10:20", file("/a/b c", "#L10:20")),
            ("file:///a?symbol=x", file("/a", "?symbol=x")),
            ("FILE:///a", file("/a", "")),
            ("file:/a", file("/a", "")),
            ("file://localhost/a", file("/a", "")),
            ("/a/b", file("/a/b", "")),
            ("file:///a%2f..%2Fb", file("/a/../b", "")),
            ("file://host/a", Target::Unmappable),
            ("file:////a", Target::Unmappable),
            ("file:a", Target::Unmappable),
            ("file:", Target::Unmappable),
            (" file:///a", Target::Unmappable),
            ("fi\tle:///a", Target::Unmappable),
            ("file:\\\\a", Target::Unmappable),
            ("\\\\host\\a", Target::Unmappable),
            ("//host/a", Target::Unmappable),
            ("file:///%", Target::Unmappable),
            ("file:///%zz", Target::Unmappable),
            ("file:///%ff", Target::Unmappable),
            ("file:///a%00", Target::Unmappable),
            ("https://host/a", Target::Other),
            ("zed:///agent/thread/1", Target::Other),
            ("a.txt", Target::Other),
            ("", Target::Other),
        ] {
            assert_eq!(Target::of(uri), expected, "{uri:?}");
        }
    }

    #[test]
    fn a_path_comes_back_out_of_its_uri() {
        let path = "/a b/#?%/\u{e9}";
        let uri = of_path(path, "#L1");
        assert_eq!(uri, "file:///a%20b/%23%3F%25/%C3%A9#L1");
        let back = Target::of(&uri);
        let expected = Target::File {
            path: path.to_owned(),
            rest: "#L1".to_owned(),
        };
        assert_eq!(back, expected);
    }
}
