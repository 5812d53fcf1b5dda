//! The cluster of `cargo xtask setup --kubernetes`, asked by kubectl and not by lazaret.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::api::Object;

/// The programs of the cluster; `xtask/src/setup/kubernetes/home.rs` has the version too.
const PROGRAMS: &str = "programs/1.20.2/bin";

/// Scenarios that need no network, no service, no image but `base`, no root inside and no pause: what
/// an engine of a cluster has.
const SCENARIOS: &[&str] = &[
    "round-trip/nothing-changes",
    "round-trip/edit-add-delete",
    "round-trip/exit-code-of-the-command",
    "round-trip/names",
    "round-trip/names-that-stay-out",
    "round-trip/modes-links-empty-directories",
    "gate/no-terminal-is-no-yes",
    "gate/apply-never-then-diff-apply-and-undo",
    "gate/discard",
    "gate/users-edit-is-a-conflict",
    "gate/same-edit-on-both-sides",
    "gate/edits-on-both-sides-are-merged",
    "gate/allow-by-name-and-for-good",
    "gate/a-mode-alone-is-applied",
    "gate/pick-paths",
    "gate/what-waits-is-counted-and-completed",
    "gate/rm-refuses-unseen-changes",
    "gate/excluded-is-not-deleted",
    "gate/new-caches-stay-in-the-copy",
    "gate/what-git-ignores-stays-in-the-copy",
    "gate/secrets-stay-out",
    "gate/parallel-runs-on-one-workspace",
    "kept/a-second-run-sends-what-changed",
    "kept/both-sides-changed",
    "kept/pending-changes-stay-pending",
    "kept/discarded-and-run-again",
    "kept/what-was-applied-is-in-common",
    "kept/killed-while-syncing",
    "kept/interrupted-while-syncing",
    "kept/the-volume-is-gone",
    "kept/not-a-session-to-go-on-with",
    "kept/sync-at-rest-and-into-a-running-command",
    "kept/a-file-that-changes-while-it-is-read",
    "kept/another-profile",
    "kept/prune-and-recover-leave-the-volume",
    "recover/killed-while-creating",
    "recover/killed-while-the-engine-creates",
    "recover/killed-while-copying-in",
    "recover/killed-while-the-command-runs",
    "recover/killed-while-collecting",
    "recover/killed-while-undoing",
    "recover/nothing-to-do",
    "keeper/start-attach-collect",
    "keeper/stays-until-it-is-stopped",
    "keeper/exec-is-a-process-beside",
    "keeper/a-terminal-leaves-and-comes-back",
    "keeper/one-types-others-look-on",
    "keeper/a-terminal-that-is-gone",
    "keeper/begun-and-broken-off",
    "keeper/limits",
    "keeper/wait-and-events",
    "keeper/junk-on-its-socket",
    "keeper/a-run-ends-with-its-front",
    "keeper/a-run-is-reached-beside",
    "keeper/a-run-stands-in-a-pipe",
    "keeper/each-run-is-listed",
    "keeper/killed-while-the-command-runs",
    "live/diff-while-the-command-runs",
    "live/watch-until-the-command-ends",
    "live/nothing-moves-while-it-is-looked-at",
    "live/two-watches-at-once",
    "live/ctrl-c-on-a-watch",
    "live/nothing-to-look-at",
    "live/over-the-limits",
    "isolation/who-and-where",
    "isolation/root-file-system",
    "isolation/mounts-and-devices",
    "isolation/environment",
    "isolation/the-workspace-alone",
    "isolation/command-not-found",
    "times/to-the-nanosecond",
    "times/make-sees-edits-while-it-runs",
    "times/make-sees-edits-between-runs",
    "times/flt-28-closed-directories",
    "hostile/git-hook",
    "hostile/git-config",
    "hostile/git-redirected",
    "hostile/absolute-link",
    "hostile/escaping-link",
    "hostile/fifo-and-socket",
    "hostile/setuid",
    "hostile/editor-task",
    "hostile/escape-sequence-in-a-name",
    "hostile/name-that-is-no-text",
    "hostile/write-through-a-link",
    "hostile/hard-links",
    "hostile/unreadable-files",
    "hostile/deep-and-long-paths",
    "hostile/escape-sequences-in-the-output",
    "interrupt/once-while-creating",
    "interrupt/twice-while-creating",
    "interrupt/once-while-copying-in",
    "interrupt/twice-while-copying-in",
    "interrupt/once-while-the-command-runs",
    "interrupt/sigterm-while-the-command-runs",
    "interrupt/sighup-while-the-command-runs",
    "interrupt/twice-against-a-deaf-command",
    "interrupt/once-while-collecting",
    "interrupt/twice-while-collecting",
    "bad-input/unknown-profile-key",
    "bad-input/home-is-no-workspace",
    "bad-input/missing-workspace",
    "git/full-copy",
    "git/shallow-copy",
    "git/linked-worktree",
    "git/shallow-copy-of-a-worktree",
    "git/submodules",
    "git/hooks-of-a-submodule-stay-there",
    "git/forged-pointer",
    "git/who-commits-and-what-runs-by-itself",
    "git/commits-are-named-and-kept",
    "git/commits-are-landed",
    "git/bad-commits-stay",
    "git/both-sides-commit",
    "git/both-sides-commit-and-the-copy-is-shallow",
    "audit/killed-at-any-moment",
    "ask/answers-from-a-warm-session",
    "ask/no-answer",
    "ask/cap-and-spill",
    "ask/one-turn-at-a-time",
    "ask/the-caller-is-killed",
    "ask/bad-requests-start-nothing",
    "terminal/typed-seen-resized-given-back",
    "terminal/a-key-answers",
];

