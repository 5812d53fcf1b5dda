//! The text of the profile that `init` writes.

use std::fmt::Write as _;

use super::project::{Project, Toolchain};
use crate::profile::{NetworkMode, Profile};

/// What the profile is made from.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    /// The profile that it extends.
    pub(super) agent: &'a Profile,
    /// What the project is worked on with.
    pub(super) project: &'a Project,
    /// The directory, as an absolute path.
    pub(super) dir: &'a str,
}

impl Draft<'_> {
    /// Names the image: the agent's with the project's toolchains.
    pub(super) fn image(&self) -> String {
        let mut images: Vec<&str> = match self.agent.image.as_str() {
            // Every image has it below.
            "base" if !self.project.toolchains.is_empty() => Vec::new(),
            image => image.split('+').collect(),
        };
        for toolchain in &self.project.toolchains {
            if !images.contains(&toolchain.image()) {
                images.push(toolchain.image());
            }
        }
        images.join("+")
    }

    /// Lists the presets of the project's toolchains.
    pub(super) fn presets(&self) -> Vec<&'static str> {
        let toolchains = self.project.toolchains.iter();
        let git = self.project.git_dependencies.then_some("@github");
        toolchains
            .map(|toolchain| toolchain.preset())
            .chain(git)
            .collect()
    }

    /// Returns the TOML.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        let quoted = |text: &str| toml::Value::from(text).to_string();
        out.push_str(
            "# Written by `lazaret init`; yours to change. Keys: `lazaret profile schema`.\n",
        );
        line(&mut out, "extends", &quoted(&self.agent.name));
        line(&mut out, "projects", &format!("[{}]", quoted(self.dir)));
        if self.image() != self.agent.image {
            line(&mut out, "image", &quoted(&self.image()));
        }
        self.network(&mut out);
        if self.project.toolchains.contains(&Toolchain::Rust) {
            out.push_str("\n# Room for rustc and the linker.\n[limits]\n");
            out.push_str("memory = \"6g\"\ntmp = \"1g\"\n");
        }
        if !self.project.toolchains.is_empty() {
            out.push_str("\n# Downloads lie beside the home, and last as long as the session.\n");
        }
        for toolchain in &self.project.toolchains {
            out.push_str("[[volumes]]\n");
            line(&mut out, "cache", &quoted(toolchain.cache()));
        }
        out
    }

    fn network(&self, out: &mut String) {
        let presets = self.presets();
        if presets.is_empty() || self.agent.network.mode == NetworkMode::Open {
            return;
        }
        out.push_str("\n# Where dependencies come from");
        if !self.agent.network.allow.is_empty() {
            out.push_str(", beside the agent's own hosts");
        }
        out.push_str(".\n[network]\n");
        if self.agent.network.mode == NetworkMode::None {
            out.push_str("mode = \"allowlist\"\n");
        }
        // A list replaces that of the extended profile.
        let own = self.agent.network.allow.iter().map(ToString::to_string);
        let all = own.chain(presets.into_iter().map(str::to_owned));
        let all: Vec<_> = all
            .map(|entry| toml::Value::from(entry).to_string())
            .collect();
        line(out, "allow", &format!("[{}]", all.join(", ")));
    }
}

fn line(out: &mut String, key: &str, value: &str) {
    let _ = writeln!(out, "{key} = {value}");
}
