//! Where addresses lie.

use std::net::IpAddr;

use lazaret_egress::{AddressClass, Net};

fn table(addresses: &[&str]) -> String {
    let lines = addresses.iter().map(|text| {
        let address: IpAddr = text.parse().expect("an address");
        format!("{text:<28} {:?}\n", AddressClass::of(address))
    });
    lines.collect()
}

#[test]
fn net_06_first_and_last_of_every_v4_range_and_its_neighbours() {
    insta::assert_snapshot!(table(&[
        "0.0.0.0", "0.255.255.255", "1.0.0.0", "9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0",
        "100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0", "126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0",
        "169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0", "172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0",
        "191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0", "192.0.2.0", "192.0.2.255", "192.0.3.0", "192.88.99.1", "192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0",
        "198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0", "198.51.100.0", "198.51.101.0", "203.0.113.255", "203.0.114.0",
        "223.255.255.255", "224.0.0.0", "239.255.255.255", "240.0.0.0", "255.255.255.255", "8.8.8.8",
    ]), @"
    0.0.0.0                      Unusable
    0.255.255.255                Unusable
    1.0.0.0                      Public
    9.255.255.255                Public
    10.0.0.0                     Private
    10.255.255.255               Private
    11.0.0.0                     Public
    100.63.255.255               Public
    100.64.0.0                   Shared
    100.127.255.255              Shared
    100.128.0.0                  Public
    126.255.255.255              Public
    127.0.0.0                    Loopback
    127.255.255.255              Loopback
    128.0.0.0                    Public
    169.253.255.255              Public
    169.254.0.0                  LinkLocal
    169.254.255.255              LinkLocal
    169.255.0.0                  Public
    172.15.255.255               Public
    172.16.0.0                   Private
    172.31.255.255               Private
    172.32.0.0                   Public
    191.255.255.255              Public
    192.0.0.0                    Reserved
    192.0.0.255                  Reserved
    192.0.1.0                    Public
    192.0.2.0                    Reserved
    192.0.2.255                  Reserved
    192.0.3.0                    Public
    192.88.99.1                  Reserved
    192.167.255.255              Public
    192.168.0.0                  Private
    192.168.255.255              Private
    192.169.0.0                  Public
    198.17.255.255               Public
    198.18.0.0                   Reserved
    198.19.255.255               Reserved
    198.20.0.0                   Public
    198.51.100.0                 Reserved
    198.51.101.0                 Public
    203.0.113.255                Reserved
    203.0.114.0                  Public
    223.255.255.255              Public
    224.0.0.0                    Unusable
    239.255.255.255              Unusable
    240.0.0.0                    Unusable
    255.255.255.255              Unusable
    8.8.8.8                      Public
    ");
}

#[test]
fn net_06_v6_and_what_carries_a_v4_address() {
    insta::assert_snapshot!(table(&[
        "::", "::1", "::2", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8",
        "64:ff9b::8.8.8.8", "64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b:1::8.8.8.8", "100::1", "2001::1", "2001:db8::1", "2001:1ff::1", "2001:200::1", "2001:4860:4860::8888",
        "2002:7f00:1::", "2002:808:808::", "3fff::1", "3fff:1000::1", "4000::1", "5f00::1", "fbff::1", "fc00::", "fdff::1", "fe00::1", "fe80::1", "febf::1", "fec0::1", "ff02::1",
    ]), @"
    ::                           Unusable
    ::1                          Loopback
    ::2                          Transition
    ::127.0.0.1                  Transition
    ::8.8.8.8                    Transition
    ::ffff:127.0.0.1             Loopback
    ::ffff:10.0.0.1              Private
    ::ffff:8.8.8.8               Public
    ::ffff:0:8.8.8.8             Transition
    64:ff9b::8.8.8.8             Public
    64:ff9b::10.0.0.1            Private
    64:ff9b::127.0.0.1           Loopback
    64:ff9b:1::8.8.8.8           Private
    100::1                       Unusable
    2001::1                      Transition
    2001:db8::1                  Reserved
    2001:1ff::1                  Reserved
    2001:200::1                  Public
    2001:4860:4860::8888         Public
    2002:7f00:1::                Transition
    2002:808:808::               Transition
    3fff::1                      Reserved
    3fff:1000::1                 Public
    4000::1                      Unusable
    5f00::1                      Unusable
    fbff::1                      Unusable
    fc00::                       Private
    fdff::1                      Private
    fe00::1                      Unusable
    fe80::1                      LinkLocal
    febf::1                      LinkLocal
    fec0::1                      Private
    ff02::1                      Unusable
    ");
}

#[test]
fn net_08_metadata_by_every_address() {
    insta::assert_snapshot!(table(&[
        "169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::169.254.169.254", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "169.254.170.2", "169.254.169.255",
    ]), @"
    169.254.169.254              Metadata
    ::ffff:169.254.169.254       Metadata
    64:ff9b::169.254.169.254     Metadata
    fd00:ec2::254                Metadata
    fd00:ec2::23                 Metadata
    fd20:ce::254                 Metadata
    100.100.100.200              Metadata
    168.63.129.16                Metadata
    169.254.170.2                Metadata
    169.254.169.255              LinkLocal
    ");
}

#[test]
fn a_network_is_written_in_one_way() {
    let inputs = [
        "10.1.0.0/16",
        "10.1.2.3/16",
        "10.1.2.3",
        "0.0.0.0/0",
        "10.0.0.0/33",
        "10.0.0.0/+8",
        "10.0.0.0/",
        "10.0.0/8",
        "fd00::/8",
        "fd00::1/8",
        "fd00::1",
        "::/0",
        "::/129",
        "host/8",
    ];
    let table: String = inputs
        .iter()
        .map(|input| match input.parse::<Net>() {
            Ok(net) => format!("{input:<12} {net}\n"),
            Err(error) => format!("{input:<12} {error:?}\n"),
        })
        .collect();
    insta::assert_snapshot!(table, @"
    10.1.0.0/16  10.1.0.0/16
    10.1.2.3/16  HostBits
    10.1.2.3     10.1.2.3/32
    0.0.0.0/0    0.0.0.0/0
    10.0.0.0/33  Syntax
    10.0.0.0/+8  Syntax
    10.0.0.0/    Syntax
    10.0.0/8     Syntax
    fd00::/8     fd00::/8
    fd00::1/8    HostBits
    fd00::1      fd00::1/128
    ::/0         ::/0
    ::/129       Syntax
    host/8       Syntax
    ");
}

#[test]
fn a_network_holds_its_first_and_last_address() {
    let net: Net = "10.1.0.0/16".parse().expect("a network");
    let holds = |text: &str| net.contains(text.parse().expect("an address"));
    assert!(holds("10.1.0.0") && holds("10.1.255.255"));
    assert!(!holds("10.0.255.255") && !holds("10.2.0.0") && !holds("::ffff:10.1.0.0"));
    let all: Net = "::/0".parse().expect("a network");
    assert!(all.contains("::1".parse().expect("an address")));
}
