//! The broker's two readers: what they accept, an easier reader takes for the same.

use std::io::BufReader;
use std::sync::LazyLock;

use lazaret_egress::{BrokerRoute, Patterns, Scheme, Secret};
use lazaret_gateway::broker::fuzz;
use lazaret_tests::model::Request;

const KEY: &str = "sk-canary-0123456789";

static PATTERNS: LazyLock<Patterns> =
    LazyLock::new(|| Patterns::new([("KEY", KEY.as_bytes())]).expect("it is long enough"));

/// The bytes come from the workload.
pub(crate) fn request(bytes: &[u8]) {
    let route = BrokerRoute {
        name: "KEY".to_owned(),
        index: 0,
        target: "vendor.test:443".parse().expect("it is a target"),
        header: "x-api-key".to_owned(),
        scheme: Scheme::Raw,
        secret: Secret::new(KEY.to_owned()),
        pass: Vec::new(),
    };
    let Some(passed) = fuzz::request(bytes, &route) else {
        return;
    };
    let mut reader = BufReader::new(&passed.sent[..]);
    let seen = Request::read(&mut reader).expect("it can be read");
    let seen = seen.expect("it is there");
    assert_eq!((&seen.method, &seen.path), (&passed.first, &passed.target));
    assert_eq!(seen.body, passed.body);
    let more = Request::read(&mut reader).expect("it is at its end");
    assert_eq!(more, None, "one request became two");
    let named = |name: &str| {
        seen.headers
            .iter()
            .filter(|(known, _)| known == name)
            .count()
    };
    assert_eq!((named("x-api-key"), named("host")), (1, 1));
    assert_eq!(seen.header("x-api-key"), Some(KEY));
    assert_eq!(seen.header("host"), Some("vendor.test"));
    for name in [
        "authorization",
        "api-key",
        "cookie",
        "proxy-authorization",
        "upgrade",
        "expect",
    ] {
        assert_eq!(named(name), 0, "{name} went on");
    }
    // What is sent is read alike by the reader that made it.
    let again = fuzz::request(&passed.sent, &route).expect("it is strict");
    assert_eq!(again.body, passed.body);
}

/// The bytes come from the vendor.
pub(crate) fn response(bytes: &[u8]) {
    for method in ["POST", "HEAD"] {
        let Some(passed) = fuzz::response(bytes, method, &PATTERNS) else {
            continue;
        };
        let again = fuzz::response(&passed.sent, method, &PATTERNS).expect("it is strict");
        assert_eq!((&again.first, &again.body), (&passed.first, &passed.body));
        let head = passed.sent.windows(4).position(|end| end == b"\r\n\r\n");
        let head = String::from_utf8_lossy(&passed.sent[..head.expect("it ends")]).into_owned();
        assert!(!head.contains(KEY), "{head}");
    }
}

pub(crate) fn requests() -> Vec<Vec<u8>> {
    [
        "POST /v1/messages?beta=true HTTP/1.1\r\nHost: a\r\nx-api-key: own\r\nContent-Length: 2\r\n\r\n{}",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n\
         5\r\nhello\r\n0\r\nX: y\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\nConnection: close, x-hop\r\nX-Hop: 1\r\nAuthorization: Bearer b\r\n\r\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

pub(crate) fn responses() -> Vec<Vec<u8>> {
    [
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nset-cookie: a\r\n\r\nok",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nx: sk-canary-0123456789\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "HTTP/1.1 204 \r\n\r\n",
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\ndata: x\n\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// Pieces of messages.
pub(crate) const WORDS: &[&[u8]] = &[
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b"Content-Length: ",
    b"Transfer-Encoding: chunked\r\n",
    b"Host: a\r\n",
    b"Connection: ",
    b"x-api-key: ",
    b"0\r\n\r\n",
    b"1\r\na\r\n",
    b" HTTP/1.1\r\n",
    b"HTTP/1.1 200 \r\n",
    b";x",
    b"\0",
    b"\t",
];
