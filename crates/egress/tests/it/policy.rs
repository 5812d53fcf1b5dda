//! The two judgements of a connection.

use lazaret_egress::{Denied, EntryPoint, HostPort, Mode, Policy, PrivateReach};

fn list(texts: &[&str]) -> Policy {
    Policy {
        rules: texts
            .iter()
            .map(|text| text.parse().expect("a rule"))
            .collect(),
        ..Policy::nothing()
    }
}

#[track_caller]
fn name(policy: &Policy, target: &str, via: EntryPoint) -> String {
    let target: HostPort = target.parse().expect("a target");
    match policy.judge_name(&target, via) {
        Ok(allowed) => allowed.rule,
        Err(denied) => denied.code().to_owned(),
    }
}

#[track_caller]
fn address(policy: &Policy, target: &str, address: &str) -> String {
    let target: HostPort = target.parse().expect("a target");
    match policy.judge_address(&target, address.parse().expect("an address")) {
        Ok(()) => "allowed".to_owned(),
        Err(denied) => denied.code().to_owned(),
    }
}

#[test]
fn net_03_what_no_rule_names_is_denied() {
    let policy = list(&["a.test:443", "*.b.test:443"]);
    assert_eq!(
        name(&policy, "a.test:443", EntryPoint::Connect),
        "a.test:443"
    );
    assert_eq!(
        name(&policy, "x.b.test:443", EntryPoint::Connect),
        "*.b.test:443"
    );
    assert_eq!(
        name(&policy, "c.test:443", EntryPoint::Connect),
        "net.not_listed"
    );
    assert_eq!(
        name(&Policy::nothing(), "a.test:443", EntryPoint::Connect),
        "net.not_listed"
    );
}

#[test]
fn net_04_a_host_is_allowed_with_its_port_alone() {
    let policy = list(&["a.test:443"]);
    for port in [22, 25, 80, 2375, 8443] {
        assert_eq!(
            name(&policy, &format!("a.test:{port}"), EntryPoint::Connect),
            "net.port"
        );
    }
}

#[test]
fn net_03_what_a_rule_denies_no_other_rule_and_no_mode_allows() {
    let mut policy = list(&["*.b.test:443", "a.test:443"]);
    policy.brokered = vec!["vendor.test:443".parse().expect("a target")];
    policy.denied = ["x.b.test:443", "*.c.test:443", "vendor.test:443"]
        .map(|text| text.parse().expect("a rule"))
        .into();
    for mode in [Mode::Allowlist, Mode::Open] {
        policy.mode = mode;
        for target in ["x.b.test:443", "y.c.test:443", "z.y.c.test:443"] {
            assert_eq!(
                name(&policy, target, EntryPoint::Connect),
                "net.rule",
                "{mode:?}"
            );
        }
        assert_eq!(
            name(&policy, "vendor.test:443", EntryPoint::Broker),
            "net.rule"
        );
        assert_eq!(
            name(&policy, "y.b.test:443", EntryPoint::Sni),
            "*.b.test:443"
        );
        // It is about its port alone, and a wildcard not about the name itself.
        let port = name(&policy, "x.b.test:80", EntryPoint::Connect);
        let itself = name(&policy, "c.test:443", EntryPoint::Connect);
        match mode {
            Mode::Open => assert_eq!([port, itself], ["open", "open"]),
            Mode::Allowlist => assert_eq!([port, itself], ["net.port", "net.not_listed"]),
        }
    }
    let target = "y.c.test:443".parse().expect("a target");
    let rule = policy.denying(&target).map(ToString::to_string);
    assert_eq!(rule.as_deref(), Some("*.c.test:443"));
}

