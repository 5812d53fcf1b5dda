//! A node: containerd and a kubelet in a network namespace and a mount namespace of their own.

use std::fmt;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::home::{Home, inside, program};

/// The script that containerd is started by.
const ENTER: &str = include_str!("enter_node.sh");
const ENTER_FILE: &str = "enter_node.sh";

/// The image of the process that holds a pod's namespaces. No registry has it: the kubelet finds
/// it in the node's store.
pub(super) const PAUSE_IMAGE: &str = "localhost/lazaret-pause:1";

/// One of the nodes, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node(u8);

/// How many nodes a cluster has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeCount {
    One,
    Two,
}

impl NodeCount {
    pub(super) fn parse(count: u32) -> Result<Self> {
        match count {
            1 => Ok(Self::One),
            2 => Ok(Self::Two),
            _ => bail!("--nodes takes 1 or 2, not {count}"),
        }
    }

    pub(super) fn nodes(self) -> &'static [Node] {
        match self {
            Self::One => &[Node::FIRST],
            Self::Two => &[Node::FIRST, Node::SECOND],
        }
    }
}

impl fmt::Display for NodeCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One => "one node",
            Self::Two => "two nodes",
        })
    }
}

impl Node {
    /// The node that the control plane runs on.
    pub(super) const FIRST: Self = Self(1);
    pub(super) const SECOND: Self = Self(2);

    pub(super) fn name(self) -> String {
        format!("node-{}", self.0)
    }

    pub(super) fn runtime_name(self) -> String {
        format!("containerd-{}", self.0)
    }

    pub(super) fn kubelet_name(self) -> String {
        format!("kubelet-{}", self.0)
    }

    /// Its pods' addresses.
    pub(super) fn pods(self) -> String {
        format!("10.244.{}.0/24", self.0)
    }

    /// Where containerd listens, as the host sees it.
    pub(super) fn runtime_socket(self, home: &Home) -> PathBuf {
        home.dir.join(self.name()).join("containerd.sock")
    }

