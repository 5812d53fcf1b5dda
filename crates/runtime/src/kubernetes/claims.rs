//! Volumes: a claim for each (PersistentVolumeClaim).

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::{DeleteParams, PostParams};

use super::client::{CALL_LIMIT, CallContext, Inner, labels, metadata, with_label};
use super::pods;
use crate::{EngineError, VolumeInfo, VolumeName};

/// The space that a claim asks for. Many storage classes do not enforce it.
const SIZE: &str = "10Gi";

/// How long a deleted claim may take to be gone.
const REMOVAL_LIMIT: Duration = Duration::from_secs(30);

/// How often to look.
const POLL: Duration = Duration::from_millis(100);

pub(super) fn create(
    inner: &Inner,
    name: &VolumeName,
    labels: &BTreeMap<String, String>,
) -> Result<(), EngineError> {
    let claim = PersistentVolumeClaim {
        metadata: metadata(name.as_str(), labels)?,
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
            resources: Some(VolumeResourceRequirements {
                requests: Some(BTreeMap::from([(
                    "storage".to_owned(),
                    Quantity(SIZE.to_owned()),
                )])),
                limits: None,
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    };
    let call = volume("create volume", name);
    let params = PostParams::default();
    let created = inner.call(CALL_LIMIT, call, async {
        inner.claims().create(&params, &claim).await
    });
    created.map(drop)
}

pub(super) fn remove(inner: &Inner, name: &VolumeName) -> Result<(), EngineError> {
    let call = volume("remove volume", name);
    // The cluster would wait until the pod is gone, and meanwhile the claim could not be used.
    if pods::mounting(inner, name.as_str())?.next().is_some() {
        return Err(EngineError::InUse {
            what: "volume",
            name: name.as_str().to_owned(),
        });
    }
    let params = DeleteParams::background();
    inner.call(CALL_LIMIT, call, async {
        inner.claims().delete(name.as_str(), &params).await
    })?;
    let give_up = Instant::now() + REMOVAL_LIMIT;
    while Instant::now() < give_up {
        let found = inner.call(CALL_LIMIT, call, async {
            inner.claims().get_opt(name.as_str()).await
        })?;
        if found.is_none() {
            break;
        }
        // The cluster removes what it has promised to remove.
        thread::sleep(POLL);
    }
    Ok(())
}

pub(super) fn list(inner: &Inner, label_key: &str) -> Result<Vec<VolumeInfo>, EngineError> {
    let call = CallContext {
        verb: "list volumes",
        what: "namespace",
        name: &inner.address.namespace,
    };
    let params = with_label(label_key);
    let listed = inner.call(CALL_LIMIT, call, async {
        inner.claims().list(&params).await
    })?;
    let kept = (listed.items.iter()).filter(|claim| claim.metadata.deletion_timestamp.is_none());
    let volumes = kept.filter_map(|claim| {
        Some(VolumeInfo {
            name: claim.metadata.name.as_deref()?.parse().ok()?,
            labels: labels(&claim.metadata),
        })
    });
    Ok(volumes.collect())
}

fn volume<'a>(verb: &'static str, name: &'a VolumeName) -> CallContext<'a> {
    CallContext {
        verb,
        what: "volume",
        name: name.as_str(),
    }
}
