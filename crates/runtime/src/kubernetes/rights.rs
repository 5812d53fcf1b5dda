//! What the cluster is, and whether it lets lazaret do all that it has to.

use std::fmt;

use futures_util::future::try_join_all;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::PostParams;

use super::ClusterError;
use super::client::{CALL_LIMIT, CallContext, Inner};
use crate::EngineError;

/// A verb on a kind of objects; `subresource` is empty for the objects themselves.
struct Right {
    verb: &'static str,
    resource: &'static str,
    subresource: &'static str,
}

impl Right {
    const fn of(verb: &'static str, resource: &'static str) -> Self {
        Self {
            verb,
            resource,
            subresource: "",
        }
    }

    const fn exec(verb: &'static str) -> Self {
        Self {
            subresource: "exec",
            ..Self::of(verb, "pods")
        }
    }

    fn review(&self, namespace: &str) -> SelfSubjectAccessReview {
        let text = |text: &str| Some(text.to_owned());
        SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    namespace: text(namespace),
                    verb: text(self.verb),
                    resource: text(self.resource),
                    subresource: text(self.subresource).filter(|it| !it.is_empty()),
                    ..ResourceAttributes::default()
                }),
                non_resource_attributes: None,
            },
            ..SelfSubjectAccessReview::default()
        }
    }
}

/// What every run needs. A WebSocket asks for `get` of `pods/exec`, and newer servers ask for
/// `create` as well.
const RIGHTS: [Right; 11] = [
    Right::of("create", "pods"),
    Right::of("delete", "pods"),
    Right::of("get", "pods"),
    Right::of("list", "pods"),
    Right::of("patch", "pods"),
    Right::exec("create"),
    Right::exec("get"),
    Right::of("create", "persistentvolumeclaims"),
    Right::of("delete", "persistentvolumeclaims"),
    Right::of("get", "persistentvolumeclaims"),
    Right::of("list", "persistentvolumeclaims"),
];

/// What a cluster is.
#[derive(Debug)]
pub(super) struct Found {
    /// Its version.
    pub(super) version: String,
    /// The architecture of its API server, in Docker's words.
    pub(super) architecture: String,
}

/// Asks for the version, the namespace and every right.
///
/// # Errors
/// Names everything that is missing.
pub(super) fn probe(inner: &Inner) -> Result<Found, EngineError> {
    let call = CallContext {
        verb: "probe",
        what: "namespace",
        name: &inner.address.namespace,
    };
    let version = inner.call(CALL_LIMIT, call, inner.client.apiserver_version())?;
    let namespaces: Api<Namespace> = Api::all(inner.client.clone());
    let namespace = inner.call(CALL_LIMIT, call, namespaces.get(&inner.address.namespace));
    match namespace {
        // A right to look at namespaces is not needed.
        Ok(_) => {}
        Err(error) if error.is_forbidden() => {}
        Err(EngineError::NotFound { .. }) => {
            return Err(EngineError::cluster(ClusterError::NoNamespace {
                namespace: inner.address.namespace.clone(),
            }));
        }
        Err(error) => return Err(error),
    }
    let reviews: Api<SelfSubjectAccessReview> = Api::all(inner.client.clone());
    let params = PostParams::default();
    let asked = RIGHTS.iter().map(|right| {
        let (reviews, params, namespace) = (&reviews, &params, &inner.address.namespace);
        async move { reviews.create(params, &right.review(namespace)).await }
    });
    let answers = inner.call(CALL_LIMIT, call, try_join_all(asked))?;
    let is_missing =
        |answer: &SelfSubjectAccessReview| !answer.status.as_ref().is_some_and(|it| it.allowed);
    let missing: Vec<String> = RIGHTS
        .iter()
        .zip(&answers)
        .filter(|(_, answer)| is_missing(answer))
        .map(|(right, _)| right.to_string())
        .collect();
    if !missing.is_empty() {
        return Err(EngineError::cluster(ClusterError::MissingRights {
            namespace: inner.address.namespace.clone(),
            rights: missing.join(", "),
        }));
    }
    let architecture = version.platform.rsplit('/').next().unwrap_or_default();
    Ok(Found {
        architecture: architecture.to_owned(),
        version: version.git_version.trim_start_matches('v').to_owned(),
    })
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            verb,
            resource,
            subresource,
        } = self;
        match *subresource {
            "" => write!(f, "{verb} {resource}"),
            subresource => write!(f, "{verb} {resource}/{subresource}"),
        }
    }
}
