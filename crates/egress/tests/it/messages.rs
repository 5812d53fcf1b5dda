//! What launcher and gateway say to each other.

use lazaret_egress::{
    BrokerRoute, ConfigUpdate, Denied, EntryPoint, Event, GatewayConfig, Policy, Scheme, Secret,
    SessionLimits, Verdict,
};

fn order() -> GatewayConfig {
    GatewayConfig {
        policy: Policy::nothing(),
        routes: vec![BrokerRoute {
            name: "KEY".to_owned(),
            index: 0,
            target: "api.test:443".parse().expect("a target"),
            header: "x-api-key".to_owned(),
            scheme: Scheme::Raw,
            secret: Secret::new("canary-value".to_owned()),
            pass: Vec::new(),
        }],
        trust: Vec::new(),
        inside: String::new(),
        caps: SessionLimits::default(),
    }
}

#[test]
fn an_order_is_one_line_and_comes_back() {
    let line = serde_json::to_string(&order()).expect("JSON");
    assert!(!line.contains('\n'));
    let back: GatewayConfig = serde_json::from_str(&line).expect("an order");
    assert_eq!(back.routes[0].secret.expose(), "canary-value");
    insta::assert_snapshot!(line, @r#"{"policy":{"mode":"allowlist","rules":[],"denied":[],"brokered":[],"private":{"names":[],"networks":[],"hosts":{}},"closed":[]},"routes":[{"name":"KEY","index":0,"target":"api.test:443","header":"x-api-key","scheme":"raw","secret":"canary-value"}],"trust":[],"caps":{"connections":1024,"threads":64,"head_bytes":65536,"head_ms":15000,"connect_ms":10000,"idle_ms":900000,"sent_bytes":8589934592,"received_bytes":274877906944}}"#);
    let change = ConfigUpdate::Policy(Policy::nothing());
    insta::assert_snapshot!(serde_json::to_string(&change).expect("JSON"), @r#"{"policy":{"mode":"allowlist","rules":[],"denied":[],"brokered":[],"private":{"names":[],"networks":[],"hosts":{}},"closed":[]}}"#);
}

#[test]
fn net_22_a_key_is_never_shown() {
    assert!(!format!("{:?}", order()).contains("canary"));
}

#[test]
fn an_event_is_one_line_with_stable_codes() {
    let event = Event::Decision {
        at: 1_700_000_000_000,
        id: 7,
        via: EntryPoint::Connect,
        host: "c.test".to_owned(),
        port: Some(443),
        verdict: Verdict::Denied,
        rule: None,
        reason: Some(Denied::NotListed),
        address: None,
    };
    let line = serde_json::to_string(&event).expect("JSON");
    insta::assert_snapshot!(line, @r#"{"event":"decision","at":1700000000000,"id":7,"via":"connect","host":"c.test","port":443,"verdict":"denied","reason":"net.not_listed"}"#);
    assert_eq!(
        serde_json::from_str::<Event>(&line).expect("an event"),
        event
    );
}

#[test]
fn every_denial_has_a_code_of_its_own() {
    use lazaret_egress::NameError;
    let all = [
        Denied::NotListed,
        Denied::Port,
        Denied::Literal,
        Denied::BadPort,
        Denied::Private,
        Denied::Loopback,
        Denied::LinkLocal,
        Denied::Metadata,
        Denied::Engine,
        Denied::Reserved,
        Denied::Brokered,
        Denied::SniMismatch,
        Denied::NoSni,
        Denied::NotTls,
        Denied::BadRequest,
        Denied::Head,
        Denied::Connections,
        Denied::Bytes,
        Denied::Idle,
        Denied::Unresolved,
        Denied::Unreachable,
        Denied::from(NameError::Empty),
        Denied::from(NameError::Control),
        Denied::from(NameError::Userinfo),
        Denied::from(NameError::Escape),
        Denied::from(NameError::Literal),
        Denied::from(NameError::Character),
        Denied::from(NameError::Length),
    ];
    for denied in all {
        assert_ne!(denied.code(), "net.unknown", "{denied:?}");
        assert_eq!(Denied::from_code(denied.code()), Some(denied));
    }
}
