//! What the proxy makes of names, before any query.

use lazaret_egress::{EntryPoint, Event, Mode, Policy, Verdict};

use crate::world::{Plan, Server, World, all, connect};

fn open() -> World {
    let mut plan = Plan::allowing(&[]);
    plan.policy.mode = Mode::Open;
    plan.start()
}

/// Returns the code that a request is denied with, by its answer.
#[track_caller]
fn code(world: &World, request: &str) -> String {
    let answer = all(world.say(request));
    let line = answer
        .lines()
        .find_map(|line| line.strip_prefix("X-Lazaret-Denied: "));
    line.unwrap_or(&answer).to_owned()
}

#[test]
fn net_03_what_is_not_listed_is_denied_and_logged() {
    let world = Plan::allowing(&["up.test:443".to_owned()]).start();
    let answer = all(world.say(&connect("other.test:443")));
    assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{answer}");
    assert!(
        answer.ends_with("lazaret: net.not_listed: no rule allows this host\n"),
        "{answer}"
    );
    let event = world.event("denial", |event| matches!(event, Event::Decision { .. }));
    let Event::Decision {
        via,
        host,
        port,
        verdict,
        address,
        ..
    } = event
    else {
        panic!("{event:?}");
    };
    assert_eq!(
        (via, host.as_str(), port),
        (EntryPoint::Connect, "other.test", Some(443))
    );
    assert_eq!((verdict, address), (Verdict::Denied, None));
    // There was no query for it (NET-02).
    assert_eq!(world.dns.names(), Vec::<String>::new());
}

#[test]
fn net_04_other_ports_of_an_allowed_host_are_denied() {
    let world = Plan::allowing(&["up.test:443".to_owned()]).start();
    for port in [22, 25, 80, 2375, 8443] {
        assert_eq!(
            code(&world, &connect(&format!("up.test:{port}"))),
            "net.port"
        );
    }
    assert_eq!(world.dns.names(), Vec::<String>::new());
}

#[test]
fn net_05_addresses_are_denied_in_every_spelling_even_when_open() {
    let world = open();
    for target in [
        "1.2.3.4:443",
        "127.0.0.1:443",
        "[::1]:443",
        "[::ffff:127.0.0.1]:443",
        "2130706433:443",
        "0x7f.1:443",
        "0x7f000001:443",
        "127.1:443",
        "017700000001:443",
        "1.2.3.4.:443",
    ] {
        assert_eq!(code(&world, &connect(target)), "net.literal", "{target}");
    }
    assert_eq!(
        code(&world, "GET http://127.1/ HTTP/1.1\r\nHost: 127.1\r\n\r\n"),
        "net.literal"
    );
    assert_eq!(world.dns.names(), Vec::<String>::new());
}

#[test]
fn net_08_and_09_names_of_metadata_and_engines_are_denied_even_when_open() {
    let world = open();
    for (target, expected) in [
        ("metadata.google.internal:80", "net.metadata"),
        ("METADATA.google.internal.:80", "net.metadata"),
        ("host.docker.internal:2375", "net.engine"),
        ("host.containers.internal:80", "net.engine"),
        ("localhost:80", "net.loopback"),
    ] {
        assert_eq!(code(&world, &connect(target)), expected, "{target}");
    }
    assert_eq!(world.dns.names(), Vec::<String>::new());
}

#[test]
fn net_09_the_gateways_own_network_is_closed() {
    let server = Server::echo();
    let target = format!("up.test:{}", server.port());
    let mut plan = Plan::allowing(std::slice::from_ref(&target));
    // As if the loopback were the network of the container, at a public address.
    plan.policy.private.networks.clear();
    plan.policy.closed = vec!["127.0.0.0/8".parse().expect("a network")];
    let world = plan.start();
    world.dns.answer("up.test", &["127.0.0.1"]);
    assert_eq!(code(&world, &connect(&target)), "net.engine");
    assert_eq!(server.seen(), 0);
}

#[test]
fn net_10_names_have_one_form_and_no_tricks() {
    let server = Server::echo();
    let port = server.port();
    let world = Plan::allowing(&[format!("up.test:{port}")]).start();
    world.dns.answer("up.test", &["127.0.0.1"]);
    for name in ["up.test", "UP.Test", "up.test."] {
        let answer = world.answer(&connect(&format!("{name}:{port}")));
        assert_eq!(answer, "HTTP/1.1 200 Connection established", "{name}");
    }
    for (target, expected) in [
        (format!("up.test.evil.test:{port}"), "net.not_listed"),
        (format!("evilup.test:{port}"), "net.not_listed"),
        (format!("up.test@evil.test:{port}"), "net.name.userinfo"),
        (format!("evil.test%00.up.test:{port}"), "net.name.escape"),
        (format!("evil.test\0.up.test:{port}"), "net.bad_request"),
        (format!("up.test\t:{port}"), "net.bad_request"),
        ("up.test".to_owned(), "net.bad_port"),
        ("up.test:0443".to_owned(), "net.bad_port"),
        (format!("xn--a:{port}"), "net.name.character"),
    ] {
        assert_eq!(code(&world, &connect(&target)), expected, "{target:?}");
    }
    server.wait_for(3);
    assert!(world.dns.names().iter().all(|name| name == "up.test"));
}

#[test]
fn net_18_a_brokered_host_is_denied_at_every_other_door() {
    let mut plan = Plan::allowing(&["api.test:443".to_owned()]);
    plan.policy.mode = Mode::Open;
    plan.policy.brokered = vec!["api.test:443".parse().expect("a target")];
    let world = plan.start();
    for request in [
        connect("api.test:443"),
        connect("api.test:8443"),
        "GET http://api.test:443/ HTTP/1.1\r\nHost: api.test:443\r\nx-api-key: own\r\n\r\n"
            .to_owned(),
        "GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\nAuthorization: own\r\n\r\n".to_owned(),
    ] {
        assert_eq!(code(&world, &request), "net.brokered", "{request}");
    }
    assert_eq!(world.dns.names(), Vec::<String>::new());
}

#[test]
fn a_changed_policy_is_in_force_at_once_and_closes_what_it_denies() {
    let server = Server::echo();
    let target = format!("up.test:{}", server.port());
    let plan = Plan::allowing(std::slice::from_ref(&target));
    let allowed = plan.policy.clone();
    let denied = Policy {
        rules: Vec::new(),
        ..allowed.clone()
    };
    let mut world = plan.start();
    world.dns.answer("up.test", &["127.0.0.1"]);
    let tunnel = world.tunnel(&target);
    world.change(denied);
    assert_eq!(all(tunnel), "");
    world.event("end", |event| {
        matches!(event, Event::Closed { reason: Some(reason), .. } if reason.code() == "net.not_listed")
    });
    assert_eq!(code(&world, &connect(&target)), "net.not_listed");
    world.change(allowed);
    // It is in force as soon as it is read: the line is read by another thread.
    crate::world::wait("the rule", || {
        world.answer(&connect(&target)) == "HTTP/1.1 200 Connection established"
    });
}