    /// Writes the files of the node, and the directories that it shows at other paths.
    pub(super) fn write(self, home: &Home, address: &str) -> Result<()> {
        let dir = home.dir.join(self.name());
        for folder in ["lib/kubelet", "log", "cni", "containerd"] {
            let folder = dir.join(folder);
            fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        let files = [
            ("containerd.toml", self.runtime_settings()),
            ("cni/lazaret.conflist", self.network_settings().to_string()),
            (
                "kubelet.json",
                self.kubelet_settings(home, address).to_string(),
            ),
        ];
        for (name, text) in files {
            fs::write(dir.join(name), text).with_context(|| format!("write {name}"))?;
        }
        fs::create_dir_all(home.dir.join("volumes"))?;
        // Pods have no name server; an absent file would be an error.
        fs::write(home.dir.join("resolv.conf"), "")?;
        fs::write(home.dir.join(ENTER_FILE), ENTER).context("write the script of a node")
    }

    /// The command that becomes containerd in new namespaces.
    pub(super) fn runtime_command(self, home: &Home) -> Vec<String> {
        let cluster = home.dir.display().to_string();
        let script = home.dir.join(ENTER_FILE).display().to_string();
        let containerd = program("containerd");
        let config = self.inside("containerd.toml");
        [
            "unshare",
            "--net",
            "--mount",
            "--propagation=private",
            "sh",
            &script,
            &cluster,
            &self.name(),
            &containerd,
            "--config",
            &config,
        ]
        .map(str::to_owned)
        .to_vec()
    }

    pub(super) fn kubelet_command(self, address: &str) -> Vec<String> {
        vec![
            program("kubelet"),
            format!("--config={}", self.inside("kubelet.json")),
            format!(
                "--kubeconfig={}",
                inside(format!("pki/{}.kubeconfig", self.name()))
            ),
            "--container-runtime=remote".to_owned(),
            format!(
                "--container-runtime-endpoint=unix://{}",
                self.inside("containerd.sock")
            ),
            format!("--containerd={}", self.inside("containerd.sock")),
            format!("--hostname-override={}", self.name()),
            format!("--node-ip={address}"),
            "--volume-plugin-dir=/var/lib/kubelet/volume-plugins".to_owned(),
        ]
    }

    fn inside(self, name: &str) -> String {
        inside(format!("{}/{name}", self.name()))
    }

    fn runtime_settings(self) -> String {
        format!(
            r#"version = 2
root = "{root}"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
]

[grpc]
address = "{socket}"

[plugins."io.containerd.internal.v1.opt"]
path = "/run/containerd-opt"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE_IMAGE}"
# A user without CAP_SYS_RESOURCE cannot lower the value of a process.
restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{plugins}"
conf_dir = "{networks}"

[plugins."io.containerd.grpc.v1.cri".containerd]
default_runtime_name = "runc"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
BinaryName = "{runc}"
SystemdCgroup = false
"#,
            root = self.inside("containerd"),
            socket = self.inside("containerd.sock"),
            plugins = program("cni"),
            networks = self.inside("cni"),
            runc = program("runc"),
        )
    }

    fn network_settings(self) -> Value {
        json!({
            "cniVersion": "0.4.0",
            "name": "lazaret",
            "plugins": [{
                "type": "bridge",
                "bridge": "pods",
                "isGateway": true,
                "hairpinMode": true,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{ "subnet": self.pods() }]],
                    "routes": [{ "dst": "0.0.0.0/0" }],
                    "dataDir": "/run/cni",
                },
            }],
        })
    }

    fn kubelet_settings(self, home: &Home, address: &str) -> Value {
        json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": address,
            "authentication": {
                "anonymous": { "enabled": false },
                "webhook": { "enabled": true },
                "x509": { "clientCAFile": inside("pki/ca.crt") },
            },
            "authorization": { "mode": "Webhook" },
            "tlsCertFile": inside(format!("pki/{}.crt", self.name())),
            "tlsPrivateKeyFile": inside(format!("pki/{}.key", self.name())),
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": format!("/{}/{}", home.cgroup(), self.name()),
            "failSwapOn": false,
            "makeIPTablesUtilChains": false,
            "nodeStatusUpdateFrequency": "1s",
            "nodeStatusReportFrequency": "10s",
            "resolvConf": inside("resolv.conf"),
            "readOnlyPort": 0,
            // A full disk of the machine is not the cluster's to mend.
            "evictionHard": {
                "imagefs.available": "0%",
                "nodefs.available": "0%",
                "nodefs.inodesFree": "0%",
            },
            // Images come by hand, so a removed one would not come back.
            "imageGCHighThresholdPercent": 100,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_has_one_node_or_two() {
        assert_eq!(NodeCount::parse(1).expect("one").nodes(), [Node::FIRST]);
        assert_eq!(NodeCount::parse(2).expect("two").nodes().len(), 2);
        assert!(NodeCount::parse(0).is_err());
        assert!(NodeCount::parse(3).is_err());
    }

    #[test]
    fn settings_of_a_node_name_its_own_files() {
        let home = Home::at("/state/kubernetes".into());
        let settings = Node::SECOND.kubelet_settings(&home, "192.0.2.2");
        assert_eq!(settings["address"], "192.0.2.2");
        assert_eq!(settings["cgroupRoot"], format!("/{}/node-2", home.cgroup()));
        let text = Node::SECOND.runtime_settings();
        assert!(text.contains(r#"address = "/run/cluster/node-2/containerd.sock""#));
        assert!(!text.contains("node-1"));
        let network = Node::SECOND.network_settings();
        let subnet = &network["plugins"][0]["ipam"]["ranges"][0][0]["subnet"];
        assert_eq!(subnet, "10.244.2.0/24");
    }

    #[test]
    fn the_script_of_a_node_shows_the_cluster_where_its_settings_look() {
        assert!(ENTER.contains(&format!(" {}\n", super::super::home::INSIDE)));
    }
}
