//! What a group changes of its profile: limits of its own, a network that is tighter, a home that
//! is kept.

use serde::Deserialize;

use super::raw::{RawLimits, RawNetwork};
use super::source::{ProfileError, Source};
use super::{HomeKeep, NetworkMode, Profile, limits, network, tighten};

/// `limits` of a group, as they are written. Each may be lower or higher than the profile's.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct GroupLimits(RawLimits);

/// `network` of a group, as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct GroupNetwork(RawNetwork);

impl Profile {
    /// Returns the profile as a group has it. `source` is what `limits` and `network` were read
    /// from.
    ///
    /// # Errors
    /// A value that can't be, or a network that is looser than the profile's.
    pub fn of_group(
        mut self,
        source: &Source<'_>,
        limits: &GroupLimits,
        network: &GroupNetwork,
    ) -> Result<Self, ProfileError> {
        self.limits = limits::limits(source, &limits.0, &self.limits)?;
        self.limits.tmp = self.limits.tmp.min(self.limits.memory);
        self.narrow(source, &network.0)?;
        // A group has its own home, whatever the profile says.
        self.home.keep = HomeKeep::Session;
        self.home.size = None;
        Ok(self)
    }

    fn narrow(&mut self, source: &Source<'_>, raw: &RawNetwork) -> Result<(), ProfileError> {
        if let Some(port) = raw.ports.first() {
            let message = "`network.ports` is the profile's: a group publishes no port";
            return Err(source.error(&port.span(), message));
        }
        if let Some(mode) = &raw.mode {
            let (wanted, own) = (NetworkMode::from(*mode.get_ref()), self.network.mode);
            if wanted > own {
                let message = format!(
                    "`network.mode`: \"{}\" is looser than the profile's \"{}\"",
                    wanted.as_str(),
                    own.as_str()
                );
                return Err(source.error(&mode.span(), &message));
            }
        }
        tighten::network(self, source, raw, &mut Vec::new())?;
        let wanted = network::allow_rules(source, raw.allow.as_ref())?;
        let Some(allow) = &raw.allow else {
            return Ok(());
        };
        match wanted
            .iter()
            .find(|rule| !self.network.allow.contains(rule))
        {
            None => Ok(()),
            Some(rule) => {
                let message = format!("`network.allow`: the profile does not allow {rule}");
                Err(source.error(&allow.span(), &message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse;
    use super::*;

    #[derive(Deserialize)]
    struct Both {
        #[serde(default)]
        limits: GroupLimits,
        #[serde(default)]
        network: GroupNetwork,
    }

    fn narrowed(profile: &str, text: &str) -> Result<Profile, String> {
        let profile = parse(&format!("image = \"base\"\n{profile}")).unwrap();
        let Both { limits, network } = toml::from_str(text).unwrap();
        let source = Source {
            file: "groups.toml",
            text,
        };
        let narrowed = profile.of_group(&source, &limits, &network);
        narrowed.map_err(|error| error.message)
    }

    #[test]
    fn a_group_has_limits_of_its_own_and_keeps_its_home() {
        let group = narrowed(
            "home.size = \"1g\"",
            "limits = { timeout = \"10m\", pids = 64 }",
        );
        let group = group.unwrap();
        assert_eq!(group.limits.timeout.as_secs(), 600);
        assert_eq!(group.limits.pids, 64);
        assert_eq!(group.home.keep, HomeKeep::Session);
        assert_eq!(group.home.size, None);
        assert!(narrowed("", "limits.memory = \"1k\"").is_err());
    }

    #[test]
    fn the_network_of_a_group_is_tighter_or_is_refused() {
        let open = "network.mode = \"open\"";
        let listed = "network = { mode = \"allowlist\", allow = [\"*.example.org:443\"] }";
        for (profile, group) in [
            (open, "network.mode = \"none\""),
            (open, "network.allow = [\"a.example.org:443\"]"),
            (listed, "network.allow = [\"a.example.org:443\"]"),
            (listed, "network = { mode = \"none\" }"),
            (listed, ""),
        ] {
            narrowed(profile, group).unwrap();
        }
        let narrow = narrowed(listed, "network.allow = [\"a.example.org:443\"]").unwrap();
        assert_eq!(narrow.network.allow.len(), 1);
        for (profile, group) in [
            ("", "network.mode = \"open\""),
            ("", "network.mode = \"allowlist\""),
            ("", "network.allow = [\"a.example.org:443\"]"),
            (listed, "network.mode = \"open\""),
            (listed, "network.allow = [\"other.example:443\"]"),
            (listed, "network.allow = [\"a.example.org:80\"]"),
            (open, "network.ports = [\"80\"]"),
        ] {
            assert!(narrowed(profile, group).is_err(), "{profile} {group}");
        }
    }
}
