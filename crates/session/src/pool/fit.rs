//! `Fingerprint`: what a slot was made from, in one word.

use std::fmt::Write as _;

use lazaret_tree::Digest;
use serde::{Deserialize, Serialize};

use crate::context::SessionContext;
use crate::engine::containers::ContainerPlan;

/// A digest of everything that an engine fixes when it makes a container: two with the same
/// are the same but for their names. What a command is given when it starts, such as its
/// variables and its keys, is no part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    pub(crate) fn of(cx: &SessionContext<'_>, plan: &ContainerPlan) -> Self {
        let mut text = String::new();
        let parts = [
            env!("CARGO_PKG_VERSION"),
            cx.info.endpoint.as_str(),
            plan.image.reference().as_str(),
            plan.porter.reference().as_str(),
        ];
        for part in parts {
            // Lengths, so that no two lists of parts read alike.
            let _infallible = writeln!(text, "{}:{part}", part.len());
        }
        let _infallible = writeln!(text, "{:?}", plan.limits);
        for alias in plan.hosts() {
            let _infallible = writeln!(text, "{alias:?}");
        }
        for mount in &plan.mounts {
            let _infallible = writeln!(text, "{mount:?}");
        }
        let _infallible = write!(text, "{} {:?}", plan.policy.is_some(), plan.home);
        Self(Digest::of(text.as_bytes()).to_hex())
    }
}
