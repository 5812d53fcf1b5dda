//! Starts a cluster: the nodes with their links, the control plane, the kubelets.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use xshell::{Cmd, Shell, cmd};

use super::cgroups::Cgroups;
use super::control_plane::Part;
use super::daemons::{self, Daemons, State};
use super::home::{Home, inside, program};
use super::network::{self, Namespace};
use super::node::{Node, NodeCount};
use super::pki;
use crate::section::Section;

/// How long a part may take until it answers; 15 s is much on two busy processors.
const LIMIT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(200);

/// The script that makes volumes.
const PROVISION: &str = include_str!("provision.sh");

/// Starts it, and returns when a pod can be created.
pub(super) fn start(sh: &Shell, home: &Home, cgroups: &Cgroups, count: NodeCount) -> Result<()> {
    let start = Start {
        home,
        daemons: Daemons { sh, home, cgroups },
        nodes: count.nodes(),
    };
    let namespaces = {
        let _section = Section::new(sh, "start containerd");
        pki::create(sh, home, start.nodes)?;
        start.write_nodes()?;
        start.runtimes()?
    };
    {
        let _section = Section::new(sh, "start the control plane");
        start.control_plane(namespaces[0])?;
    }
    let _section = Section::new(sh, "start the kubelets");
    start.kubelets(&namespaces)?;
    start.wait_for_nodes()?;
    // Last: it says that the cluster is complete.
    fs::copy(pki::admin(home), home.kubeconfig()).context("write the kubeconfig")?;
    Ok(())
}

/// Returns kubectl as the cluster's administrator.
pub(super) fn kubectl<'a>(sh: &'a Shell, home: &Home) -> Cmd<'a> {
    let (config, cache) = (pki::admin(home), home.dir.join("kubectl"));
    sh.cmd(home.kubectl())
        // No proxy of the user's lies between the host and its own link.
        .env_clear()
        .arg("--kubeconfig")
        .arg(config)
        .arg("--cache-dir")
        .arg(cache)
        .arg("--request-timeout=5s")
        .quiet()
        .ignore_stderr()
}

#[derive(Debug)]
struct Start<'a> {
    home: &'a Home,
    daemons: Daemons<'a>,
    nodes: &'static [Node],
}

