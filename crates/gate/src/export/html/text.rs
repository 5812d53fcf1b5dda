//! Text that came from outside, inert in a page.
//!
//! Two steps, always in this order: [`escape`] makes what is not seen or acts on a terminal
//! visible, and then what means something to HTML is written as a reference. So no byte of
//! a name or of a file is ever markup.

use lazaret_tree::escape;

/// How a backslash that stands for itself is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backslash {
    /// Twice, as in every other report: names can be compared with those.
    Twice,
    /// Once, as in the file: what was escaped stands out by its frame.
    Once,
}

/// Writes a name: escaped as everywhere, with what was escaped framed.
pub(super) fn name(text: &str) -> String {
    framed(&escape(text.as_bytes()), Backslash::Twice)
}

/// Writes text that is escaped already.
pub(super) fn escaped(text: &str) -> String {
    framed(text, Backslash::Twice)
}

/// Writes a line of a file. Tabs stay tabs.
pub(super) fn line(bytes: &[u8]) -> String {
    let parts = bytes.split(|&byte| byte == b'\t');
    let parts: Vec<String> = parts
        .map(|part| framed(&escape(part), Backslash::Once))
        .collect();
    parts.join("\t")
}

/// Writes what means something to HTML as references, quotes too.
pub(super) fn plain(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            char => html.push(char),
        }
    }
    html
}

/// Frames the escapes in a text that [`escape`] wrote.
fn framed(text: &str, backslash: Backslash) -> String {
    let mut html = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        html.push_str(&plain(&rest[..at]));
        rest = &rest[at..];
        // `\\`, `\u{…}` or `\xff`; a lone backslash is none of ours and stays one.
        let length = match rest.as_bytes().get(1) {
            Some(b'\\') => {
                html.push_str(match backslash {
                    Backslash::Twice => "\\\\",
                    Backslash::Once => "\\",
                });
                rest = &rest[2..];
                continue;
            }
            Some(b'x') if rest.len() >= 4 && rest.is_char_boundary(4) => 4,
            Some(b'u') => rest.find('}').map_or(1, |end| end + 1),
            _ => 1,
        };
        html.push_str("<b class=\"esc\">");
        html.push_str(&plain(&rest[..length]));
        html.push_str("</b>");
        rest = &rest[length..];
    }
    html.push_str(&plain(rest));
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_markup() {
        assert_eq!(
            name("</pre><script>alert('&\")</script>"),
            "&lt;/pre&gt;&lt;script&gt;alert(&#39;&amp;&quot;)&lt;/script&gt;"
        );
        assert_eq!(line(b"a\t<b>\t"), "a\t&lt;b&gt;\t");
    }

    #[test]
    fn what_is_not_seen_is_framed() {
        assert_eq!(
            name("a\u{202e}b\\u{202e}"),
            "a<b class=\"esc\">\\u{202e}</b>b\\\\u{202e}"
        );
        assert_eq!(
            line(b"\x1b[31m \\n \xff"),
            "<b class=\"esc\">\\u{1b}</b>[31m \\n <b class=\"esc\">\\xff</b>"
        );
    }
}
