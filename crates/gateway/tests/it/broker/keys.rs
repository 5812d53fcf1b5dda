//! Where the key goes, and where nothing of it does (NET-17 to NET-20, NET-22).

use std::io::Write as _;
use std::net::TcpListener;

use lazaret_egress::Scheme;
use lazaret_tests::model::{Authority, Request};

use super::{Gateway, HOST, KEY, OK, PATIENCE, PLACEHOLDER, Vendor, has_key, post};

#[test]
fn net_17_the_vendor_gets_the_key_and_never_the_placeholder() {
    for scheme in [Scheme::Raw, Scheme::Bearer] {
        let authority = Authority::new("a vendor's");
        let (vendor, requests) = Vendor::answering(&authority, OK);
        let gateway = Gateway::new(vendor.port, &authority, scheme);
        let own = match scheme {
            Scheme::Raw => format!("x-api-key: {PLACEHOLDER}\r\n"),
            Scheme::Bearer => format!("authorization: Bearer {PLACEHOLDER}\r\n"),
        };
        let answer = gateway.say(&post(
            &format!("{own}anthropic-version: kept\r\n"),
            "the body",
        ));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.ends_with("2\r\n{}\r\n0\r\n\r\n"), "{answer}");
        let request = requests.recv_timeout(PATIENCE).expect("it came");
        assert!(has_key(&request, scheme), "{request:?}");
        assert!(!request.text().contains(PLACEHOLDER), "{request:?}");
        assert_eq!(request.path, "/v1/messages?beta=true");
        assert_eq!(request.header("anthropic-version"), Some("kept"));
        let host = format!("{HOST}:{}", vendor.port);
        assert_eq!(request.header("host"), Some(&*host));
        assert_eq!(request.body, b"the body");
        let log = gateway.log();
        assert!(log.contains("\"path\":\"/v1/messages\""), "{log}");
        assert!(!log.contains("beta") && !log.contains(KEY), "{log}");
        let decided = log.find("\"decision\"").expect("it was judged");
        assert!(
            decided < log.find("\"broker\"").expect("it was told"),
            "{log}"
        );
    }
}

#[test]
fn net_18_the_workloads_own_credentials_stay_behind() {
    let authority = Authority::new("a vendor's");
    let (vendor, requests) = Vendor::answering(&authority, OK);
    let gateway = Gateway::new(vendor.port, &authority, Scheme::Raw);
    let fields = "Authorization: Bearer own-key\r\nX-API-Key: own-key\r\nx-api-key: own-key\r\n\
        api-key: own-key\r\nCookie: session=own-key\r\nProxy-Authorization: Basic own-key\r\n\
        X-Goog-Api-Key: own-key\r\nConnection: keep-alive, X-Hop\r\nX-Hop: own-key\r\n\
        TE: own-key\r\nKeep-Alive: own-key\r\n";
    let _answer = gateway.say(&post(fields, "{}"));
    let request = requests.recv_timeout(PATIENCE).expect("it came");
    assert!(!request.text().contains("own-key"), "{request:?}");
    assert!(has_key(&request, Scheme::Raw));
    let keys = request
        .headers
        .iter()
        .filter(|(name, _)| name == "x-api-key");
    assert_eq!(keys.count(), 1, "{request:?}");
}

/// What becomes of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Passes,
    Dropped,
}

