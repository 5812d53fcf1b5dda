//! What `doctor` says of one place where an engine may listen.

use lazaret_runtime::{Candidate, EngineError, EngineInfo, UserNamespace};
use lazaret_tree::escape;
use serde_json::{Value, json};

use crate::app::{App, describe};
use crate::failure::engine_hint;
use crate::ui::{TextTone, sanitize};

/// Whether an engine is simply not there, which is no fault when another one is.
pub(super) fn is_absent(error: &EngineError) -> bool {
    matches!(error, EngineError::Unreachable { .. })
}

pub(super) fn print_engine(app: &App, candidate: &Candidate, used: bool) {
    let ui = &app.ui;
    let origin = escape(candidate.origin.as_bytes());
    match &candidate.result {
        Err(error) => {
            let tone = if is_absent(error) {
                TextTone::Dim
            } else {
                TextTone::Error
            };
            let text = ui.paint_result(tone, &sanitize(&error.to_string()));
            ui.result(&format!("  - {origin}"));
            ui.result(&format!("      {text}"));
        }
        Ok(info) => {
            let mark = if used { "*" } else { "+" };
            let name = ui.paint_result(TextTone::Good, &describe(info));
            ui.result(&format!("  {mark} {name}"));
            ui.result(&format!(
                "      found by {origin} at {}",
                escape(info.endpoint.as_bytes())
            ));
            ui.result(&format!("      {}", escape(properties(info).as_bytes())));
            for control in &info.unenforceable {
                let text = format!("can't enforce {}", escape(control.to_string().as_bytes()));
                ui.result(&format!(
                    "      {}",
                    ui.paint_result(TextTone::Error, &text)
                ));
            }
            for warning in &info.warnings {
                let label = ui.paint_result(TextTone::Warning, "warning:");
                ui.result(&format!("      {label} {}", sanitize(warning)));
            }
        }
    }
}

fn properties(info: &EngineInfo) -> String {
    let mut parts = vec![
        if info.rootless { "rootless" } else { "rootful" }.to_owned(),
        user_namespace(info.user_namespace).to_owned(),
    ];
    if !info.cgroup_version.is_empty() {
        parts.push(format!("cgroup v{}", info.cgroup_version));
    }
    parts.push(format!("runtime {}", info.runtime));
    parts.push(info.architecture.clone());
    parts.join(", ")
}

pub(super) fn engine_json(candidate: &Candidate, used: bool) -> Value {
    let mut value = json!({
        "origin": candidate.origin,
        "endpoint": candidate.endpoint,
        "used": used,
        "ok": candidate.result.is_ok(),
    });
    match &candidate.result {
        Err(error) => {
            value["error"] = error.to_string().into();
            value["hint"] = engine_hint(error).into();
        }
        Ok(info) => {
            value["kind"] = info.kind.to_string().into();
            value["version"] = info.version.as_str().into();
            value["api_version"] = info.api_version.as_deref().into();
            value["rootless"] = info.rootless.into();
            value["user_namespace"] = (info.user_namespace == UserNamespace::Mapped).into();
            value["cgroup_version"] = info.cgroup_version.as_str().into();
            value["runtime"] = info.runtime.as_str().into();
            value["architecture"] = info.architecture.as_str().into();
            value["unenforceable"] = info.unenforceable.iter().map(ToString::to_string).collect();
            value["warnings"] = info.warnings.clone().into();
        }
    }
    value
}

fn user_namespace(namespace: UserNamespace) -> &'static str {
    match namespace {
        UserNamespace::Host => "no user namespace",
        UserNamespace::Mapped => "user namespace",
    }
}
