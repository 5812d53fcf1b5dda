//! What the gateway reads of the workload and of resolvers.

use std::net::{IpAddr, Ipv4Addr};

use lazaret_egress::{AddressClass, HostName, HostPort, Net, Port, Rule};
use lazaret_gateway::client_hello::{self, ClientHello};
use lazaret_gateway::http::{Body, Framing, Recipient, RequestHead, Trailers, end_of_head};
use lazaret_gateway::resolve::{self, Answer, Family, Question, Reading};
use lazaret_gateway::target;

/// The bytes are a name, a target, a rule, and a network.
pub(crate) fn named(bytes: &[u8]) {
    if let Some(first) = bytes.first_chunk::<4>() {
        let v4 = Ipv4Addr::from(*first);
        let mapped = IpAddr::V6(v4.to_ipv6_mapped());
        assert_eq!(AddressClass::of(mapped), AddressClass::of(IpAddr::V4(v4)));
    }
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    if let Ok(name) = text.parse::<HostName>() {
        let text = name.as_str();
        assert_eq!(text.parse().as_ref(), Ok(&name), "not canonical");
        assert_eq!(
            format!("{text}.").to_uppercase().parse().as_ref(),
            Ok(&name)
        );
        let of_name = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
        assert!(text.bytes().all(of_name) && text.len() <= 253);
        assert!(name.labels().all(|label| (1..=63).contains(&label.len())));
        assert!(text.parse::<IpAddr>().is_err());
        let last = name.labels().last().unwrap_or_default();
        assert!(!last.bytes().all(|byte| byte.is_ascii_digit()));
        assert!(!name.is_below(&name));
    }
    if let Ok(target) = text.parse::<HostPort>() {
        assert_eq!(target.to_string().parse(), Ok(target));
    }
    if let Ok(rule) = text.parse::<Rule>() {
        assert_eq!(rule.to_string().parse().as_ref(), Ok(&rule));
        let own = rule.to_string().replace("*.", "");
        let own: HostPort = own.parse().expect("a rule's name is one");
        let exact = Rule::exact(own.clone()) == rule;
        assert_eq!(rule.is_about(&own), exact);
    }
    if let Ok(net) = text.parse::<Net>() {
        assert_eq!(net.to_string().parse(), Ok(net));
    }
}

/// The bytes are a first flight.
pub(crate) fn greeted(bytes: &[u8]) {
    let whole = client_hello::read(bytes);
    if let Ok(ClientHello::For(name)) = &whole {
        assert_eq!(name.as_str().parse().as_ref(), Ok(name));
    }
    for end in [
        bytes.len() / 3,
        bytes.len() / 2,
        bytes.len().saturating_sub(1),
    ] {
        match client_hello::read(&bytes[..end]) {
            // What is wrong stays wrong, whatever follows.
            Err(_) => assert!(whole.is_err()),
            // Nothing may follow a greeting before its answer.
            Ok(ClientHello::For(_)) => {
                assert!(end == bytes.len() || whole != Ok(ClientHello::Incomplete))
            }
            Ok(ClientHello::Incomplete) => {}
        }
    }
}

/// The bytes are the head of a request.
pub(crate) fn requested(bytes: &[u8]) {
    let end = end_of_head(bytes);
    let half = end_of_head(&bytes[..bytes.len() / 2]);
    match half {
        Ok(None) => {}
        // Known as soon as it is there.
        known => assert_eq!(known, end),
    }
    let Ok(Some(end)) = end else {
        assert!(RequestHead::parse(bytes, Recipient::Proxy).is_err());
        return;
    };
    let Ok(mut head) = RequestHead::parse(&bytes[..end], Recipient::Proxy) else {
        return;
    };
    let again = RequestHead::parse(&head.to_bytes(), Recipient::Proxy);
    assert_eq!(again.as_ref(), Ok(&head));
    assert!(head.fields.values("host").count() <= 1);
    let connect = target::of_connect(&head);
    let origin = target::of_origin(&head, Port::HTTP);
    for target in [connect, origin].into_iter().flatten() {
        assert_eq!(target.to_string().parse(), Ok(target));
    }
    if let Ok((target, path)) = target::of_absolute(&head) {
        assert_eq!(target.to_string().parse(), Ok(target));
        assert!(path.starts_with('/') && !path.contains([' ', '#', '\r', '\n']));
    }
    head.fields.remove_hop_by_hop();
    assert!(
        head.fields
            .iter()
            .all(|field| !field.name.starts_with("proxy-"))
    );
    // What is sent on is framed as what was read.
    let again = RequestHead::parse(&head.to_bytes(), Recipient::Proxy);
    assert_eq!(again, Ok(head));
}

/// The bytes are a chunked body, after the size of the pieces in which it comes.
pub(crate) fn chunked(bytes: &[u8]) {
    let Some((size, bytes)) = bytes.split_first() else {
        return;
    };
    let mut at_once = Body::new(Framing::Chunked, Trailers::Refuse);
    let whole = at_once.advance(bytes);
    let mut in_pieces = Body::new(Framing::Chunked, Trailers::Refuse);
    let mut used = 0;
    let mut outcome = Ok(());
    for piece in bytes.chunks(usize::from(*size).max(1)) {
        match in_pieces.advance(piece) {
            Ok(count) => used += count,
            Err(denied) => {
                outcome = Err(denied);
                break;
            }
        }
    }
    assert_eq!(whole.is_err(), outcome.is_err());
    if let (Ok(whole), Ok(())) = (whole, outcome) {
        assert_eq!(
            (whole, at_once.is_complete()),
            (used, in_pieces.is_complete())
        );
        assert_eq!(at_once.is_complete(), plainly_over(&bytes[..whole]));
    }
}

