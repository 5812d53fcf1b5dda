//! `ResourceOwner`: whose things in an engine are, and what they are called.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use lazaret_runtime::{
    ContainerName, Label, NameError, ServiceName, SessionId, VolumeId, VolumeName,
};
use lazaret_tree::{Digest, EXTRA_DIR};

/// How the role of what is a service's begins; no other role has a `_`.
const SERVICE: &str = "s_";
/// How the role of a profile's volume begins that is the session's own.
const KEPT: &str = "v_";
/// How the role of a session's copy of a shared volume begins.
const COPIED: &str = "c_";

/// The role of the volume that holds a home.
const HOME: &str = "home";

/// A session, or a place in the pool that a session may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceOwner {
    /// What labels and names say. A session that took a place from the pool keeps that
    /// place's, since an engine can't give a volume another name or label.
    pub tag: SessionId,
    /// The id of the state directory.
    pub store: String,
    /// The workspace; `None` before there is one.
    pub workspace: Option<PathBuf>,
}

impl ResourceOwner {
    /// `lazaret-<tag>-<store>-<role>`: at most 63 bytes, so within every engine's grammar.
    /// The start of the store's id keeps the sessions of two users apart that share an
    /// engine and like the same names.
    pub(crate) fn name<N: FromStr<Err = NameError>>(&self, role: &str) -> N {
        let store: String = self.store.chars().take(6).collect();
        match format!("lazaret-{}-{store}-{role}", self.tag).parse() {
            Ok(name) => name,
            Err(error) => unreachable!("a session's and a store's names make valid ones: {error}"),
        }
    }

    /// Names the volume that holds the copy.
    pub fn volume(&self) -> VolumeName {
        self.name("workspace")
    }

    /// Names the container that the command runs in.
    pub fn agent(&self) -> ContainerName {
        self.name("agent")
    }

    /// Names the volume that holds the sockets of the gateway.
    pub fn sockets(&self) -> VolumeName {
        self.name("egress")
    }

    /// Names the container of the gateway.
    pub fn gateway(&self) -> ContainerName {
        self.name("gateway")
    }

    /// Names the container that makes entries of the volume root's, or gives them back.
    pub fn guard(&self) -> ContainerName {
        self.name("guard")
    }

    /// Names the container of a service. With the longest name it has 63 bytes.
    pub fn service(&self, name: &ServiceName) -> ContainerName {
        self.name(&format!("{SERVICE}{name}"))
    }

    /// Names the volume of a service.
    pub fn service_volume(&self, name: &ServiceName) -> VolumeName {
        self.name(&format!("{SERVICE}{name}"))
    }

    /// Names the container that gives a service's volume to the agent's user.
    pub fn service_guard(&self, name: &ServiceName) -> ContainerName {
        self.name(&format!("g_{name}"))
    }

    /// Names the volume that holds the home of the command, if that is kept.
    pub fn home_volume(&self) -> VolumeName {
        self.name(HOME)
    }

    /// Names the container that gives that volume to the agent's user.
    pub fn home_guard(&self) -> ContainerName {
        self.name("homeguard")
    }

    /// Names the container that removes lent files from a home.
    pub fn home_cleaner(&self) -> ContainerName {
        self.name("homeclean")
    }

    /// Names a volume of the profile that stays until the owner is removed.
    pub fn kept_volume(&self, id: &VolumeId) -> VolumeName {
        self.name(&format!("{KEPT}{id}"))
    }

    /// Names the owner's copy of a shared volume.
    pub fn copied_volume(&self, id: &VolumeId) -> VolumeName {
        self.name(&format!("{COPIED}{id}"))
    }

    /// Names the container that gives a volume of the profile to the agent's user.
    pub fn volume_guard(&self, id: &VolumeId) -> ContainerName {
        self.name(&format!("w_{id}"))
    }

    /// Names the container that copies a shared volume.
    pub fn volume_copier(&self, id: &VolumeId) -> ContainerName {
        self.name(&format!("x_{id}"))
    }

    /// Names the volume that holds other directories of the host.
    pub fn extra_volume(&self) -> VolumeName {
        self.name(EXTRA_DIR)
    }

    /// Names the container that gives that volume to the agent's user.
    pub fn extra_guard(&self) -> ContainerName {
        self.name("extraguard")
    }

    /// Names the container that fills it.
    pub fn extra_copier(&self) -> ContainerName {
        self.name("extracopier")
    }

    /// Returns the labels of something that belongs to it.
    pub fn labels(&self, role: &str) -> BTreeMap<String, String> {
        let mut labels = vec![
            (Label::Session, self.tag.to_string()),
            (Label::Role, role.to_owned()),
            (Label::Version, env!("CARGO_PKG_VERSION").to_owned()),
            (Label::Store, self.store.clone()),
        ];
        if let Some(workspace) = &self.workspace {
            let digest = Digest::of(workspace.as_os_str().as_encoded_bytes()).to_hex();
            labels.push((Label::Workspace, digest.chars().take(16).collect()));
        }
        labels
            .into_iter()
            .map(|(label, value)| (label.key().to_owned(), value))
            .collect()
    }
}

/// Returns whether a volume of ours stays until its session is removed, by its name: a service's
/// data, a home, or one of the profile.
pub fn is_lasting_volume(name: &VolumeName) -> bool {
    has_role(name.as_str(), &[SERVICE, KEPT]) || is_home_volume(name)
}

/// Returns whether commands inside write to a volume of ours, by its name, beside that of the
/// workspace.
pub(crate) fn is_written_inside(name: &VolumeName) -> bool {
    has_role(name.as_str(), &[SERVICE, KEPT, COPIED]) || is_home_volume(name)
}

/// Returns whether a volume of ours is a home, by its name.
pub fn is_home_volume(name: &VolumeName) -> bool {
    name.as_str().rsplit('-').next() == Some(HOME)
}

/// Returns whether a container of ours is a service's, by its name.
pub fn is_service(name: &ContainerName) -> bool {
    has_role(name.as_str(), &[SERVICE])
}

fn has_role(name: &str, starts: &[&str]) -> bool {
    let role = name.rsplit('-').next();
    role.is_some_and(|role| starts.iter().any(|start| role.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_volume_is_for_is_known_by_its_name() {
        let owner = ResourceOwner {
            tag: "a-session-with-the-longest-name-ever".parse().unwrap(),
            store: "0123456789abcdef".to_owned(),
            workspace: None,
        };
        let name: ServiceName = "databases".parse().unwrap();
        assert_eq!(owner.tag.as_str().len(), 36);
        assert_eq!(owner.service(&name).as_str().len(), 63);
        assert!(is_service(&owner.service(&name)));
        assert!(!is_service(&owner.service_guard(&name)));
        let id: VolumeId = "caches123".parse().unwrap();
        let volumes = [
            (owner.volume(), [false, false]),
            (owner.service_volume(&name), [true, true]),
            (owner.home_volume(), [true, true]),
            (owner.kept_volume(&id), [true, true]),
            (owner.copied_volume(&id), [false, true]),
            (owner.extra_volume(), [false, false]),
        ];
        for (volume, expected) in volumes {
            let found = [is_lasting_volume(&volume), is_written_inside(&volume)];
            assert_eq!(found, expected, "{volume}");
        }
        assert_eq!(owner.volume_copier(&id).as_str().len(), 63);
        assert_eq!(owner.extra_copier().as_str().len(), 63);
    }
}