/// Fields, by the clients that send them or the vendors that take a key in them.
#[rustfmt::skip]
const FIELDS: &[(&str, Fate)] = &[
    // Any client.
    ("accept", Fate::Passes), ("accept-language", Fate::Passes), ("content-type", Fate::Passes),
    ("content-encoding", Fate::Passes), ("user-agent", Fate::Passes), ("range", Fate::Passes),
    ("if-none-match", Fate::Passes), ("idempotency-key", Fate::Passes), ("traceparent", Fate::Passes),
    ("x-request-id", Fate::Passes),
    // Anthropic's libraries and Claude Code.
    ("anthropic-version", Fate::Passes), ("anthropic-beta", Fate::Passes),
    ("anthropic-dangerous-direct-browser-access", Fate::Passes), ("x-app", Fate::Passes),
    ("x-stainless-lang", Fate::Passes), ("x-stainless-retry-count", Fate::Passes),
    ("X-Stainless-Helper-Method", Fate::Passes), ("x-claude-code-session-id", Fate::Passes),
    // OpenAI's libraries and Codex.
    ("openai-beta", Fate::Passes), ("originator", Fate::Passes), ("version", Fate::Passes),
    ("x-codex-turn-metadata", Fate::Passes), ("x-client-request-id", Fate::Passes),
    // OpenRouter's, as aider sends them; Google's.
    ("http-referer", Fate::Passes), ("x-title", Fate::Passes), ("x-goog-api-client", Fate::Passes),
    // What the profile names.
    ("x-special", Fate::Passes), ("x-other", Fate::Dropped),
    // Keys, as vendors take them.
    ("X_Api_Key", Fate::Dropped), ("x_api-key", Fate::Dropped), ("api_key", Fate::Dropped),
    ("PRIVATE-TOKEN", Fate::Dropped), ("JOB-TOKEN", Fate::Dropped), ("X-Auth-Token", Fate::Dropped),
    ("Xi-Api-Key", Fate::Dropped), ("Ocp-Apim-Subscription-Key", Fate::Dropped),
    ("X-Goog-Api-Key", Fate::Dropped), ("X-Amz-Security-Token", Fate::Dropped),
    ("X-Auth-Key", Fate::Dropped), ("X-Functions-Key", Fate::Dropped), ("apikey", Fate::Dropped),
    ("x-stainless-api-key", Fate::Dropped), ("x-claude-token", Fate::Dropped),
    ("Token", Fate::Dropped), ("X-Figma-Token", Fate::Dropped), ("DD-API-KEY", Fate::Dropped),
    ("Http_Authorization", Fate::Dropped), ("Authorization_", Fate::Dropped),
    // Accounts, sessions, and what makes one request another.
    ("OpenAI-Organization", Fate::Dropped), ("OpenAI-Project", Fate::Dropped),
    ("ChatGPT-Account-Id", Fate::Dropped), ("x-goog-user-project", Fate::Dropped),
    ("session_id", Fate::Dropped), ("content_type", Fate::Dropped), ("user_agent", Fate::Dropped),
    ("x_special", Fate::Dropped), ("x-forwarded-for", Fate::Dropped), ("forwarded", Fate::Dropped),
    ("x-http-method-override", Fate::Dropped), ("x-original-url", Fate::Dropped),
    ("referer", Fate::Dropped),
];

#[test]
fn net_26_fields_pass_by_a_list() {
    let authority = Authority::new("a vendor's");
    let (vendor, requests) = Vendor::answering(&authority, OK);
    for scheme in [Scheme::Raw, Scheme::Bearer] {
        let gateway = Gateway::new(vendor.port, &authority, scheme);
        for (name, fate) in FIELDS {
            let answer = gateway.say(&post(&format!("{name}: own-value\r\n"), "{}"));
            assert!(answer.starts_with("HTTP/1.1 200 "), "{name}: {answer}");
            let request = requests.recv_timeout(PATIENCE).expect("it came");
            let found = match request.text().contains("own-value") {
                true => Fate::Passes,
                false => Fate::Dropped,
            };
            assert_eq!(found, *fate, "{name}: {request:?}");
            assert!(has_key(&request, scheme), "{name}: {request:?}");
        }
    }
}

