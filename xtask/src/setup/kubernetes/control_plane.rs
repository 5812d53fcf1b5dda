//! The control plane: etcd, the API server, the controllers and the scheduler, on the first node.

use super::home::{inside, program};
use super::network::API_ADDRESS;

/// Addresses of Services. Without kube-proxy none of them answers.
const SERVICES: &str = "10.96.0.0/24";
/// The first of [`SERVICES`], which the API server gives itself.
pub(super) const API_SERVICE: &str = "10.96.0.1";
/// The port of the API server.
pub(super) const API_PORT: u16 = 6443;

/// A program of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Etcd,
    ApiServer,
    ControllerManager,
    Scheduler,
}

impl Part {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
        }
    }

    pub(super) fn command(self) -> Vec<String> {
        let mut command = vec![program(self.name())];
        command.extend(match self {
            Self::Etcd => etcd(),
            Self::ApiServer => api_server(),
            Self::ControllerManager => controller_manager(),
            Self::Scheduler => scheduler(),
        });
        command
    }
}

/// The URL of the API server, for the host and for the nodes.
pub(super) fn api_url() -> String {
    format!("https://{API_ADDRESS}:{API_PORT}")
}

/// Its data is in memory: a cluster begins empty, and ends with its processes.
fn etcd() -> Vec<String> {
    let client = "http://127.0.0.1:2379";
    let peer = "http://127.0.0.1:2380";
    vec![
        "--name=lazaret".to_owned(),
        "--data-dir=/run/etcd".to_owned(),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=lazaret={peer}"),
    ]
}

fn api_server() -> Vec<String> {
    let pki = |name: &str| inside(format!("pki/{name}"));
    vec![
        "--etcd-servers=http://127.0.0.1:2379".to_owned(),
        format!("--advertise-address={API_ADDRESS}"),
        format!("--secure-port={API_PORT}"),
        format!("--service-cluster-ip-range={SERVICES}"),
        "--authorization-mode=Node,RBAC".to_owned(),
        "--enable-admission-plugins=NodeRestriction".to_owned(),
        "--allow-privileged=true".to_owned(),
        format!("--client-ca-file={}", pki("ca.crt")),
        format!("--tls-cert-file={}", pki("kube-apiserver.crt")),
        format!("--tls-private-key-file={}", pki("kube-apiserver.key")),
        format!("--kubelet-certificate-authority={}", pki("ca.crt")),
        format!("--kubelet-client-certificate={}", pki("admin.crt")),
        format!("--kubelet-client-key={}", pki("admin.key")),
        "--kubelet-preferred-address-types=InternalIP".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", pki("service-accounts.crt")),
        format!(
            "--service-account-signing-key-file={}",
            pki("service-accounts.key")
        ),
    ]
}

fn controller_manager() -> Vec<String> {
    let pki = |name: &str| inside(format!("pki/{name}"));
    vec![
        format!("--kubeconfig={}", pki("kube-controller-manager.kubeconfig")),
        "--leader-elect=false".to_owned(),
        // The role of each controller is bound to its own account.
        "--use-service-account-credentials=true".to_owned(),
        format!("--root-ca-file={}", pki("ca.crt")),
        format!(
            "--service-account-private-key-file={}",
            pki("service-accounts.key")
        ),
        // A node is taken for usable when a round of this says so.
        "--node-monitor-period=1s".to_owned(),
        "--flex-volume-plugin-dir=/var/lib/kubelet/volume-plugins".to_owned(),
    ]
}

fn scheduler() -> Vec<String> {
    vec![
        format!("--kubeconfig={}", inside("pki/kube-scheduler.kubeconfig")),
        "--leader-elect=false".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_control_plane_is_in_the_cluster() {
        let parts = [
            Part::Etcd,
            Part::ApiServer,
            Part::ControllerManager,
            Part::Scheduler,
        ];
        for argument in parts.iter().flat_map(|part| part.command()) {
            let value = argument
                .split_once('=')
                .map_or(&*argument, |(_, value)| value);
            let is_private = ["/run/", "/var/lib/"]
                .iter()
                .any(|dir| value.starts_with(dir));
            assert!(!value.starts_with('/') || is_private, "{argument}");
        }
    }
}
