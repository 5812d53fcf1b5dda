//! Keys, certificates and kubeconfigs of a cluster, made by openssl.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use xshell::{Shell, cmd};

use super::control_plane::{API_SERVICE, Part, api_url};
use super::home::Home;
use super::network::{self, API_ADDRESS};
use super::node::Node;
use crate::engines::service;

/// The system's own file would add extensions that contradict these.
const SETTINGS: &str = "[req]\ndistinguished_name = name\n[name]\n";

/// Longer than any cluster lives.
const DAYS: &str = "365";

/// The user who may do everything.
const ADMIN: &str = "admin";

/// Whom a certificate stands for.
#[derive(Debug)]
struct Identity {
    /// Name of the files.
    file: String,
    subject: String,
    /// What clients may call a server by; none for a client.
    names: Vec<String>,
}

impl Identity {
    fn client(file: &str, subject: &str) -> Self {
        Self {
            file: file.to_owned(),
            subject: subject.to_owned(),
            names: Vec::new(),
        }
    }

    fn extensions(&self) -> Vec<String> {
        let mut extensions = vec![
            "basicConstraints=critical,CA:FALSE".to_owned(),
            "extendedKeyUsage=clientAuth,serverAuth".to_owned(),
        ];
        if !self.names.is_empty() {
            extensions.push(format!("subjectAltName={}", self.names.join(",")));
        }
        extensions
    }
}

/// The API server takes organization for group and common name for user.
fn identities(nodes: &[Node]) -> Vec<Identity> {
    let mut identities = vec![
        Identity::client(ADMIN, "/O=system:masters/CN=admin"),
        Identity::client(
            Part::ControllerManager.name(),
            "/CN=system:kube-controller-manager",
        ),
        Identity::client(Part::Scheduler.name(), "/CN=system:kube-scheduler"),
        Identity::client("service-accounts", "/CN=service-accounts"),
        Identity {
            file: Part::ApiServer.name().to_owned(),
            subject: "/CN=kube-apiserver".to_owned(),
            names: vec![
                format!("IP:{API_ADDRESS}"),
                format!("IP:{API_SERVICE}"),
                "IP:127.0.0.1".to_owned(),
                "DNS:localhost".to_owned(),
                "DNS:kubernetes.default.svc".to_owned(),
            ],
        },
    ];
    identities.extend(nodes.iter().map(|node| Identity {
        file: node.name(),
        subject: format!("/O=system:nodes/CN=system:node:{}", node.name()),
        names: vec![
            format!("IP:{}", network::address(*node)),
            format!("DNS:{}", node.name()),
        ],
    }));
    identities
}

/// Makes everything below the cluster's `pki`.
pub(super) fn create(sh: &Shell, home: &Home, nodes: &[Node]) -> Result<()> {
    let pki = home.pki();
    service::create_private(&pki)?;
    let _directory = sh.push_dir(&pki);
    fs::write(pki.join("openssl.cnf"), SETTINGS).context("write openssl.cnf")?;
    let authority = Identity::client("ca", "/CN=lazaret-kubernetes");
    let may_sign = [
        "-addext",
        "basicConstraints=critical,CA:TRUE",
        "-addext",
        "keyUsage=critical,keyCertSign,digitalSignature",
    ];
    request(sh, &authority, &may_sign)?;
    for identity in identities(nodes) {
        let extensions = identity.extensions();
        let mut more = vec!["-CA", "ca.crt", "-CAkey", "ca.key"];
        more.extend(
            extensions
                .iter()
                .flat_map(|text| ["-addext", text.as_str()]),
        );
        request(sh, &identity, &more)?;
    }
    let clients = nodes.iter().map(|node| node.name());
    let parts = [Part::ControllerManager, Part::Scheduler].map(|part| part.name().to_owned());
    for client in clients.chain(parts).chain([ADMIN.to_owned()]) {
        let text = kubeconfig(sh, home, &client)?;
        fs::write(pki.join(format!("{client}.kubeconfig")), text)?;
    }
    Ok(())
}

/// Returns the kubeconfig of the user who may do everything.
pub(super) fn admin(home: &Home) -> PathBuf {
    home.pki().join(format!("{ADMIN}.kubeconfig"))
}

/// Makes a key and its certificate: of itself, or by the authority that `more` names.
fn request(sh: &Shell, identity: &Identity, more: &[&str]) -> Result<()> {
    let Identity { file, subject, .. } = identity;
    let (key, certificate) = (format!("{file}.key"), format!("{file}.crt"));
    let curve = "ec_paramgen_curve:prime256v1";
    cmd!(
        sh,
        "openssl req -x509 -config openssl.cnf -newkey ec -pkeyopt {curve} -nodes -days {DAYS}
         -subj {subject} -keyout {key} -out {certificate} {more...}"
    )
    .quiet()
    .ignore_stderr()
    .run()
    .with_context(|| format!("make the certificate of {file}"))
}

/// Returns the kubeconfig of a client, with its certificate in it, so the file may be moved.
fn kubeconfig(sh: &Shell, home: &Home, client: &str) -> Result<String> {
    let encoded = |name: &str| {
        let file = home.pki().join(name);
        cmd!(sh, "base64 --wrap=0 {file}").quiet().read()
    };
    let settings = render(&Credentials {
        authority: encoded("ca.crt")?,
        certificate: encoded(&format!("{client}.crt"))?,
        key: encoded(&format!("{client}.key"))?,
    });
    Ok(format!("{settings:#}\n"))
}

/// In base 64, as a kubeconfig holds them.
#[derive(Debug)]
struct Credentials {
    authority: String,
    certificate: String,
    key: String,
}

fn render(credentials: &Credentials) -> Value {
    let name = "lazaret";
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": name, "cluster": {
            "server": api_url(),
            "certificate-authority-data": credentials.authority,
        }}],
        "users": [{ "name": name, "user": {
            "client-certificate-data": credentials.certificate,
            "client-key-data": credentials.key,
        }}],
        "contexts": [{ "name": name, "context": { "cluster": name, "user": name }}],
        "current-context": name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_holds_all_that_a_client_needs() {
        let settings = render(&Credentials {
            authority: "YQ==".to_owned(),
            certificate: "Yg==".to_owned(),
            key: "Yw==".to_owned(),
        });
        assert_eq!(settings["clusters"][0]["cluster"]["server"], api_url());
        assert_eq!(settings["users"][0]["user"]["client-key-data"], "Yw==");
        assert_eq!(settings["current-context"], settings["contexts"][0]["name"]);
    }

    #[test]
    fn a_kubelet_is_the_node_that_it_says_and_answers_by_its_address() {
        let all = identities(&[Node::FIRST, Node::SECOND]);
        let second = all.last().expect("the second node");
        assert_eq!(second.subject, "/O=system:nodes/CN=system:node:node-2");
        let names = second.extensions().pop().expect("names");
        let address = network::address(Node::SECOND);
        assert_eq!(names, format!("subjectAltName=IP:{address},DNS:node-2"));
    }
}