impl Start<'_> {
    fn write_nodes(&self) -> Result<()> {
        for node in self.nodes {
            self.daemons.cgroups.create_node(*node)?;
            node.write(self.home, network::address(*node))?;
        }
        Ok(())
    }

    /// Returns the namespaces of the nodes.
    fn runtimes(&self) -> Result<Vec<Namespace>> {
        let sh = self.daemons.sh;
        let mut namespaces = Vec::new();
        for node in self.nodes {
            namespaces.push(self.daemons.start_runtime(*node)?);
        }
        let image = self.home.programs().join("pause.tar");
        for node in self.nodes {
            let name = node.runtime_name();
            let version = || self.ctr(*node).arg("version").ignore_stdout().run();
            self.wait(&format!("{name} answers"), || version().is_ok())?;
            self.ctr(*node)
                .args(["--namespace=k8s.io", "images", "import"])
                .arg(&image)
                .ignore_stdout()
                .run()
                .with_context(|| format!("import the pause image into {name}"))?;
        }
        network::join_host(sh, self.home, namespaces[0])?;
        if let [first, second] = namespaces[..] {
            network::join_nodes(sh, first, second)?;
        }
        Ok(namespaces)
    }

    fn control_plane(&self, first: Namespace) -> Result<()> {
        let start = |part: Part| self.daemons.start_in(first, part.name(), &part.command());
        start(Part::Etcd)?;
        start(Part::ApiServer)?;
        let ready = || self.kubectl().args(["get", "--raw", "/readyz"]).read();
        self.wait("the API server is ready", || ready().is_ok())?;
        start(Part::ControllerManager)?;
        start(Part::Scheduler)?;
        self.create(&storage_class())?;
        self.provisioner(first)
    }

    fn provisioner(&self, node: Namespace) -> Result<()> {
        let script = self.home.dir.join("provision.sh");
        fs::write(script, PROVISION).context("write the script of the provisioner")?;
        let command = [
            "sh".to_owned(),
            inside("provision.sh"),
            program("kubectl"),
            inside("pki/admin.kubeconfig"),
            inside("volumes"),
        ];
        self.daemons.start_in(node, "provisioner", &command)
    }

    fn kubelets(&self, namespaces: &[Namespace]) -> Result<()> {
        for (node, namespace) in self.nodes.iter().zip(namespaces) {
            let command = node.kubelet_command(network::address(*node));
            let name = node.kubelet_name();
            self.daemons.start_in(*namespace, &name, &command)?;
        }
        Ok(())
    }

    /// Waits until the scheduler has where to put a pod, and the API server accepts one.
    fn wait_for_nodes(&self) -> Result<()> {
        let wanted = self.nodes.len();
        self.wait("the nodes are ready", || {
            self.get("nodes")
                .is_ok_and(|nodes| usable(&nodes) == wanted)
        })?;
        self.wait("the default service account has its token", || {
            self.get("serviceaccounts/default")
                .is_ok_and(|account| account["secrets"].is_array())
        })
    }

    fn kubectl(&self) -> Cmd<'_> {
        kubectl(self.daemons.sh, self.home)
    }

    fn get(&self, what: &str) -> Result<Value> {
        let text = self.kubectl().args(["get", what, "--output=json"]).read()?;
        serde_json::from_str(&text).with_context(|| format!("what kubectl says of {what}"))
    }

    fn create(&self, object: &Value) -> Result<()> {
        self.kubectl()
            .args(["create", "--filename=-"])
            .stdin(object.to_string())
            .ignore_stdout()
            .run()
            .with_context(|| format!("create {}", object["kind"]))
    }

    fn ctr(&self, node: Node) -> Cmd<'_> {
        let ctr = self.home.programs().join("bin/ctr");
        let socket = node.runtime_socket(self.home);
        cmd!(self.daemons.sh, "{ctr} --address {socket}")
            .quiet()
            .ignore_stderr()
    }

    /// Polls until `done`. A process that ends meanwhile ends the wait.
    fn wait(&self, what: &str, done: impl Fn() -> bool) -> Result<()> {
        let deadline = Instant::now() + LIMIT;
        while !done() {
            let ended = daemons::recorded(self.home)
                .into_iter()
                .find(|daemon| daemon.state == State::Ended);
            if let Some(daemon) = ended {
                let tail = daemons::tail(self.home, &daemon.name);
                bail!("{} ended before {what}:\n{tail}", daemon.name);
            }
            if Instant::now() >= deadline {
                bail!(
                    "cannot see that {what} within {} s; logs: {}",
                    LIMIT.as_secs(),
                    self.home.logs().display()
                );
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }
}

/// Gives a claim without a class a directory on the machine.
fn storage_class() -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": "directory",
            "annotations": { "storageclass.kubernetes.io/is-default-class": "true" },
        },
        "provisioner": "lazaret.invalid/directory",
    })
}

/// Counts the nodes that take pods.
fn usable(nodes: &Value) -> usize {
    let is_ready =
        |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
    let is_usable = |node: &&Value| {
        let conditions = node["status"]["conditions"].as_array();
        let taints = node["spec"]["taints"].as_array();
        conditions.is_some_and(|all| all.iter().any(is_ready)) && taints.is_none_or(Vec::is_empty)
    };
    let items = nodes["items"].as_array();
    items.map_or(0, |items| items.iter().filter(is_usable).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_usable_once_it_is_ready_and_has_no_taint() {
        let node = |status: &str, taints: Value| {
            json!({
                "spec": { "taints": taints },
                "status": { "conditions": [
                    { "type": "DiskPressure", "status": "False" },
                    { "type": "Ready", "status": status },
                ]},
            })
        };
        let taint = json!([{ "key": "node.kubernetes.io/not-ready" }]);
        let nodes = [
            node("True", Value::Null),
            node("False", Value::Null),
            node("True", taint),
            json!({}),
        ];
        assert_eq!(usable(&json!({ "items": nodes })), 1);
        assert_eq!(usable(&Value::Null), 0);
    }
}
