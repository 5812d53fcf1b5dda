//! The MCP servers that an editor wants an agent to use.

use serde_json::Value;

use crate::host::Host;

/// Takes those servers out of the parameters of a session that the agent can't have. Returns a
/// sentence for each.
pub(crate) fn drop_servers(params: &mut Value, host: &dyn Host) -> Vec<String> {
    let mut dropped = Vec::new();
    if let Some(servers) = params.get_mut("mcpServers").and_then(Value::as_array_mut) {
        servers.retain(|server| match refused(server, host) {
            None => true,
            Some(why) => {
                let name = server["name"].as_str().unwrap_or("without a name");
                dropped.push(format!("The MCP server {name:?} is left out: {why}."));
                false
            }
        });
    }
    dropped
}

/// Why the agent can't have a server; `None` if it can.
fn refused(server: &Value, host: &dyn Host) -> Option<String> {
    match server.get("type").map(Value::as_str) {
        None | Some(Some("stdio")) => {
            let why = "it is a program of your machine, which is not in the container";
            Some(why.to_owned())
        }
        Some(Some("http" | "sse")) => {
            let url = server["url"].as_str().unwrap_or_default();
            match address(url) {
                None => Some("its URL can't be read".to_owned()),
                Some((name, port)) => match host.allows(name, port) {
                    true => None,
                    false => Some(format!("the session may not reach {name}:{port}")),
                },
            }
        }
        Some(_) => Some("its type is not known".to_owned()),
    }
}

/// Returns the host and the port of a URL of http or https.
fn address(url: &str) -> Option<(&str, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let default = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = rest.get(..end)?;
    let (name, port) = match authority.split_once(':') {
        None => (authority, default),
        Some((name, port)) => (name, port.parse().ok()?),
    };
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
    is_name.then_some((name, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_that_which_every_reader_finds() {
        for (url, expected) in [
            (
                "https://mcp.example.com/a?b",
                Some(("mcp.example.com", 443)),
            ),
            ("http://a.example:8080", Some(("a.example", 8080))),
            ("https://127.0.0.1/", Some(("127.0.0.1", 443))),
            ("https://good.example@evil.example/", None),
            ("https://good.example\\@evil.example/", None),
            ("https://evil.example\t.good.example/", None),
            ("https://[::1]/", None),
            ("https://a.example:0x50/", None),
            ("https://a.example:99999/", None),
            ("HTTPS://a.example/", None),
            ("file:///a", None),
            ("https:///a", None),
            ("", None),
        ] {
            assert_eq!(address(url), expected, "{url:?}");
        }
    }
}
