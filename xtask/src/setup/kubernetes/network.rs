//! The network of a cluster: one link from the host, one between two nodes, and their routes.
//!
//! A link ends with the network namespace of either end, and that ends with its last process. So
//! nothing here has to be taken down but the host's link, whose end may take a moment.

use std::fs;
use std::path::Path;
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

    /// Has the kernel pass packets on between pods and links.
    fn forward(self, sh: &Shell) -> Result<()> {
        let pid = self.pid.to_string();
        let script = "echo 1 >/proc/sys/net/ipv4/ip_forward";
        cmd!(sh, "nsenter --target {pid} --net sh -c {script}")
            .quiet()
            .run()?;
        Ok(())
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
    first.ip(sh, &["link", "set", "lo", "up"])?;
    first.give_address(sh, CLIENTS, API_ADDRESS)?;
    first.forward(sh)
}

/// Joins the nodes, and tells each where the other's pods are.
pub(super) fn join_nodes(sh: &Shell, first: Namespace, second: Namespace) -> Result<()> {
    let pid = second.pid.to_string();
    let pair = ["link", "add", NODES, "type", "veth", "peer", "name", NODES];
    first.ip(sh, &[pair.as_slice(), &["netns", &pid]].concat())?;
    first.give_address(sh, NODES, FIRST_ADDRESS)?;
    second.ip(sh, &["link", "set", "lo", "up"])?;
    second.give_address(sh, NODES, SECOND_ADDRESS)?;
    second.forward(sh)?;
    let pods = Node::SECOND.pods();
    first.ip(sh, &["route", "add", &pods, "via", SECOND_ADDRESS])?;
    second.ip(sh, &["route", "add", "default", "via", FIRST_ADDRESS])
}

/// Waits until the host's link is gone.
pub(super) fn wait_for_end(home: &Home) -> Result<()> {
    let link = home.link();
    match service::wait_until(Duration::from_secs(10), || !device(&link).exists()) {
        true => Ok(()),
        false => bail!("the link `{link}` is still there: `ip link delete {link}` removes it"),
    }
}

/// Returns what the alias of a link says, if there is such a link.
pub(super) fn alias(link: &str) -> Option<String> {
    let text = fs::read_to_string(device(link).join("ifalias")).ok()?;
    Some(text.trim().to_owned())
}

fn device(link: &str) -> std::path::PathBuf {
    Path::new("/sys/class/net").join(link)
}
