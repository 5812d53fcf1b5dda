//! Containers: a pod for each.

use std::thread;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::client::{CALL_LIMIT, CallContext, Inner, with_label};
use super::{ClusterError, pod, read_back, state};
use crate::{ContainerInfo, ContainerName, ContainerState, EngineError, HardenedSpec};

/// How long a pod may take to run. A volume may have to be made and attached.
const START_LIMIT: Duration = Duration::from_secs(300);

/// How long no node may take a pod: a volume that is being made is a reason, too.
const SCHEDULE_LIMIT: Duration = Duration::from_secs(30);

/// How much longer than its grace a container may take to end, until the kubelet says so.
const END_MARGIN: Duration = Duration::from_secs(15);

/// How long a deleted pod may take to be gone.
const REMOVAL_LIMIT: Duration = Duration::from_secs(60);

/// How often to look.
const POLL: Duration = Duration::from_millis(100);

pub(super) fn create(inner: &Inner, spec: &HardenedSpec) -> Result<(), EngineError> {
    let name = &spec.spec().name;
    let call = container("create container", name);
    let mut node = None;
    for mount in &spec.spec().volumes {
        let mut others = mounting(inner, mount.volume.as_str())?;
        node = node.or(others.find_map(|pod| pod.spec?.node_name));
    }
    let asked = pod::of(spec, node.as_deref())?;
    let params = PostParams::default();
    let created = inner.call(CALL_LIMIT, call, async {
        inner.pods().create(&params, &asked).await
    })?;
    let Some(field) = read_back::difference(&asked, &created) else {
        return Ok(());
    };
    remove(inner, name)?;
    Err(EngineError::cluster(ClusterError::Changed {
        pod: name.to_string(),
        field,
    }))
}

/// Waits until a pod runs.
pub(super) fn await_start(inner: &Inner, name: &ContainerName) -> Result<(), EngineError> {
    let begun = Instant::now();
    let mut refused = None;
    loop {
        let pod = get(inner, "start container", name)?;
        match state::of(&pod) {
            ContainerState::Running => return Ok(()),
            ContainerState::Exited { code, .. } => {
                return Err(EngineError::cluster(state::failure(&pod).unwrap_or(
                    ClusterError::NotStarted {
                        pod: name.to_string(),
                        message: format!("it ended at once, with {code}"),
                    },
                )));
            }
            _ => {}
        }
        if let Some(failure) = state::failure(&pod) {
            return Err(EngineError::cluster(failure));
        }
        let unschedulable = state::unschedulable(&pod);
        let since = unschedulable
            .as_ref()
            .map(|_| *refused.get_or_insert_with(Instant::now));
        refused = since;
        if let Some((message, since)) = unschedulable.zip(since)
            && since.elapsed() > SCHEDULE_LIMIT
        {
            return Err(EngineError::cluster(ClusterError::Unschedulable {
                pod: name.to_string(),
                message,
            }));
        }
        if begun.elapsed() > START_LIMIT {
            return Err(EngineError::cluster(ClusterError::NotStarted {
                pod: name.to_string(),
                message: format!("it does not run after {START_LIMIT:?}"),
            }));
        }
        thread::sleep(POLL);
    }
}

/// Waits until the kubelet says that a container has ended, which was asked to. One that does not
/// has its deadline moved to now: the kubelet ends it then, with the grace of its spec.
pub(super) fn await_end(
    inner: &Inner,
    name: &ContainerName,
    grace: Duration,
) -> Result<(), EngineError> {
    if ended_within(inner, name, grace + END_MARGIN)? {
        return Ok(());
    }
    let call = container("stop container", name);
    let params = PatchParams::default();
    let deadline = json!({ "spec": { "activeDeadlineSeconds": 1 } });
    let patch = Patch::Merge(deadline);
    inner.call(CALL_LIMIT, call, async {
        inner.pods().patch(name.as_str(), &params, &patch).await
    })?;
    if ended_within(inner, name, END_MARGIN * 2)? {
        return Ok(());
    }
    Err(EngineError::cluster(ClusterError::NodeLost {
        pod: name.to_string(),
        message: "its kubelet does not end it".to_owned(),
    }))
}

