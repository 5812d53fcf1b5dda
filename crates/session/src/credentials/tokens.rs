//! What of a login has to be kept out of everything that is shown or kept.

use lazaret_egress::SHORTEST_SECRET;

/// A text that is shorter than this, in bytes, is no token: a login also holds words.
const SHORTEST: usize = 16;

/// The most that are looked for in one login. Which ones it holds is the agent's to say.
const MOST: usize = 16;

/// Returns what in a login can be a token. Its form is not known: of JSON every text without
/// a blank counts, of anything else every run of the characters that tokens are made of. A
/// URL is none.
pub fn tokens(contents: &[u8]) -> Vec<Vec<u8>> {
    const { assert!(SHORTEST >= SHORTEST_SECRET) };
    let mut found: Vec<Vec<u8>> = Vec::new();
    match serde_json::from_slice(contents) {
        Ok(value) => texts(&value, &mut found),
        Err(_) => found.extend(
            contents
                .split(|byte| !byte.is_ascii_alphanumeric() && !b"-._~+/=".contains(byte))
                .map(<[u8]>::to_vec),
        ),
    }
    found.retain(|text| is_token(text));
    // The longest first: those are what a login is about.
    found.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
    found.dedup();
    found.truncate(MOST);
    found
}

/// Returns the tokens that are told from all that may stand in a workspace: no address, and no
/// word or identifier of a program, which the forms of logins hold as well.
pub fn secret_tokens(contents: &[u8]) -> Vec<Vec<u8>> {
    let mut found = tokens(contents);
    found.retain(|token| {
        let has = |kind: fn(&u8) -> bool| token.iter().any(kind);
        let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
        !token.contains(&b'@') && (token.len() >= 32 || has(u8::is_ascii_digit) || is_mixed)
    });
    found
}

fn texts(value: &serde_json::Value, found: &mut Vec<Vec<u8>>) {
    match value {
        serde_json::Value::String(text) => found.push(text.as_bytes().to_vec()),
        serde_json::Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        serde_json::Value::Object(map) => map.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

fn is_token(text: &[u8]) -> bool {
    let is_url = text.windows(3).any(|three| three == b"://");
    text.len() >= SHORTEST && !is_url && !text.iter().any(u8::is_ascii_whitespace)
}

/// Whether a login holds something by which it is renewed: `refresh_token`, `refreshToken`
/// and their like, whatever the form of the file.
pub fn renews_itself(contents: &[u8]) -> bool {
    let plain: Vec<u8> = contents
        .iter()
        .filter(|byte| byte.is_ascii_alphanumeric())
        .map(u8::to_ascii_lowercase)
        .collect();
    plain
        .windows(b"refreshtoken".len())
        .any(|window| window == b"refreshtoken")
}
