//! Which fields of a request go on: those of a list, since no list of what may carry a
//! credential is complete (NET-26).
//!
//! A vendor takes a key in more fields than it documents, and servers fold `_` to `-`. So a
//! field that no client of a vendor's sends stays behind, and with an account of its own at
//! the vendor the workload can take nothing out.

use lazaret_egress::{BrokerRoute, is_credential};

/// Fields of HTTP (RFC 9110, 9111, 9530) and of tracing (W3C Trace Context) that say nothing
/// of who asks.
const GENERAL: [&str; 30] = [
    "accept",
    "accept-charset",
    "accept-language",
    "cache-control",
    "content-digest",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-md5",
    "content-type",
    "date",
    "digest",
    "idempotency-key",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-event-id",
    "pragma",
    "prefer",
    "priority",
    "range",
    "request-id",
    "traceparent",
    "tracestate",
    "user-agent",
    "x-client-request-id",
    "x-correlation-id",
    "x-request-id",
];

/// What clients of vendors send beside: Anthropic's and OpenAI's libraries and agents,
/// OpenRouter's (`http-referer`, `x-title`), Google's, GitHub's, Notion's, Azure's, and MCP.
///
/// Not `openai-organization`, `openai-project`, `chatgpt-account-id` and
/// `x-goog-user-project`: they choose an account, which is the user's to choose.
const OF_VENDORS: [&str; 19] = [
    "anthropic-beta",
    "anthropic-dangerous-direct-browser-access",
    "anthropic-version",
    "api-version",
    "http-referer",
    "mcp-protocol-version",
    "notion-version",
    "openai-beta",
    "originator",
    "version",
    "x-app",
    "x-anthropic-additional-protection",
    "x-github-api-version",
    "x-goog-api-client",
    "x-goog-fieldmask",
    "x-ms-client-request-id",
    "x-ms-useragent",
    "x-openai-subagent",
    "x-title",
];

/// How such fields begin, of which each release brings new ones.
const BEGINS: [&str; 3] = ["x-claude-", "x-codex-", "x-stainless-"];

/// Whether a field of the workload's goes on. `name` is in lower case.
pub(super) fn passes(name: &str, route: &BrokerRoute) -> bool {
    let is_listed = GENERAL.contains(&name)
        || OF_VENDORS.contains(&name)
        || BEGINS.iter().any(|begin| name.starts_with(begin))
        || route.pass.iter().any(|other| other == name);
    is_listed
        && !name.contains('_')
        && !is_credential(name.as_bytes())
        && !name.eq_ignore_ascii_case(&route.header)
}
