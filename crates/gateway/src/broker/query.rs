//! Credentials in the query of a target: the workload's own are refused (NET-18, NET-26).

use lazaret_egress::is_credential;

/// Returns the name of the first parameter that carries a credential of the workload's own.
///
/// The placeholder is none: programs that put their key into the query put it there.
pub(super) fn own_credential(target: &str, placeholder: &str) -> Option<String> {
    let (_, query) = target.split_once('?')?;
    let mut pairs = query.split('&').flat_map(pairs);
    let own = pairs.find(|pair| pair.is_credential() && pair.value != placeholder.as_bytes())?;
    Some(String::from_utf8_lossy(&own.name).into_owned())
}

/// Returns the target without the parameters that hold the placeholder. What stays, stays as
/// it was written.
pub(super) fn without_placeholder(target: &str, placeholder: &str) -> String {
    let Some((path, query)) = target.split_once('?') else {
        return target.to_owned();
    };
    let holds = |part: &str| {
        let mut pairs = pairs(part);
        pairs.any(|pair| pair.is_credential() && pair.value == placeholder.as_bytes())
    };
    let stays: Vec<&str> = query.split('&').filter(|part| !holds(part)).collect();
    match stays.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", stays.join("&")),
    }
}

/// A parameter, its escapes undone.
struct Pair {
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Pair {
    /// Some servers make `a[key]` and `key[]` of a list.
    fn is_credential(&self) -> bool {
        let mut words = self.name.split(|byte| b"[]".contains(byte));
        is_credential(&self.name) || words.any(is_credential)
    }
}

/// Reads a part of a query. Some servers take `;` for `&`.
fn pairs(part: &str) -> impl Iterator<Item = Pair> {
    part.split(';').map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Pair {
            name: plain(name),
            value: plain(value),
        }
    })
}

/// Undoes escapes. What is no escape stays as it is.
fn plain(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = (byte == b'%')
            .then(|| bytes.get(at + 1..at + 3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        at += if escaped.is_some() { 3 } else { 1 };
        out.push(escaped.unwrap_or(byte));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{own_credential, without_placeholder};

    #[test]
    fn net_26_a_credential_in_a_query_is_refused_and_the_placeholder_taken_out() {
        let table: String = [
            "/v1/x",
            "/v1/x?",
            "/v1/x?key=a",
            "/v1/x?key=PH",
            "/v1/x?alt=sse&key=PH",
            "/v1/x?key=PH&alt=sse&key=a",
            "/v1/x?KEY=P%48&alt=sse",
            "/v1/x?Api_Key=b&alt=sse",
            "/v1/x?%6bey=a",
            "/v1/x?k%zzy=c",
            "/v1/x?a=1;key=b&c=2",
            "/v1/x?a=1;key=PH&c=2",
            "/v1/x?oauth_token=a",
            "/v1/x?token=a",
            "/v1/x?X-Amz-Signature=a",
            "/v1/x?%00key=a",
            "/v1/x?+key=a",
            "/v1/x?key[]=a",
            "/v1/x?auth[token]=a",
            "/v1/x?token",
            "/v1/x?keys=a&pageToken=b&q=key=c",
            "/v1/x?a=%26key%3Db",
        ]
        .iter()
        .map(|target| match own_credential(target, "PH") {
            Some(name) => format!("{target:<35} refused: {}\n", name.escape_debug()),
            None => format!("{target:<35} {}\n", without_placeholder(target, "PH")),
        })
        .collect();
        insta::assert_snapshot!(table, @r"
        /v1/x                               /v1/x
        /v1/x?                              /v1/x?
        /v1/x?key=a                         refused: key
        /v1/x?key=PH                        /v1/x
        /v1/x?alt=sse&key=PH                /v1/x?alt=sse
        /v1/x?key=PH&alt=sse&key=a          refused: key
        /v1/x?KEY=P%48&alt=sse              /v1/x?alt=sse
        /v1/x?Api_Key=b&alt=sse             refused: Api_Key
        /v1/x?%6bey=a                       refused: key
        /v1/x?k%zzy=c                       /v1/x?k%zzy=c
        /v1/x?a=1;key=b&c=2                 refused: key
        /v1/x?a=1;key=PH&c=2                /v1/x?c=2
        /v1/x?oauth_token=a                 refused: oauth_token
        /v1/x?token=a                       refused: token
        /v1/x?X-Amz-Signature=a             refused: X-Amz-Signature
        /v1/x?%00key=a                      refused: \0key
        /v1/x?+key=a                        refused: +key
        /v1/x?key[]=a                       refused: key[]
        /v1/x?auth[token]=a                 refused: auth[token]
        /v1/x?token                         refused: token
        /v1/x?keys=a&pageToken=b&q=key=c    /v1/x?keys=a&pageToken=b&q=key=c
        /v1/x?a=%26key%3Db                  /v1/x?a=%26key%3Db
        ");
    }
}
