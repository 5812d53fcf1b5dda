//! Compares what a cluster has created with what it was asked for.
//!
//! A server drops fields that it does not know, and says nothing; an admission webhook may add
//! containers, volumes or variables.

use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

/// What the cluster may add to: lists of their own, such as tolerations, are never asked for.
const QUANTITIES: [&str; 3] = ["limits", "requests", "sizeLimit"];

/// Returns the first field of the pod that is not what was asked for.
pub(super) fn difference(asked: &Pod, created: &Pod) -> Option<String> {
    let value = |pod: &Pod| serde_json::to_value(&pod.spec).unwrap_or_default();
    let (asked, created) = (value(asked), value(created));
    for never in [
        "hostIPC",
        "hostNetwork",
        "hostPID",
        "shareProcessNamespace",
        "initContainers",
        "ephemeralContainers",
    ] {
        let harmless = [Value::Null, Value::Bool(false)];
        if created
            .get(never)
            .is_some_and(|found| !harmless.contains(found))
        {
            return Some(format!("spec.{never}"));
        }
    }
    differs("spec", &asked, &created)
}

fn differs(path: &str, asked: &Value, created: &Value) -> Option<String> {
    match (asked, created) {
        (Value::Object(asked), Value::Object(created)) => asked.iter().find_map(|(key, asked)| {
            let path = format!("{path}.{key}");
            match created.get(key) {
                // A server writes numbers its own way; the limits are proven from inside.
                Some(_) if QUANTITIES.contains(&&**key) => None,
                Some(created) => differs(&path, asked, created),
                // False is the default of what a server leaves out.
                None if *asked == Value::Bool(false) => None,
                None => Some(path),
            }
        }),
        (Value::Array(asked), Value::Array(created)) if asked.len() == created.len() => {
            let pairs = asked.iter().zip(created).enumerate();
            let mut found = pairs.filter_map(|(index, (asked, created))| {
                differs(&format!("{path}[{index}]"), asked, created)
            });
            found.next()
        }
        _ => (asked != created).then(|| path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(spec: Value) -> Pod {
        serde_json::from_value(json!({ "spec": spec })).expect("a pod")
    }

    fn asked() -> Value {
        json!({
            "hostname": "lazaret",
            "automountServiceAccountToken": false,
            "containers": [{
                "name": "lazaret",
                "securityContext": { "runAsNonRoot": true },
                "resources": { "limits": { "memory": "1073741824" } },
            }],
        })
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Value), expected: Option<&str>) {
        let mut created = asked();
        change(&mut created);
        let found = difference(&pod(asked()), &pod(created));
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn defaults_and_the_way_numbers_are_written_are_no_difference() {
        check(|_| {}, None);
        check(|pod| pod["dnsPolicy"] = "ClusterFirst".into(), None);
        check(
            |pod| pod["containers"][0]["resources"]["limits"]["memory"] = "1Gi".into(),
            None,
        );
        check(|pod| pod["tolerations"] = json!([{ "key": "x" }]), None);
    }

    #[test]
    fn what_was_dropped_changed_or_added_is_named() {
        let container = "spec.containers[0]";
        check(
            |pod| pod["containers"][0]["securityContext"] = json!({}),
            Some(&format!("{container}.securityContext.runAsNonRoot")),
        );
        check(
            |pod| pod["containers"][0]["resources"] = json!({}),
            Some(&format!("{container}.resources.limits")),
        );
        check(
            |pod| pod["hostname"] = "other".into(),
            Some("spec.hostname"),
        );
        check(
            |pod| pod["automountServiceAccountToken"] = true.into(),
            Some("spec.automountServiceAccountToken"),
        );
        check(|pod| pod["hostPID"] = true.into(), Some("spec.hostPID"));
        let sidecar = json!({ "name": "sidecar" });
        check(
            |pod| pod["initContainers"] = json!([sidecar]),
            Some("spec.initContainers"),
        );
        check(
            |pod| {
                pod["containers"]
                    .as_array_mut()
                    .unwrap()
                    .push(sidecar.clone())
            },
            Some("spec.containers"),
        );
    }
}
