//! Where a pod is in its life, and why it does not go on.

use k8s_openapi::api::core::v1::{ContainerState as PodContainerState, ContainerStatus, Pod};

use super::ClusterError;
use super::client::labels;
use crate::{ContainerInfo, ContainerState};

/// The kubelet's words for the OOM killer.
const OOM_KILLED: &str = "OOMKilled";

/// The exit code where the cluster does not tell one: that of SIGKILL.
const KILLED: i32 = 137;

/// Why a container does not start, and waiting will not help.
const HOPELESS: [&str; 9] = [
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImageInspectError",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
];

/// Returns what a pod is as a container.
pub(super) fn info(pod: &Pod) -> Option<ContainerInfo> {
    Some(ContainerInfo {
        name: pod.metadata.name.as_deref()?.parse().ok()?,
        labels: labels(&pod.metadata),
        state: of(pod),
    })
}

/// Returns where a pod is in its life.
pub(super) fn of(pod: &Pod) -> ContainerState {
    if let Some(PodContainerState {
        terminated: Some(ended),
        ..
    }) = container(pod).and_then(|container| container.state.as_ref())
    {
        return ContainerState::Exited {
            code: ended.exit_code,
            oom_killed: ended.reason.as_deref() == Some(OOM_KILLED),
        };
    }
    if is_running(pod) {
        return ContainerState::Running;
    }
    if pod.metadata.deletion_timestamp.is_some() {
        return ContainerState::Transient;
    }
    match phase(pod) {
        // One that was evicted before it started, or whose node is gone, has no more to tell.
        "Failed" | "Succeeded" => ContainerState::Exited {
            code: KILLED,
            oom_killed: false,
        },
        _ => ContainerState::Created,
    }
}

fn is_running(pod: &Pod) -> bool {
    let state = container(pod).and_then(|container| container.state.as_ref());
    state.is_some_and(|state| state.running.is_some())
}

/// Returns why a pod has not started and never will, or was ended by the cluster.
pub(super) fn failure(pod: &Pod) -> Option<ClusterError> {
    let name = || pod.metadata.name.clone().unwrap_or_default();
    let node = || {
        let spec = pod.spec.as_ref();
        spec.and_then(|spec| spec.node_name.clone())
            .unwrap_or_default()
    };
    let status = pod.status.as_ref()?;
    if phase(pod) == "Failed"
        && let Some(reason) = &status.reason
    {
        let message = status.message.as_deref().unwrap_or_default();
        return Some(ClusterError::Evicted {
            pod: name(),
            message: format!("{reason}: {message}"),
        });
    }
    if status.reason.as_deref() == Some("NodeLost") {
        return Some(ClusterError::NodeLost {
            pod: name(),
            message: status.message.clone().unwrap_or_default(),
        });
    }
    let waiting = container(pod)?.state.as_ref()?.waiting.as_ref()?;
    let reason = waiting.reason.as_deref().unwrap_or_default();
    if !HOPELESS.contains(&reason) {
        return None;
    }
    let message = waiting.message.as_deref().unwrap_or_default();
    let message = format!("{reason}: {message}");
    let is_image = reason.contains("Image");
    Some(match is_image {
        true => ClusterError::NoImage {
            node: node(),
            image: image(pod),
            message,
        },
        false => ClusterError::NotStarted {
            pod: name(),
            message,
        },
    })
}

/// Returns the scheduler's words, if no node takes the pod now.
pub(super) fn unschedulable(pod: &Pod) -> Option<String> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let scheduled = conditions.iter().find(|it| it.type_ == "PodScheduled")?;
    let is_refused =
        scheduled.status == "False" && scheduled.reason.as_deref() == Some("Unschedulable");
    is_refused.then(|| scheduled.message.clone().unwrap_or_default())
}

fn phase(pod: &Pod) -> &str {
    let status = pod.status.as_ref();
    status
        .and_then(|status| status.phase.as_deref())
        .unwrap_or_default()
}

fn container(pod: &Pod) -> Option<&ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()
}

fn image(pod: &Pod) -> String {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let mut images = containers.filter_map(|container| container.image.clone());
    images.next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(status: Value) -> Pod {
        let pod = json!({
            "metadata": { "name": "p" },
            "spec": { "nodeName": "n", "containers": [{ "name": "lazaret", "image": "sha256:1" }] },
            "status": status,
        });
        serde_json::from_value(pod).expect("a pod")
    }

    fn with_state(phase: &str, state: Value) -> Pod {
        let container = json!({
            "name": "lazaret", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": state,
        });
        pod(json!({ "phase": phase, "containerStatuses": [container] }))
    }

    #[test]
    fn the_state_of_the_container_counts() {
        let exited = |code, oom_killed| ContainerState::Exited { code, oom_killed };
        let ended = |code: i32, reason: &str| {
            let ended = json!({ "terminated": { "exitCode": code, "reason": reason } });
            of(&with_state("Failed", ended))
        };
        assert_eq!(
            of(&pod(json!({ "phase": "Pending" }))),
            ContainerState::Created
        );
        let running = json!({ "running": {} });
        assert_eq!(of(&with_state("Running", running)), ContainerState::Running);
        assert_eq!(ended(3, "Error"), exited(3, false));
        assert_eq!(ended(137, "OOMKilled"), exited(137, true));
        let evicted = pod(json!({ "phase": "Failed", "reason": "Evicted" }));
        assert_eq!(of(&evicted), exited(137, false));
    }

    #[track_caller]
    fn check(pod: &Pod, expected: &str) {
        let found = failure(pod).map(|error| error.to_string());
        assert_eq!(found.as_deref().unwrap_or("none"), expected);
    }

    #[test]
    fn what_will_never_start_says_why() {
        let waiting = |reason: &str| {
            let waiting = json!({ "waiting": { "reason": reason, "message": "words" } });
            with_state("Pending", waiting)
        };
        check(&waiting("ContainerCreating"), "none");
        check(
            &waiting("ErrImageNeverPull"),
            "node n does not have image sha256:1: ErrImageNeverPull: words",
        );
        check(
            &waiting("CreateContainerError"),
            "pod p does not start: CreateContainerError: words",
        );
        let evicted = json!({ "phase": "Failed", "reason": "Evicted", "message": "low on memory" });
        check(
            &pod(evicted),
            "the cluster ended pod p: Evicted: low on memory",
        );
        let lost = json!({ "phase": "Running", "reason": "NodeLost", "message": "words" });
        check(&pod(lost), "the node of pod p does not answer: words");
    }

    #[test]
    fn a_pod_that_no_node_takes_has_the_schedulers_words() {
        let condition = |reason: &str| {
            pod(json!({ "phase": "Pending", "conditions": [{
                "type": "PodScheduled", "status": "False", "reason": reason, "message": "words",
            }] }))
        };
        assert_eq!(
            unschedulable(&condition("Unschedulable")).as_deref(),
            Some("words")
        );
        assert_eq!(unschedulable(&condition("SchedulerError")), None);
    }
}
