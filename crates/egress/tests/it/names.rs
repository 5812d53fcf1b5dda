//! Names: one canonical form, and everything that is none.

use lazaret_egress::{HostName, HostPort};

fn table(inputs: &[&str]) -> String {
    let lines = inputs.iter().map(|input| {
        let read = match input.parse::<HostName>() {
            Ok(name) => name.to_string(),
            Err(error) => format!("refused: {error:?}"),
        };
        format!("{:<34} {read}\n", input.escape_debug().to_string())
    });
    lines.collect()
}

#[test]
fn net_05_an_address_is_no_name_in_any_spelling() {
    insta::assert_snapshot!(table(&[
        "1.2.3.4", "1.2.3.4.", "127.1", "127.0.1", "2130706433", "0x7f.1", "0x7f000001", "0x", "0X7F.0.0.1",
        "017700000001", "0177.0.0.1", "1.2.3.0x4", "1.2.3.256", "1.2.3.4.5", "name.1", "name.0x1f",
        "::1", "[::1]", "[::ffff:127.0.0.1]", "::ffff:7f00:1", "fe80::1%eth0", "[fe80::1%25eth0]",
        "１２７.０.０.１", "127。0。0。1", "①②⑦.1", "0x7f。1", "٣.1", "0", "[1.2.3.4]",
    ]), @"
    1.2.3.4                            refused: Literal
    1.2.3.4.                           refused: Literal
    127.1                              refused: Literal
    127.0.1                            refused: Literal
    2130706433                         refused: Literal
    0x7f.1                             refused: Literal
    0x7f000001                         refused: Literal
    0x                                 refused: Literal
    0X7F.0.0.1                         refused: Literal
    017700000001                       refused: Literal
    0177.0.0.1                         refused: Literal
    1.2.3.0x4                          refused: Literal
    1.2.3.256                          refused: Literal
    1.2.3.4.5                          refused: Literal
    name.1                             refused: Literal
    name.0x1f                          refused: Literal
    ::1                                refused: Literal
    [::1]                              refused: Literal
    [::ffff:127.0.0.1]                 refused: Literal
    ::ffff:7f00:1                      refused: Literal
    fe80::1%eth0                       refused: Literal
    [fe80::1%25eth0]                   refused: Literal
    １２７.０.０.１                          refused: Literal
    127。0。0。1                          refused: Literal
    ①②⑦.1                              refused: Literal
    0x7f。1                             refused: Literal
    ٣.1                                refused: Character
    0                                  refused: Literal
    [1.2.3.4]                          refused: Character
    ");
}

#[test]
fn net_10_one_form_of_every_name() {
    insta::assert_snapshot!(table(&[
        "example.com", "EXAMPLE.com", "example.com.", "Example.COM.", "example.com..", ".example.com", "a..b", ".", "",
        "bücher.example", "BÜCHER.example", "xn--bcher-kva.example", "XN--BCHER-KVA.example", "faß.example",
        "xn--a", "xn--", "xn--.com", "xn--example-.com", "ｅｘａｍｐｌｅ.com", "example。com", "exam\u{ad}ple.com", "a\u{200d}b.com", "a\u{202e}b.com",
        "r3---sn-abc.example", "-a.example", "a-.example", "a_b.example", "_dmarc.example", "1a.example", "3.example", "0x7f.example", "localhost", "a.b-c.d9",
    ]), @r"
    example.com                        example.com
    EXAMPLE.com                        example.com
    example.com.                       example.com
    Example.COM.                       example.com
    example.com..                      refused: Length
    .example.com                       refused: Length
    a..b                               refused: Length
    .                                  refused: Empty
                                       refused: Empty
    bücher.example                     xn--bcher-kva.example
    BÜCHER.example                     xn--bcher-kva.example
    xn--bcher-kva.example              xn--bcher-kva.example
    XN--BCHER-KVA.example              xn--bcher-kva.example
    faß.example                        xn--fa-hia.example
    xn--a                              refused: Character
    xn--                               refused: Character
    xn--.com                           refused: Character
    xn--example-.com                   refused: Character
    ｅｘａｍｐｌｅ.com                        example.com
    example。com                        example.com
    exam\u{ad}ple.com                  example.com
    a\u{200d}b.com                     refused: Character
    a\u{202e}b.com                     refused: Character
    r3---sn-abc.example                r3---sn-abc.example
    -a.example                         refused: Character
    a-.example                         refused: Character
    a_b.example                        refused: Character
    _dmarc.example                     refused: Character
    1a.example                         1a.example
    3.example                          3.example
    0x7f.example                       0x7f.example
    localhost                          localhost
    a.b-c.d9                           a.b-c.d9
    ");
}

#[test]
fn net_10_what_two_parsers_would_read_differently_is_refused() {
    insta::assert_snapshot!(table(&[
        "evil.test\0.allowed.test", "allowed.test\0", "allowed.test\n", "allowed.test\r\nHost: evil", " allowed.test", "allowed.test ", "allo wed.test", "allowed.test\u{a0}", "allowed.test\u{85}",
        "allowed.test@evil.test", "user:pw@allowed.test", "allowed.test%00.evil.test", "allowed%2etest", "allowed.test/evil", "allowed.test\\evil", "allowed.test#evil", "allowed.test?evil", "allowed.test:443", "a,b.test", "*.test", "\u{7f}a.test", "[allowed.test]",
    ]), @r"
    evil.test\0.allowed.test           refused: Control
    allowed.test\0                     refused: Control
    allowed.test\n                     refused: Control
    allowed.test\r\nHost: evil         refused: Control
     allowed.test                      refused: Control
    allowed.test                       refused: Control
    allo wed.test                      refused: Control
    allowed.test\u{a0}                 refused: Control
    allowed.test\u{85}                 refused: Control
    allowed.test@evil.test             refused: Userinfo
    user:pw@allowed.test               refused: Userinfo
    allowed.test%00.evil.test          refused: Escape
    allowed%2etest                     refused: Escape
    allowed.test/evil                  refused: Character
    allowed.test\\evil                 refused: Character
    allowed.test#evil                  refused: Character
    allowed.test?evil                  refused: Character
    allowed.test:443                   refused: Character
    a,b.test                           refused: Character
    *.test                             refused: Character
    \u{7f}a.test                       refused: Control
    [allowed.test]                     refused: Character
    ");
}

#[test]
fn lengths_are_those_of_dns() {
    let label = "a".repeat(63);
    let name = format!("{label}.{label}.{label}.{}", "a".repeat(61));
    assert_eq!(name.len(), 253);
    assert!(name.parse::<HostName>().is_ok());
    assert!(format!("{name}.").parse::<HostName>().is_ok());
    for long in [
        format!("{name}a"),
        "a".repeat(64),
        "a.".repeat(600),
        "ü".repeat(60),
    ] {
        assert!(long.parse::<HostName>().is_err(), "{long}");
    }
}

#[test]
fn what_is_read_is_read_again_as_itself() {
    for input in [
        "EXAMPLE.com.",
        "bücher.example",
        "faß.example",
        "r3---sn-abc.example",
    ] {
        let name: HostName = input.parse().expect("a name");
        assert_eq!(name.as_str().parse(), Ok(name.clone()), "{input}");
    }
}

#[test]
fn a_port_is_always_there_and_plain() {
    let inputs = [
        "a.test:443",
        "A.test.:80",
        "a.test",
        "a.test:",
        "a.test:0",
        "a.test:00443",
        "a.test:+443",
        "a.test:65535",
        "a.test:65536",
        "a.test:443 ",
        "a.test:44 3",
        "a.test:٤٤٣",
        "a.test:443:80",
        ":443",
        "[::1]:443",
        "::1",
        "::1:443",
        "1.2.3.4:443",
        "1.2.3.4",
        "u@a.test:443",
    ];
    let table: String = inputs
        .iter()
        .map(|input| {
            let read = match input.parse::<HostPort>() {
                Ok(target) => target.to_string(),
                Err(error) => format!("refused: {error}"),
            };
            format!("{input:<14} {read}\n")
        })
        .collect();
    insta::assert_snapshot!(table, @"
    a.test:443     a.test:443
    A.test.:80     a.test:80
    a.test         refused: the port is missing; write it out, as in `host:443`
    a.test:        refused: a port is a number from 1 to 65535, without leading zeros
    a.test:0       refused: a port is a number from 1 to 65535, without leading zeros
    a.test:00443   refused: a port is a number from 1 to 65535, without leading zeros
    a.test:+443    refused: a port is a number from 1 to 65535, without leading zeros
    a.test:65535   a.test:65535
    a.test:65536   refused: a port is a number from 1 to 65535, without leading zeros
    a.test:443     refused: a port is a number from 1 to 65535, without leading zeros
    a.test:44 3    refused: a port is a number from 1 to 65535, without leading zeros
    a.test:٤٤٣     refused: a port is a number from 1 to 65535, without leading zeros
    a.test:443:80  refused: the name has a character or a label that no host name has
    :443           refused: the name is empty
    [::1]:443      refused: the name is an address; only names can be allowed
    ::1            refused: the name is an address; only names can be allowed
    ::1:443        refused: the name is an address; only names can be allowed
    1.2.3.4:443    refused: the name is an address; only names can be allowed
    1.2.3.4        refused: the name is an address; only names can be allowed
    u@a.test:443   refused: the name holds a `@`; credentials don't belong in it
    ");
}