pub(super) fn ended_within(
    inner: &Inner,
    name: &ContainerName,
    limit: Duration,
) -> Result<bool, EngineError> {
    let give_up = Instant::now() + limit;
    loop {
        if !is_running(inner, name)? {
            return Ok(true);
        }
        if Instant::now() > give_up {
            return Ok(false);
        }
        thread::sleep(POLL);
    }
}

/// Returns whether a container runs; one that is gone does not.
pub(super) fn is_running(inner: &Inner, name: &ContainerName) -> Result<bool, EngineError> {
    let found = look_up(inner, name)?;
    Ok(found.is_some_and(|container| container.state == ContainerState::Running))
}

pub(super) fn look_up(
    inner: &Inner,
    name: &ContainerName,
) -> Result<Option<ContainerInfo>, EngineError> {
    match get(inner, "inspect container", name) {
        Ok(pod) => Ok(state::info(&pod)),
        Err(EngineError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn get(
    inner: &Inner,
    verb: &'static str,
    name: &ContainerName,
) -> Result<Pod, EngineError> {
    let call = container(verb, name);
    inner.call(CALL_LIMIT, call, async {
        inner.pods().get(name.as_str()).await
    })
}

pub(super) fn list(inner: &Inner, label_key: &str) -> Result<Vec<ContainerInfo>, EngineError> {
    let listed = list_by(inner, &with_label(label_key))?;
    let mut containers: Vec<_> = listed.iter().filter_map(state::info).collect();
    containers.retain(|container| container.labels.contains_key(label_key));
    containers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(containers)
}

fn list_by(inner: &Inner, params: &ListParams) -> Result<Vec<Pod>, EngineError> {
    let call = CallContext {
        verb: "list containers",
        what: "namespace",
        name: &inner.address.namespace,
    };
    let listed = inner.call(CALL_LIMIT, call, async { inner.pods().list(params).await })?;
    Ok(listed.items)
}

/// Returns the pods that have a claim in use.
pub(super) fn mounting(
    inner: &Inner,
    claim: &str,
) -> Result<impl Iterator<Item = Pod>, EngineError> {
    let listed = list_by(inner, &ListParams::default())?;
    Ok(listed.into_iter().filter(move |pod| {
        let has_ended = matches!(state::of(pod), ContainerState::Exited { .. });
        let volumes = pod
            .spec
            .iter()
            .flat_map(|spec| spec.volumes.iter().flatten());
        let mut claims = volumes.filter_map(|volume| volume.persistent_volume_claim.as_ref());
        !has_ended && claims.any(|found| found.claim_name == claim)
    }))
}

/// Removes a pod, and waits until its name is free.
pub(super) fn remove(inner: &Inner, name: &ContainerName) -> Result<(), EngineError> {
    let call = container("remove container", name);
    let params = DeleteParams {
        grace_period_seconds: Some(0),
        ..DeleteParams::default()
    };
    let deleted = inner.call(CALL_LIMIT, call, async {
        inner.pods().delete(name.as_str(), &params).await
    });
    match deleted {
        Ok(_) => {}
        Err(EngineError::NotFound { .. }) => return Ok(()),
        Err(error) => return Err(error),
    }
    let give_up = Instant::now() + REMOVAL_LIMIT;
    while look_up(inner, name)?.is_some() {
        if Instant::now() > give_up {
            return Err(EngineError::InUse {
                what: "container",
                name: name.to_string(),
            });
        }
        thread::sleep(POLL);
    }
    Ok(())
}

fn container<'a>(verb: &'static str, name: &'a ContainerName) -> CallContext<'a> {
    CallContext {
        verb,
        what: "container",
        name: name.as_str(),
    }
}
