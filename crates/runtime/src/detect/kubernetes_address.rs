//! `KubernetesAddress`: a namespace of a cluster, as it is typed, stored and shown.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::ChoiceError;

/// What an address begins with.
const SCHEME: &str = "k8s://";

/// `k8s://CONTEXT/NAMESPACE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubernetesAddress {
    /// The context, as the kubeconfig names it; it may hold a `/`.
    pub context: String,
    /// The namespace (RFC 1123).
    pub namespace: String,
    /// The files with contexts, which the search fills in. The first to set a value wins.
    pub kubeconfig: Vec<PathBuf>,
}

impl KubernetesAddress {
    /// Returns whether a text is meant as such an address, be it right or wrong.
    pub(super) fn is_meant_by(text: &str) -> bool {
        text.starts_with(SCHEME)
    }
}

impl fmt::Display for KubernetesAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.context, self.namespace)
    }
}

impl FromStr for KubernetesAddress {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let parsed = text.strip_prefix(SCHEME).and_then(parse);
        parsed.ok_or_else(|| ChoiceError::NoNamespace {
            text: text.to_owned(),
        })
    }
}

fn parse(text: &str) -> Option<KubernetesAddress> {
    let (context, namespace) = text.rsplit_once('/')?;
    let is_context = !context.is_empty() && !context.contains(char::is_control);
    let is_inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_namespace = (1..=63).contains(&namespace.len())
        && namespace.bytes().all(is_inside)
        && !namespace.starts_with('-')
        && !namespace.ends_with('-');
    (is_context && is_namespace).then(|| KubernetesAddress {
        context: context.to_owned(),
        namespace: namespace.to_owned(),
        kubeconfig: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_context_and_a_namespace() {
        for (text, context, namespace) in [
            ("k8s://kind-kind/agents", "kind-kind", "agents"),
            (
                "k8s://arn:aws:eks:eu-1:1:cluster/c/default",
                "arn:aws:eks:eu-1:1:cluster/c",
                "default",
            ),
        ] {
            let address: KubernetesAddress = text.parse().unwrap();
            assert_eq!(address.context, context);
            assert_eq!(address.namespace, namespace);
            assert_eq!(address.to_string(), text);
        }
        for text in [
            "k8s://",
            "k8s://context",
            "k8s:///namespace",
            "k8s://context/",
            "k8s://context/Namespace",
            "k8s://context/-n",
            "k8s://a\nb/n",
            "tcp://context/n",
        ] {
            let refused = text.parse::<KubernetesAddress>();
            assert!(
                matches!(refused, Err(ChoiceError::NoNamespace { .. })),
                "{text:?}"
            );
        }
    }
}
