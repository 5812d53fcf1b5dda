//! A stand-in for the one escaping function until `transfer` has it.

/// Shows untrusted bytes without letting any of them act on a terminal.
pub(crate) fn escape(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .chars()
        .flat_map(|c| {
            let text: Vec<char> = if c.is_control() {
                c.escape_unicode().collect()
            } else {
                vec![c]
            };
            text
        })
        .collect()
}
