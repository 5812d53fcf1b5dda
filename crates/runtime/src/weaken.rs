//! Takes one control away from a container, to show that its probe can fail.
//!
//! Behind the feature `weaken`, which nothing but tests turns on. What must be proven stays
//! what it was, so the start of such a container is refused.

#[cfg(not(debug_assertions))]
compile_error!("the feature `weaken` is for tests: a release must not have it");

use std::borrow::Cow;

use lazaret_protocol::{Control, Resource, filter};
use serde_json::{Value, json};

use crate::harden::{HardenedSpec, Namespace, UserId};
use crate::{EngineKind, Role, UserNamespace, seccomp};

impl HardenedSpec {
    /// Takes `control` away, and as little else as the engine allows.
    ///
    /// `None` where it can't be taken away: the engine or host does not have it, or always
    /// has it, or it is judged from outside.
    #[must_use]
    pub fn weakened(mut self, control: Control) -> Option<Self> {
        if self.engine.not_applicable.contains_key(&control) && control != Control::ProcessLimits {
            return None;
        }
        let is_service = self.spec().role == Role::Service;
        let controls = &mut self.controls;
        match control {
            Control::User => controls.user = UserId { uid: 0, gid: 0 },
            // A process that is not root gets none of them, but may: the bounding set.
            Control::Capabilities => controls.cap_add.push("NET_RAW"),
            Control::NoNewPrivileges => controls.no_new_privileges = false,
            Control::Seccomp => controls.seccomp = profile_allowing("keyctl"),
            Control::SocketFamilies => controls.seccomp = profile_allowing("socket"),
            Control::ReadOnlyRoot => controls.read_only_rootfs = false,
            Control::Tmpfs => {
                for mount in &mut controls.tmpfs {
                    mount.options = vec!["rw", "exec", "nosuid", "nodev"];
                }
            }
            Control::Shm => controls.shm_size *= 2,
            Control::MaskedPaths => controls
                .masked_paths
                .retain(|path| *path != "/proc/interrupts"),
            Control::ReadOnlyProc => controls.read_only_paths.clear(),
            // Not readable for the agent's uid anyway: only the missing mask tells.
            Control::MaskIntegrity => controls
                .masked_paths
                .retain(|path| *path != "/proc/timer_list"),
            Control::Descriptors => controls.workdir = "/tmp".to_owned(),
            Control::UserNamespace => match self.engine.user_namespace {
                UserNamespace::Mapped => return None,
                // There is none to take away: claim that there was one.
                UserNamespace::Host => self.engine.user_namespace = UserNamespace::Mapped,
            },
            Control::Pids => controls.pids *= 2,
            Control::Memory => controls.memory_swap *= 2,
            Control::ProcessLimits => {
                controls.nano_cpus *= 2;
                // Not the two whose defaults an engine may fail to set.
                controls
                    .ulimits
                    .retain(|ulimit| matches!(ulimit.resource, Resource::Nofile | Resource::Nproc));
            }
            // From a user namespace that is another container's, the host's can't be entered.
            Control::NoNetwork if is_service => {
                controls.network = "default".into();
            }
            // The porter's filter is all there is.
            Control::NoNetwork if self.engine.kind == EngineKind::Kubernetes => {
                controls.env.remove(filter::VARIABLE);
            }
            Control::NoNetwork => controls.network = "host".into(),
            Control::NoHostMounts => controls.binds.push("/usr:/host:ro"),
            Control::EngineApi => controls
                .binds
                .push("/dev/null:/run/containerd/containerd.sock"),
            Control::Devices => controls.devices.push(("/dev/zero", "/dev/lazaret-extra")),
            Control::Namespaces => controls.pid = Namespace::Host,
            Control::Environment => {
                let value = "/tmp/agent.sock".to_owned();
                controls.env.insert("SSH_AUTH_SOCK".to_owned(), value);
            }
            Control::Terminal => controls.seccomp = profile_allowing("ioctl"),
            Control::LsmLabel | Control::Image | Control::EngineFloor => return None,
        }
        Some(self)
    }
}

/// Returns our profile with one call allowed without condition.
fn profile_allowing(call: &str) -> Cow<'static, str> {
    let mut profile: Value = serde_json::from_str(seccomp::PROFILE).expect("the profile is JSON");
    profile["syscalls"]
        .as_array_mut()
        .expect("the profile has a list of calls")
        .push(json!({"names": [call], "action": "SCMP_ACT_ALLOW", "args": []}));
    Cow::Owned(profile.to_string())
}