/// Returns whether a cluster has what a scenario needs.
pub(crate) fn runs(scenario: &str) -> bool {
    SCENARIOS.contains(&scenario)
}

/// The address that lazaret is given.
pub(crate) const ADDRESS: &str = "k8s://lazaret/default";

/// A cluster, by the directory of its state.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    state: PathBuf,
}

impl Cluster {
    /// Returns the cluster with that state; `None` for the socket of another engine.
    pub(crate) fn at(state: &Path) -> Option<Self> {
        state.ends_with("kubernetes").then(|| Self {
            state: state.to_owned(),
        })
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.state.join("kubeconfig")
    }

    pub(crate) fn answers(&self) -> bool {
        self.kubectl(&["get", "--raw", "/readyz"]).is_ok()
    }

    /// Pods and claims whose annotation is `label` (`name=value`), sorted.
    pub(crate) fn labelled(&self, label: &str) -> Result<Vec<Object>, String> {
        let (key, value) = label.split_once('=').unwrap_or((label, ""));
        let listed = self.kubectl(&["get", "pods,persistentvolumeclaims", "-o=json", "-l", key])?;
        let listed: Value = serde_json::from_str(&listed).map_err(|error| error.to_string())?;
        let items = listed["items"].as_array().into_iter().flatten();
        let ours = items.filter(|item| {
            let metadata = &item["metadata"];
            metadata["annotations"][key] == value && metadata["deletionTimestamp"].is_null()
        });
        let mut objects: Vec<Object> = ours
            .map(|item| {
                let name = item["metadata"]["name"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
                match item["kind"] == "Pod" {
                    true => Object::Container {
                        id: name.clone(),
                        name,
                    },
                    false => Object::Volume { name },
                }
            })
            .collect();
        objects.sort();
        Ok(objects)
    }

    pub(crate) fn remove(&self, object: &Object) -> Result<(), String> {
        let (kind, name) = match object {
            Object::Container { name, .. } => ("pod", name),
            Object::Volume { name } => ("persistentvolumeclaim", name),
        };
        let arguments = ["delete", kind, name, "--ignore-not-found", "--wait=false"];
        let force: &[&str] = match object {
            Object::Container { .. } => &["--force", "--grace-period=0"],
            Object::Volume { .. } => &[],
        };
        self.kubectl(&[&arguments, force].concat()).map(drop)
    }

    /// Runs a program in a pod, and returns its exit code.
    pub(crate) fn exec(&self, object: &Object, argv: &[&str]) -> Result<i64, String> {
        let name = match object {
            Object::Container { name, .. } | Object::Volume { name } => name,
        };
        let arguments = [&["exec", name, "--"][..], argv].concat();
        let output = self.command("kubectl", &arguments).unchecked().run();
        let output = output.map_err(|error| error.to_string())?;
        Ok(output.status.code().unwrap_or(-1).into())
    }

    /// Makes a claim of another owner.
    pub(crate) fn create_foreign_volume(&self, name: &str) -> Result<(), String> {
        let (store, session) = ("io.lazaret.store", "io.lazaret.session");
        let claim = serde_json::json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name,
                "labels": { store: "", session: "" },
                "annotations": { store: "0123456789abcdef", session: "lost" },
            },
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": { "requests": { "storage": "1Gi" } },
            },
        });
        let create = self.command("kubectl", &["create", "--filename=-"]);
        let created = create.stdin_bytes(claim.to_string()).stdout_null().run();
        created.map(drop).map_err(|error| error.to_string())
    }

    pub(crate) fn has(&self, kind: &str, name: &str) -> Result<bool, String> {
        let found = self.kubectl(&["get", kind, name, "--ignore-not-found", "-o=name"])?;
        Ok(!found.is_empty())
    }

    /// Imports an image into the runtime of each node.
    ///
    /// # Errors
    /// There is no node, or its runtime refuses.
    pub(crate) fn import(&self, image: &Path) -> Result<(), String> {
        let image = image.display().to_string();
        let mut nodes = 0;
        for node in 1..=2 {
            let socket = self.state.join(format!("node-{node}/containerd.sock"));
            if !socket.exists() {
                continue;
            }
            nodes += 1;
            let socket = socket.display().to_string();
            let ctr = [
                "--address",
                &socket,
                "--namespace",
                "k8s.io",
                "images",
                "import",
                &image,
            ];
            let imported = self.command("ctr", &ctr).stdout_null().run();
            imported.map_err(|error| format!("import {image}: {error}"))?;
        }
        match nodes {
            0 => Err("the cluster has no node".to_owned()),
            _ => Ok(()),
        }
    }

    fn kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        let read = self.command("kubectl", arguments).read();
        read.map_err(|error| error.to_string())
    }

    fn command(&self, program: &str, arguments: &[&str]) -> duct::Expression {
        let program = self.state.join(PROGRAMS).join(program);
        duct::cmd(program, arguments)
            .env("KUBECONFIG", self.kubeconfig())
            .stdin_null()
            .stderr_null()
    }
}
