//! `ClusterError`: what a Kubernetes cluster can refuse or lose.

/// What a Kubernetes cluster refused or lost. Messages are the cluster's own, and not to be trusted
/// on a terminal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// No kubeconfig has that context.
    #[error("there is no context {context:?} in {files}; there are: {known}")]
    NoContext {
        /// The context.
        context: String,
        /// Where it was looked for.
        files: String,
        /// Those that are there.
        known: String,
    },
    /// A kubeconfig can't be read, or the context in it can't be used.
    #[error("cannot read the kubeconfig: {message}")]
    Kubeconfig {
        /// Why.
        message: String,
    },
    /// The namespace does not exist.
    #[error("the cluster has no namespace {namespace:?}")]
    NoNamespace {
        /// The namespace.
        namespace: String,
    },
    /// Who the context says we are is not accepted.
    #[error("the cluster does not accept the credentials of context {context:?}: {message}")]
    Unauthorized {
        /// The context.
        context: String,
        /// The cluster's words.
        message: String,
    },
    /// A right is missing.
    #[error("missing rights in namespace {namespace:?}: {rights}")]
    MissingRights {
        /// The namespace.
        namespace: String,
        /// Which, such as `create pods/exec`.
        rights: String,
    },
    /// The cluster forbids something.
    #[error("{verb}: the cluster forbids it: {message}")]
    Forbidden {
        /// What was asked.
        verb: &'static str,
        /// The cluster's words, which name the right or the policy.
        message: String,
    },
    /// A quota of the namespace is used up.
    #[error("{verb}: the quota is used up: {message}")]
    Quota {
        /// What was asked.
        verb: &'static str,
        /// The cluster's words.
        message: String,
    },
    /// A node does not have the image.
    #[error("node {node} does not have image {image}: {message}")]
    NoImage {
        /// The node.
        node: String,
        /// The image.
        image: String,
        /// The kubelet's words.
        message: String,
    },
    /// No node takes the pod.
    #[error("no node takes pod {pod}: {message}")]
    Unschedulable {
        /// The pod.
        pod: String,
        /// The scheduler's words.
        message: String,
    },
    /// The kubelet could not start the container.
    #[error("pod {pod} does not start: {message}")]
    NotStarted {
        /// The pod.
        pod: String,
        /// The kubelet's words.
        message: String,
    },
    /// The pod was ended by the cluster, such as by an eviction.
    #[error("the cluster ended pod {pod}: {message}")]
    Evicted {
        /// The pod.
        pod: String,
        /// Why.
        message: String,
    },
    /// The node of a pod is out of reach.
    #[error("the node of pod {pod} does not answer: {message}")]
    NodeLost {
        /// The pod.
        pod: String,
        /// The cluster's words.
        message: String,
    },
    /// The cluster created something else than what it was asked for.
    #[error("the cluster changed or dropped {field} of pod {pod}")]
    Changed {
        /// The pod.
        pod: String,
        /// The field, such as `spec.securityContext.runAsNonRoot`.
        field: String,
    },
    /// A name that Kubernetes can't use.
    #[error("Kubernetes can't use the name {name:?}: it needs lower-case letters, digits and `-`")]
    Name {
        /// The name.
        name: String,
    },
}
