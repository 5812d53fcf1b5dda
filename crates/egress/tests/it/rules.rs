//! Rules: how they are written, and what they are about.

use lazaret_egress::{HostPort, Rule};

#[test]
fn a_rule_is_a_name_or_all_below_it_with_one_port() {
    let inputs = [
        "api.test:443",
        "API.Test.:443",
        "*.example.test:443",
        "*.test:443",
        "*:443",
        "**.a.test:443",
        "a.*.test:443",
        "*a.test:443",
        "api.test",
        "*.api.test",
        "api.test:*",
        "api.test:0",
        "1.2.3.4:443",
        "10.0.0.0/8:443",
        "[::1]:443",
        "https://api.test:443",
        "https://api.test",
        "a_b.test:443",
        "",
        "api.test:443\n",
    ];
    let table: String = inputs
        .iter()
        .map(|input| match input.parse::<Rule>() {
            Ok(rule) => format!("{rule}\n"),
            Err(error) => format!("{error}\n"),
        })
        .collect();
    insta::assert_snapshot!(table, @r"
    api.test:443
    api.test:443
    *.example.test:443
    the rule `*.test:443` would allow a whole top-level domain; name a domain below it
    the rule `*:443`: a `*` can only be the whole first label, as in `*.example.com:443`
    the rule `**.a.test:443`: a `*` can only be the whole first label, as in `*.example.com:443`
    the rule `a.*.test:443`: a `*` can only be the whole first label, as in `*.example.com:443`
    the rule `*a.test:443`: a `*` can only be the whole first label, as in `*.example.com:443`
    the rule `api.test` has no port; write it out, as in `api.test:443`
    the rule `*.api.test` has no port; write it out, as in `*.api.test:443`
    the rule `api.test:*`: a `*` can only be the whole first label, as in `*.example.com:443`
    the port of the rule `api.test:0`: a port is a number from 1 to 65535, without leading zeros
    the rule `1.2.3.4:443`: the name is an address; only names can be allowed
    the rule `10.0.0.0/8:443`: the name has a character or a label that no host name has
    the rule `[::1]:443`: the name is an address; only names can be allowed
    the rule `https://api.test:443`: the name has a character or a label that no host name has
    the port of the rule `https://api.test`: a port is a number from 1 to 65535, without leading zeros
    the rule `a_b.test:443`: the name has a character or a label that no host name has
    the rule ``: the name is empty
    the port of the rule `api.test:443\n`: a port is a number from 1 to 65535, without leading zeros
    ");
}

#[track_caller]
fn allows(rule: &str, target: &str) -> bool {
    let rule: Rule = rule.parse().expect("a rule");
    let target: HostPort = target.parse().expect("a target");
    rule.is_about(&target)
}

#[test]
fn net_10_a_suffix_is_no_subdomain() {
    assert!(allows("allowed.test:443", "ALLOWED.test.:443"));
    assert!(!allows("allowed.test:443", "allowed.test.evil.test:443"));
    assert!(!allows("allowed.test:443", "evilallowed.test:443"));
    assert!(!allows("allowed.test:443", "sub.allowed.test:443"));
    assert!(!allows("allowed.test:443", "allowed.test:80"));
    assert!(allows("*.allowed.test:443", "sub.allowed.test:443"));
    assert!(allows("*.allowed.test:443", "a.b.allowed.test:443"));
    assert!(!allows("*.allowed.test:443", "allowed.test:443"));
    assert!(!allows("*.allowed.test:443", "evilallowed.test:443"));
    assert!(!allows(
        "*.allowed.test:443",
        "sub.allowed.test.evil.test:443"
    ));
    assert!(!allows("*.allowed.test:443", "sub.allowed.test:444"));
}
