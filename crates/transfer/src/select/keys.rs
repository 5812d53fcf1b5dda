//! Private keys in the contents of files, whatever their names (RFC 7468, RFC 4880).

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// The longest file that is looked into, in bytes. A key has 4 KiB at most, and what holds
/// one is a key file, a configuration or a fixture.
pub(crate) const LOOKED_INTO: usize = 64 << 10;

/// The longest label before `PRIVATE KEY`: `ENCRYPTED`, `OPENSSH`, `RSA`.
const LONGEST_LABEL: usize = 24;

/// How far behind the first line the key itself begins: an encrypted one has fields before.
const NEAR: usize = 256;

/// How many characters of base64 are a key and no mention of one, in one run.
const SHORTEST_RUN: usize = 40;

static BEGIN: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"-----BEGIN "));

/// Whether a text holds a private key in PEM or in OpenPGP's armor, its lines broken or
/// escaped as in a string of JSON. A program that only names the first line of one does not.
pub(crate) fn holds_private_key(contents: &[u8]) -> bool {
    let mut begins = BEGIN.find_iter(contents);
    // Machine code holds such lines as it holds any text, and no key.
    begins.any(|at| is_private_key(&contents[at + b"-----BEGIN ".len()..]))
        && memchr::memchr(0, contents).is_none()
}

/// Whether what follows `-----BEGIN ` is a private key.
fn is_private_key(rest: &[u8]) -> bool {
    let line = &rest[..rest
        .len()
        .min(LONGEST_LABEL + b"PRIVATE KEY BLOCK-----".len())];
    let Some(end) = memchr::memmem::find(line, b"-----") else {
        return false;
    };
    let label = line[..end].strip_suffix(b" BLOCK").unwrap_or(&line[..end]);
    if !label.ends_with(b"PRIVATE KEY") {
        return false;
    }
    let body = &rest[end + b"-----".len()..];
    let body = &body[..body.len().min(NEAR)];
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    // `\n` in a string is a letter too many at the start of each run, and no harm.
    let mut runs = body.split(|byte| !is_base64(byte));
    runs.any(|run| {
        let has = |kind: fn(&u8) -> bool| run.iter().any(kind);
        run.len() >= SHORTEST_RUN
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_digit)
    })
}

#[cfg(test)]
mod tests {
    use super::holds_private_key;

    const LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";

    #[test]
    fn sec_01_private_keys_in_texts() {
        let begin = "-----BEGIN";
        for (text, expected) in [
            (format!("{begin} PRIVATE KEY-----\n{LINE}\n"), true),
            (format!("{begin} RSA PRIVATE KEY-----\r\n{LINE}\r\n"), true),
            (format!("{begin} OPENSSH PRIVATE KEY-----\n{LINE}\n"), true),
            (
                format!("{begin} ENCRYPTED PRIVATE KEY-----\n{LINE}\n"),
                true,
            ),
            (
                format!(
                    "{begin} EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n{LINE}\n"
                ),
                true,
            ),
            (
                format!("{begin} PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n{LINE}\n"),
                true,
            ),
            (
                format!("tls:\n  key: |\n    {begin} PRIVATE KEY-----\n    {LINE}\n"),
                true,
            ),
            (
                format!(r#"{{"private_key": "{begin} PRIVATE KEY-----\n{LINE}\n"}}"#),
                true,
            ),
            (
                format!("a = \"{begin} PRIVATE KEY-----\" +\n    \"{LINE}\";"),
                true,
            ),
            (
                format!("{begin} CERTIFICATE-----\n{LINE}\n{begin} PRIVATE KEY-----\n{LINE}\n"),
                true,
            ),
            // The shortest there is: Ed25519, PKCS #8.
            (
                format!(
                    "{begin} PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                ),
                true,
            ),
            (format!("{begin} CERTIFICATE-----\n{LINE}\n"), false),
            (format!("{begin} PUBLIC KEY-----\n{LINE}\n"), false),
            (
                format!("if text.contains(\"{begin} PRIVATE KEY-----\") {{ refuse() }}"),
                false,
            ),
            (
                format!("{begin} PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n"),
                false,
            ),
            (
                format!("{begin} RSA PRIVATE KEY-----\nYOUR KEY HERE\n"),
                false,
            ),
            (
                format!(
                    "# {begin} PRIVATE KEY----- of sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
                ),
                false,
            ),
            (format!("\0{begin} PRIVATE KEY-----\n{LINE}\n"), false),
            (format!("{begin} "), false),
            (begin.to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(holds_private_key(text.as_bytes()), expected, "{text}");
        }
    }
}
