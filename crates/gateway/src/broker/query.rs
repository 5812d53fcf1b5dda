//! Keys in the query of a target: credentials like those in fields.

/// Parameters that carry credentials at vendors whose keys lazaret can hold: Google's `key`,
/// OAuth's `access_token` (RFC 6750, 2.3), Azure's `api-key` and its other spellings.
const CREDENTIALS: [&str; 6] = [
    "access_token",
    "api-key",
    "api_key",
    "apikey",
    "auth_token",
    "key",
];

/// Returns the target without the workload's own credentials in its query (NET-18). What
/// stays, stays as it was written.
pub(super) fn without_credentials(target: &str) -> String {
    let Some((path, query)) = target.split_once('?') else {
        return target.to_owned();
    };
    let stays: Vec<&str> = query
        .split('&')
        .filter(|part| !is_credential(part))
        .collect();
    match stays.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", stays.join("&")),
    }
}

/// Whether it names one. Some servers take `;` for `&`, so what stands behind it is looked
/// at as well, and goes together with it.
fn is_credential(part: &str) -> bool {
    part.split(';').any(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        let name = plain(name);
        CREDENTIALS.iter().any(|known| name == known.as_bytes())
    })
}

/// Undoes the escapes of a name, in lower case. What is no escape stays as it is.
fn plain(name: &str) -> Vec<u8> {
    let bytes = name.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = (byte == b'%')
            .then(|| bytes.get(at + 1..at + 3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        at += if escaped.is_some() { 3 } else { 1 };
        out.push(escaped.unwrap_or(byte).to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::without_credentials;

    #[test]
    fn net_18_keys_in_a_query_are_taken_out_and_nothing_else() {
        let table: String = [
            "/v1/x",
            "/v1/x?",
            "/v1/x?key=a",
            "/v1/x?alt=sse&key=a",
            "/v1/x?key=a&alt=sse",
            "/v1/x?KEY=a&Api_Key=b&alt=sse",
            "/v1/x?%6bey=a&k%65y=b&k%zzy=c",
            "/v1/x?a=1;key=b&c=2",
            "/v1/x?access_token=a&api-key=b&apikey=c&auth_token=d",
            "/v1/x?key&alt=sse",
            "/v1/x?keys=a&pageToken=b&q=key=c",
            "/v1/x?a=%26key%3Db",
        ]
        .iter()
        .map(|target| format!("{target:<55} {}\n", without_credentials(target)))
        .collect();
        insta::assert_snapshot!(table, @r"
        /v1/x                                                   /v1/x
        /v1/x?                                                  /v1/x?
        /v1/x?key=a                                             /v1/x
        /v1/x?alt=sse&key=a                                     /v1/x?alt=sse
        /v1/x?key=a&alt=sse                                     /v1/x?alt=sse
        /v1/x?KEY=a&Api_Key=b&alt=sse                           /v1/x?alt=sse
        /v1/x?%6bey=a&k%65y=b&k%zzy=c                           /v1/x?k%zzy=c
        /v1/x?a=1;key=b&c=2                                     /v1/x?c=2
        /v1/x?access_token=a&api-key=b&apikey=c&auth_token=d    /v1/x
        /v1/x?key&alt=sse                                       /v1/x?alt=sse
        /v1/x?keys=a&pageToken=b&q=key=c                        /v1/x?keys=a&pageToken=b&q=key=c
        /v1/x?a=%26key%3Db                                      /v1/x?a=%26key%3Db
        ");
    }
}
