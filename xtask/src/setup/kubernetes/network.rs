//! The network of a cluster: one link from the host, one between two nodes, and their routes.
//!
//! A link ends with the network namespace of either end, and that with its last process. Only the
//! host's link is removed by name, because a namespace may take a moment to end.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use xshell::{Shell, cmd};

use super::home::Home;
use super::node::Node;
use crate::engines::service;

/// Link addresses are from the range that RFC 2544 sets aside for such networks.
const HOST_ADDRESS: &str = "198.18.223.1";
/// The first node's address, where the API server listens.
pub(super) const API_ADDRESS: &str = "198.18.223.2";
/// The first node's end of the link to the second.
const FIRST_ADDRESS: &str = "198.18.223.5";
const SECOND_ADDRESS: &str = "198.18.223.6";
/// Each link has two addresses.
const PREFIX: &str = "/30";

/// The name of the first node's end of the host's link.
const CLIENTS: &str = "clients";
/// The name of both ends of the link between the nodes.
const NODES: &str = "nodes";

/// Returns the address by which the control plane reaches a node.
pub(super) fn address(node: Node) -> &'static str {
    match node {
        Node::FIRST => API_ADDRESS,
        _ => SECOND_ADDRESS,
    }
}

/// A node's network namespace, by a process in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Namespace {
    pub(super) pid: u32,
}

impl Namespace {
    fn ip(self, sh: &Shell, arguments: &[&str]) -> Result<()> {
        let pid = self.pid.to_string();
        cmd!(sh, "nsenter --target {pid} --net ip {arguments...}")
            .quiet()
            .run()?;
        Ok(())
    }

    /// Has the kernel pass packets on between pods and links, and give up a connection of an
    /// ended process at once: it would keep the namespace alive while its peer is gone.
    fn set_up(self, sh: &Shell) -> Result<()> {
        let pid = self.pid.to_string();
        let script = "cd /proc/sys/net/ipv4 && echo 1 >ip_forward && echo 1 >tcp_orphan_retries";
        cmd!(sh, "nsenter --target {pid} --net sh -c {script}")
            .quiet()
            .run()?;
        self.ip(sh, &["link", "set", "lo", "up"])
    }

    fn give_address(self, sh: &Shell, device: &str, address: &str) -> Result<()> {
        let address = format!("{address}{PREFIX}");
        self.ip(sh, &["address", "add", &address, "dev", device])?;
        self.ip(sh, &["link", "set", device, "up"])
    }
}

/// Joins the host and the first node. The alias of the link names the cluster's directory.
pub(super) fn join_host(sh: &Shell, home: &Home, first: Namespace) -> Result<()> {
    let (link, pid) = (home.link(), first.pid.to_string());
    let dir = &home.dir;
    let address = format!("{HOST_ADDRESS}{PREFIX}");
    let own = |command: xshell::Cmd<'_>| command.quiet().run();
    own(cmd!(
        sh,
        "ip link add {link} type veth peer name {CLIENTS} netns {pid}"
    ))?;
    own(cmd!(sh, "ip link set {link} alias {dir}"))?;
    own(cmd!(sh, "ip address add {address} dev {link}"))?;
    own(cmd!(sh, "ip link set {link} up"))?;
    first.set_up(sh)?;
    first.give_address(sh, CLIENTS, API_ADDRESS)
}

/// Joins the nodes, and tells each where the other's pods are.
pub(super) fn join_nodes(sh: &Shell, first: Namespace, second: Namespace) -> Result<()> {
    let pid = second.pid.to_string();
    let pair = ["link", "add", NODES, "type", "veth", "peer", "name", NODES];
    first.ip(sh, &[pair.as_slice(), &["netns", &pid]].concat())?;
    first.give_address(sh, NODES, FIRST_ADDRESS)?;
    second.set_up(sh)?;
    second.give_address(sh, NODES, SECOND_ADDRESS)?;
    let pods = Node::SECOND.pods();
    first.ip(sh, &["route", "add", &pods, "via", SECOND_ADDRESS])?;
    second.ip(sh, &["route", "add", "default", "via", FIRST_ADDRESS])
}

/// Removes the host's link, where the kernel has not done so with the nodes.
pub(super) fn part_from_host(sh: &Shell, home: &Home) -> Result<()> {
    let link = home.link();
    let is_gone = || !device(&link).exists();
    let delete = || {
        // It may end between the look and the command.
        let command = cmd!(sh, "ip link delete {link}").quiet().ignore_stderr();
        is_gone() || command.run().is_ok()
    };
    match service::wait_until(Duration::from_secs(10), delete) {
        true => Ok(()),
        false => bail!("cannot remove the link `{link}`: see `ip link delete {link}`"),
    }
}

/// Returns what the alias of a link says, if there is such a link.
pub(super) fn alias(link: &str) -> Option<String> {
    let text = fs::read_to_string(device(link).join("ifalias")).ok()?;
    Some(text.trim().to_owned())
}

fn device(link: &str) -> PathBuf {
    Path::new("/sys/class/net").join(link)
}