/// Reads chunks in the simplest way: whether they are a whole body and nothing else.
fn plainly_over(mut bytes: &[u8]) -> bool {
    loop {
        let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") else {
            return false;
        };
        let size = str::from_utf8(&bytes[..end]).ok();
        let size = size.and_then(|size| usize::from_str_radix(size, 16).ok());
        let rest = &bytes[end + 2..];
        match size {
            Some(0) => return rest == b"\r\n",
            Some(size)
                if rest
                    .get(size..)
                    .is_some_and(|rest| rest.starts_with(b"\r\n")) =>
            {
                bytes = &rest[size + 2..];
            }
            _ => return false,
        }
    }
}

fn question() -> Question {
    Question {
        id: 0x4c5a,
        host: "up.test".parse().expect("a name"),
        family: Family::V4,
    }
}

/// The bytes are what comes from a resolver's address.
pub(crate) fn resolved(bytes: &[u8]) {
    let question = question();
    let Reading::Answer(answer) = resolve::read(&question, bytes) else {
        return;
    };
    if let Answer::Addresses(addresses) = answer {
        assert!(addresses.iter().all(IpAddr::is_ipv4) && addresses.len() <= 32);
    }
    // To any other question it is no answer.
    for other in [
        Question {
            id: 0x4c5b,
            ..question.clone()
        },
        Question {
            family: Family::V6,
            ..question.clone()
        },
        Question {
            host: "up2.test".parse().expect("a name"),
            ..question
        },
    ] {
        assert_eq!(resolve::read(&other, bytes), Reading::Foreign);
    }
}

pub(crate) fn names() -> Vec<Vec<u8>> {
    let names = [
        "api.example.com",
        "API.Example.COM.:443",
        "*.example.com:443",
        "b\u{fc}cher.example",
        "xn--bcher-kva.example",
        "0x7f.1",
        "127\u{3002}0.0.1",
        "[::ffff:127.0.0.1]:443",
        "10.1.0.0/16",
        "fd00::/8",
        "a@b.test:1",
        "r3---sn.example",
    ];
    names.map(|name| name.as_bytes().to_vec()).into()
}

pub(crate) fn greetings() -> Vec<Vec<u8>> {
    let name = b"up.test";
    let mut extension = vec![0, 0, 0, 12, 0, 10, 0, 0, 7];
    extension.extend_from_slice(name);
    let greeting = |extensions: &[u8]| {
        let mut body = vec![3, 3];
        body.extend_from_slice(&[7; 32]);
        body.extend_from_slice(&[0, 0, 2, 0x13, 1, 1, 0]);
        body.extend_from_slice(&[0, extensions.len().to_le_bytes()[0]]);
        body.extend_from_slice(extensions);
        let message = [&[1, 0, 0, body.len().to_le_bytes()[0]][..], &body].concat();
        [&[22, 3, 1, 0, message.len().to_le_bytes()[0]][..], &message].concat()
    };
    let twice = [extension.clone(), extension.clone()].concat();
    vec![
        greeting(&extension),
        greeting(&twice),
        greeting(&[]),
        vec![22, 3, 1],
    ]
}

pub(crate) fn requests() -> Vec<Vec<u8>> {
    let requests = [
        "CONNECT up.test:443 HTTP/1.1\r\nHost: up.test:443\r\nProxy-Authorization: Basic eA==\r\n\r\n",
        "GET http://up.test/a?b HTTP/1.1\r\nHost: up.test\r\nConnection: keep-alive, x\r\nX: 1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: up.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.0\r\nHost: up.test\r\nContent-Length: 3\r\n\r\nabc",
    ];
    requests.map(|request| request.as_bytes().to_vec()).into()
}

pub(crate) fn chunks() -> Vec<Vec<u8>> {
    let bodies: [&[u8]; 3] = [
        b"\x013\r\nabc\r\n0\r\n\r\n",
        b"\x070\r\n\r\nGET",
        b"\x02a\r\n0123456789\r\n5;x\r\n",
    ];
    bodies.map(<[u8]>::to_vec).into()
}

pub(crate) fn answers() -> Vec<Vec<u8>> {
    let asked = question().to_bytes().expect("a message");
    let answer = |records: &[&[u8]]| {
        let mut answer = asked.clone();
        (answer[2], answer[3]) = (0x81, 0x80);
        answer[7] = records.len().to_le_bytes()[0];
        answer.extend_from_slice(&records.concat());
        answer
    };
    let address: &[u8] = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\x7f\0\0\x01";
    let alias: &[u8] = b"\xc0\x0c\0\x05\0\x01\0\0\0\x3c\0\x04\x01b\xc0\x0f";
    let of_alias: &[u8] = b"\x01b\xc0\x0f\0\x01\0\x01\0\0\0\x3c\0\x04\x7f\0\0\x02";
    vec![
        answer(&[address]),
        answer(&[alias, of_alias]),
        answer(&[alias]),
        answer(&[]),
        asked,
    ]
}
