//! Which names say that a value is a credential.

/// Names that carry credentials as they are, without what parts their words.
const WHOLE: [&str; 24] = [
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "hmac",
    "jsessionid",
    "jwt",
    "key",
    "keypairid",
    "passwd",
    "password",
    "phpsessid",
    "proxyauthenticate",
    "pwd",
    "secret",
    "sessionid",
    "sid",
    "sig",
    "sign",
    "signature",
    "token",
    "xauth",
];

/// How names of credentials end: `X-Amz-Signature`, `oauth_consumer_key`, `PRIVATE-TOKEN`.
const ENDS: [&str; 26] = [
    "accesskey",
    "accesskeyid",
    "accessid",
    "apikey",
    "appkey",
    "assertion",
    "authkey",
    "authorization",
    "clientkey",
    "consumerkey",
    "cookie",
    "credential",
    "credentials",
    "jwt",
    "licensekey",
    "masterkey",
    "password",
    "passwd",
    "privatekey",
    "secret",
    "secretkey",
    "sharedkey",
    "signature",
    "signingkey",
    "subscriptionkey",
    "token",
];

/// Tokens that say where a list goes on.
const PLACES: [&str; 9] = [
    "changetoken",
    "continuationtoken",
    "nexttoken",
    "pagetoken",
    "paginationtoken",
    "resumetoken",
    "skiptoken",
    "starttoken",
    "synctoken",
];

/// Whether a field or a parameter of this name carries a credential. Case, and whatever parts
/// the words, count for nothing: servers differ in what they take for the same name.
pub fn is_credential(name: &[u8]) -> bool {
    let plain: Vec<u8> = name
        .iter()
        .filter(|byte| byte.is_ascii_alphanumeric())
        .map(u8::to_ascii_lowercase)
        .collect();
    let ends = |ends: &[&str]| ends.iter().any(|end| plain.ends_with(end.as_bytes()));
    WHOLE.iter().any(|whole| plain == whole.as_bytes()) || (ends(&ENDS) && !ends(&PLACES))
}

#[cfg(test)]
mod tests {
    use super::is_credential;

    #[test]
    fn net_26_names_of_credentials() {
        for name in [
            "X_Api_Key",
            "x-api-key",
            "PRIVATE-TOKEN",
            "X-Auth-Token",
            "Xi-Api-Key",
            "authorization",
            "Proxy-Authorization",
            "Cookie",
            "Set-Cookie",
            "X-Goog-Api-Key",
            "Ocp-Apim-Subscription-Key",
            "oauth_token",
            "oauth_signature",
            "token",
            "key",
            "sig",
            "X-Amz-Signature",
            "X-Amz-Credential",
            "X-Amz-Security-Token",
            "X-Goog-Signature",
            "AWSAccessKeyId",
            "GoogleAccessId",
            "client_secret",
            "access.token",
            " key",
            "hapikey",
            "csrf-token",
        ] {
            assert!(is_credential(name.as_bytes()), "{name}");
        }
        for name in [
            "",
            "page",
            "pageToken",
            "next_page_token",
            "continuation-token",
            "max_tokens",
            "sort_key",
            "idempotency-key",
            "prompt_cache_key",
            "keys",
            "keyword",
            "author",
            "beta",
            "design",
            "anthropic-version",
        ] {
            assert!(!is_credential(name.as_bytes()), "{name}");
        }
    }
}