#[test]
fn net_26_a_credential_in_a_query_is_refused() {
    let authority = Authority::new("a vendor's");
    let (vendor, requests) = Vendor::answering(&authority, OK);
    let gateway = Gateway::new(vendor.port, &authority, Scheme::Raw);
    for query in [
        "oauth_token=own",
        "token=own",
        "X-Amz-Signature=own",
        "X-Amz-Credential=own",
        "sig=own",
        "key=own",
        "alt=sse&k%65y=own",
        "a=1;access_token=own",
        "key[]=own",
        "key=lazaret-placeholder-KEY&key=own",
    ] {
        let line = format!("GET /v1/x?{query} HTTP/1.1\r\nHost: a\r\n\r\n");
        let answer = gateway.say(line.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 403 "), "{query}: {answer}");
        assert!(answer.contains("carries a credential"), "{query}: {answer}");
        assert!(answer.contains("net.credential"), "{query}: {answer}");
    }
    assert!(requests.try_recv().is_err(), "nothing came");
    let log = gateway.log();
    assert!(log.contains("\"reason\":\"net.credential\""), "{log}");
    // What lazaret gave the workload, and what says where a list goes on.
    for (query, passed) in [
        (format!("key={PLACEHOLDER}&page=2"), "/v1/x?page=2"),
        (
            "pageToken=a&max_tokens=1".to_owned(),
            "/v1/x?pageToken=a&max_tokens=1",
        ),
    ] {
        let line = format!("GET /v1/x?{query} HTTP/1.1\r\nHost: a\r\n\r\n");
        let answer = gateway.say(line.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 200 "), "{query}: {answer}");
        let request = requests.recv_timeout(PATIENCE).expect("it came");
        assert_eq!(request.path, passed);
    }
}

#[test]
fn net_19_the_key_goes_to_its_own_host_alone() {
    let authority = Authority::new("a vendor's");
    let (vendor, requests) = Vendor::answering(&authority, OK);
    let gateway = Gateway::new(vendor.port, &authority, Scheme::Bearer);
    // Whatever `Host` says, the request goes to the host of the key.
    let answer = gateway.say(b"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let request = requests.recv_timeout(PATIENCE).expect("it came");
    assert_eq!(
        request.header("host"),
        Some(&*format!("{HOST}:{}", vendor.port))
    );
    for line in [
        "GET http://other.test/ HTTP/1.1",
        "GET //other.test/ HTTP/1.1\r\nHost: a",
        "CONNECT other.test:443 HTTP/1.1",
        "OPTIONS * HTTP/1.1",
    ] {
        let answer = gateway.say(format!("{line}\r\nHost: other.test\r\n\r\n").as_bytes());
        assert!(answer.starts_with("HTTP/1.1 400 "), "{line}: {answer}");
    }
    assert!(requests.try_recv().is_err(), "nothing else came");
}

#[test]
fn net_20_a_key_that_the_vendor_sends_back_does_not_reach_the_workload() {
    let authority = Authority::new("a vendor's");
    let vendor = Vendor::start(&authority, HOST, |stream| {
        let request = Request::read(stream)?.expect("it comes");
        assert_eq!(request.header("accept-encoding"), Some("identity"));
        let to = stream.get_mut();
        let (first, second) = KEY.split_at(9);
        let head = format!(
            "HTTP/1.1 401 no\r\nx-echo: {KEY}\r\nset-cookie: a={KEY}\r\n\
             transfer-encoding: chunked\r\n\r\n"
        );
        to.write_all(head.as_bytes())?;
        for part in ["wrong key: ", first, second, ", sorry"] {
            to.write_all(format!("{:x}\r\n{part}\r\n", part.len()).as_bytes())?;
            to.flush()?;
        }
        to.write_all(b"0\r\n\r\n")
    });
    let gateway = Gateway::new(vendor.port, &authority, Scheme::Raw);
    let answer = gateway.say(&post("accept-encoding: gzip\r\n", "{}"));
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    assert!(answer.contains("x-echo: [secret KEY]\r\n"), "{answer}");
    assert!(answer.contains("[secret KEY]\r\n"), "{answer}");
    for part in [KEY, &KEY[..9], &KEY[9..]] {
        assert!(!answer.contains(part), "{answer}");
        assert!(!gateway.log().contains(part));
    }
}

#[test]
fn a_server_that_is_not_the_vendor_gets_nothing() {
    let (authority, other) = (Authority::new("a vendor's"), Authority::new("another's"));
    let wrong_name = Vendor::start(&authority, "other.test", |_| panic!("nothing comes"));
    let (wrong_authority, requests) = Vendor::answering(&other, OK);
    for port in [wrong_name.port, wrong_authority.port] {
        let gateway = Gateway::new(port, &authority, Scheme::Raw);
        let answer = gateway.say(&post("", "{}"));
        assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
        assert!(
            answer.contains("no verified connection to vendor.test:"),
            "{answer}"
        );
        assert!(answer.contains("`ca` in network.toml"), "{answer}");
        assert!(!answer.contains(KEY) && !gateway.log().contains(KEY));
    }
    assert!(requests.try_recv().is_err());
}

#[test]
fn a_vendor_that_is_not_there_is_said_without_the_key() {
    let authority = Authority::new("a vendor's");
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        listener.local_addr().expect("it is bound").port()
    };
    let gateway = Gateway::new(port, &authority, Scheme::Raw);
    let answer = gateway.say(&post("", "{}"));
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    let (_, body) = answer.split_once("\r\n\r\n").expect("it has a body");
    let body: serde_json::Value = serde_json::from_str(body).expect("it is JSON");
    assert_eq!(body["type"], "error");
    let message = body["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("vendor.test"), "{message}");
    assert!(!answer.contains(KEY) && !gateway.log().contains(KEY));
}

#[test]
fn net_22_a_broker_is_shown_without_its_key() {
    let authority = Authority::new("a vendor's");
    let gateway = Gateway::new(1, &authority, Scheme::Bearer);
    let shown = format!("{:?}", gateway.broker);
    assert!(shown.contains("KEY") && !shown.contains(KEY), "{shown}");
}