#[test]
fn net_06_an_allowed_name_leads_to_public_addresses_only() {
    let open = Policy {
        mode: Mode::Open,
        ..Policy::nothing()
    };
    for policy in [list(&["a.test:443"]), open] {
        let judged = |text| address(&policy, "a.test:443", text);
        insta::allow_duplicates! {
            let table: String = [
                "8.8.8.8", "2001:4860:4860::8888", "127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.0.1",
                "100.64.0.1", "fc00::1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "169.254.1.2", "fe80::1", "169.254.169.254", "fd00:ec2::254",
                "192.0.2.1", "2002:808:808::1", "::8.8.8.8", "224.0.0.1", "ff02::1",
            ].iter().map(|text| format!("{text:<22} {}\n", judged(text))).collect();
            insta::assert_snapshot!(table, @"
    8.8.8.8                allowed
    2001:4860:4860::8888   allowed
    127.0.0.1              net.loopback
    ::1                    net.loopback
    ::ffff:127.0.0.1       net.loopback
    0.0.0.0                net.reserved
    10.0.0.1               net.private
    172.16.0.1             net.private
    192.168.0.1            net.private
    100.64.0.1             net.private
    fc00::1                net.private
    ::ffff:10.0.0.1        net.private
    64:ff9b::10.0.0.1      net.private
    169.254.1.2            net.link_local
    fe80::1                net.link_local
    169.254.169.254        net.metadata
    fd00:ec2::254          net.metadata
    192.0.2.1              net.reserved
    2002:808:808::1        net.reserved
    ::8.8.8.8              net.reserved
    224.0.0.1              net.reserved
    ff02::1                net.reserved
    ");
        }
    }
}

#[test]
fn net_06_only_the_users_own_configuration_opens_private_networks() {
    let mut policy = list(&["a.test:443", "b.test:443"]);
    policy.private = PrivateReach {
        names: vec!["a.test:443".parse().expect("a rule")],
        networks: vec!["10.1.0.0/16".parse().expect("a network")],
        ..PrivateReach::default()
    };
    assert_eq!(address(&policy, "a.test:443", "192.168.0.1"), "allowed");
    assert_eq!(address(&policy, "a.test:443", "fd00::1"), "allowed");
    assert_eq!(address(&policy, "a.test:443", "127.0.0.1"), "net.loopback");
    assert_eq!(address(&policy, "b.test:443", "192.168.0.1"), "net.private");
    assert_eq!(address(&policy, "b.test:443", "10.1.0.1"), "allowed");
    assert_eq!(address(&policy, "b.test:443", "::ffff:10.1.0.1"), "allowed");
    assert_eq!(address(&policy, "b.test:443", "10.2.0.1"), "net.private");
    // It opens addresses, not names.
    assert_eq!(
        name(&policy, "c.test:443", EntryPoint::Connect),
        "net.not_listed"
    );
}

#[test]
fn net_08_metadata_is_denied_whatever_the_user_names() {
    let mut policy = list(&["metadata.google.internal:80", "a.test:80"]);
    policy.mode = Mode::Open;
    policy.private = PrivateReach {
        names: vec![
            "metadata.google.internal:80".parse().expect("a rule"),
            "a.test:80".parse().expect("a rule"),
        ],
        networks: vec![
            "0.0.0.0/0".parse().expect("a network"),
            "::/0".parse().expect("a network"),
        ],
        ..PrivateReach::default()
    };
    assert_eq!(
        name(&policy, "metadata.google.internal:80", EntryPoint::Http),
        "net.metadata"
    );
    assert_eq!(
        name(&policy, "METADATA:80", EntryPoint::Http),
        "net.metadata"
    );
    for text in [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "fd00:ec2::254",
        "100.100.100.200",
    ] {
        assert_eq!(address(&policy, "a.test:80", text), "net.metadata");
    }
    assert_eq!(address(&policy, "a.test:80", "0.0.0.0"), "net.reserved");
    assert_eq!(address(&policy, "a.test:80", "169.254.1.2"), "allowed");
}

#[test]
fn net_09_the_engines_machine_is_denied_until_the_user_names_it() {
    let engines = [
        "host.docker.internal:80",
        "gateway.docker.internal:80",
        "host.containers.internal:80",
        "host.lima.internal:80",
    ];
    let mut policy = list(&engines);
    policy.mode = Mode::Open;
    for target in engines {
        assert_eq!(name(&policy, target, EntryPoint::Connect), "net.engine");
    }
    assert_eq!(
        name(&policy, "localhost:80", EntryPoint::Connect),
        "net.loopback"
    );
    assert_eq!(
        name(&policy, "a.localhost:80", EntryPoint::Connect),
        "net.loopback"
    );
    policy.private.names = vec!["host.docker.internal:80".parse().expect("a rule")];
    assert_eq!(
        name(&policy, "host.docker.internal:80", EntryPoint::Connect),
        "host.docker.internal:80"
    );
    assert_eq!(
        name(&policy, "host.docker.internal:81", EntryPoint::Connect),
        "net.engine"
    );
    assert_eq!(
        name(&policy, "host.containers.internal:80", EntryPoint::Connect),
        "net.engine"
    );
}

#[test]
fn net_09_closed_ranges_are_closed_although_public() {
    let mut policy = list(&["a.test:443", "b.test:443"]);
    policy.closed = vec!["8.8.8.0/24".parse().expect("a network")];
    assert_eq!(address(&policy, "a.test:443", "8.8.8.8"), "net.engine");
    assert_eq!(
        address(&policy, "a.test:443", "::ffff:8.8.8.8"),
        "net.engine"
    );
    assert_eq!(address(&policy, "a.test:443", "8.8.9.8"), "allowed");
    policy.private.names = vec!["a.test:443".parse().expect("a rule")];
    assert_eq!(address(&policy, "a.test:443", "8.8.8.8"), "allowed");
    assert_eq!(address(&policy, "b.test:443", "8.8.8.8"), "net.engine");
}

#[test]
fn net_18_a_brokered_host_has_one_door() {
    let mut policy =
        list(&["api.test:443", "*.test:443"].map(|rule| rule.trim_start_matches("*.")));
    policy.mode = Mode::Open;
    policy.brokered = vec!["api.test:443".parse().expect("a target")];
    for via in [
        EntryPoint::Connect,
        EntryPoint::Http,
        EntryPoint::Sni,
        EntryPoint::Host,
    ] {
        assert_eq!(name(&policy, "api.test:443", via), "net.brokered");
        assert_eq!(name(&policy, "api.test:8443", via), "net.brokered");
    }
    assert_eq!(name(&policy, "api.test:443", EntryPoint::Broker), "broker");
    assert_eq!(
        name(
            &Policy {
                mode: Mode::Allowlist,
                rules: Vec::new(),
                ..policy
            },
            "api.test:80",
            EntryPoint::Broker
        ),
        "net.not_listed"
    );
}

#[test]
fn open_is_every_public_name_and_port() {
    let policy = Policy {
        mode: Mode::Open,
        ..Policy::nothing()
    };
    assert_eq!(name(&policy, "any.test:25", EntryPoint::Connect), "open");
    assert_eq!(
        name(&policy, "host.docker.internal:80", EntryPoint::Connect),
        "net.engine"
    );
    assert_eq!(
        policy.judge_address(
            &"a.test:1".parse().expect("a target"),
            "8.8.8.8".parse().expect("an address")
        ),
        Ok::<(), Denied>(())
    );
}
