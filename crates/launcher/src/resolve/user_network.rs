//! `UserNetwork`: what the user's own configuration opens of what is not public.
//!
//! `$XDG_CONFIG_HOME/lazaret/network.toml`, and nothing else: no profile and no workspace can
//! make a private network reachable.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use lazaret_egress::{HostName, Net, PrivateReach, Rule};
use serde::Deserialize;
use toml::Spanned;

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use crate::profile::ProfileError;

/// The file in lazaret's configuration directory.
pub const NETWORK_FILE: &str = "network.toml";

/// The most bytes of it, and of a file with certificates.
const MOST: u64 = 4 << 20;

/// The most bytes of certificates for programs inside: what the gateway may write.
const MOST_INSIDE: u64 = (1 << 20) - 1;

/// What the user's own configuration says of the network.
#[derive(Debug, Clone, Default)]
pub struct UserNetwork {
    /// What of the networks that are not public may be reached.
    pub private: PrivateReach,
    /// Certificates (PEM) that the broker trusts instead of the built-in ones.
    pub trust: Vec<String>,
    /// Certificates (PEM) that programs inside are given; empty for those of their image.
    pub inside: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(default)]
    private: Vec<Spanned<String>>,
    #[serde(default)]
    private_networks: Vec<Spanned<String>>,
    #[serde(default)]
    hosts: BTreeMap<Spanned<String>, Spanned<String>>,
    ca: Option<Spanned<PathBuf>>,
    inside_ca: Option<Spanned<PathBuf>>,
}

impl UserNetwork {
    /// Reads the file; what is not there opens nothing.
    ///
    /// # Errors
    /// Says what is wrong and where.
    pub fn load(env: &Environment) -> Result<Self, Failure> {
        let Ok(config) = env.config_dir() else {
            return Ok(Self::default());
        };
        let path = config.join(NETWORK_FILE);
        let unreadable = |error: io::Error| {
            Failure::new(FailureKind::Profile, error)
                .context(format!("{} can't be read", path.display()))
        };
        let text = match read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unreadable(error)),
        };
        let shown = path.display().to_string();
        let parsed = Self::parse(&shown, &text)?;
        let pem = |key: &str, ca: &PathBuf, most: u64| {
            let named = |failure: Failure| {
                failure.context(format!("{shown}: `{key}`: {} can't be used", ca.display()))
            };
            let text =
                read(ca).map_err(|error| named(Failure::new(FailureKind::Profile, error)))?;
            let wrong = match text.len() as u64 > most {
                true => "it is larger than a list of certificates can be",
                false if !text.contains("-----BEGIN CERTIFICATE-----") => {
                    "it holds no certificate (PEM)"
                }
                false if text.contains("PRIVATE KEY-----") => "it holds a private key",
                false => return Ok(text),
            };
            Err(named(Failure::message(FailureKind::Profile, wrong)))
        };
        let trust = parsed
            .ca
            .as_ref()
            .map(|ca| pem("ca", ca, MOST))
            .transpose()?;
        let inside = parsed.inside_ca.as_ref();
        let inside = inside
            .map(|ca| pem("inside_ca", ca, MOST_INSIDE))
            .transpose()?;
        Ok(Self {
            private: parsed.private,
            trust: trust.into_iter().collect(),
            inside: inside.unwrap_or_default(),
        })
    }

    fn parse(file: &str, text: &str) -> Result<Parsed, ProfileError> {
        let wrong = |span: std::ops::Range<usize>, message: String| {
            ProfileError::at(file, text, &span, &message)
        };
        let raw: Raw =
            toml::from_str(text).map_err(|error| ProfileError::of_toml(file, text, &error))?;
        let mut private = PrivateReach::default();
        for rule in &raw.private {
            private.names.push(
                rule.get_ref()
                    .parse::<Rule>()
                    .map_err(|error| wrong(rule.span(), format!("`private`: {error}")))?,
            );
        }
        for net in &raw.private_networks {
            private.networks.push(
                net.get_ref()
                    .parse::<Net>()
                    .map_err(|error| wrong(net.span(), format!("`private_networks`: {error}")))?,
            );
        }
        for (name, address) in &raw.hosts {
            let host = name
                .get_ref()
                .parse::<HostName>()
                .map_err(|error| wrong(name.span(), format!("`hosts`: {error}")))?;
            let address = address
                .get_ref()
                .parse::<IpAddr>()
                .map_err(|error| wrong(address.span(), format!("`hosts`: {error}")))?;
            private.hosts.insert(host, address);
        }
        for (key, ca) in [("ca", &raw.ca), ("inside_ca", &raw.inside_ca)] {
            if let Some(ca) = ca
                && !ca.get_ref().is_absolute()
            {
                let message =
                    format!("`{key}`: expected an absolute path of a file with certificates (PEM)");
                return Err(wrong(ca.span(), message));
            }
        }
        Ok(Parsed {
            private,
            ca: raw.ca.map(Spanned::into_inner),
            inside_ca: raw.inside_ca.map(Spanned::into_inner),
        })
    }
}

struct Parsed {
    private: PrivateReach,
    ca: Option<PathBuf>,
    inside_ca: Option<PathBuf>,
}

fn read(path: &std::path::Path) -> io::Result<String> {
    let found = fs::metadata(path)?;
    if !found.is_file() || found.len() > MOST {
        return Err(io::Error::other("it is no regular file, or too large"));
    }
    fs::read_to_string(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn error(text: &str) -> String {
        match UserNetwork::parse("network.toml", text) {
            Ok(_) => "accepted".to_owned(),
            Err(error) => error
                .to_string()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned(),
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        insta::assert_snapshot!(error("open = 1"), @"network.toml:1:1: unknown key `open`, expected one of `private`, `private_networks`, `hosts`, `ca`, `inside_ca`");
        insta::assert_snapshot!(error("private = [\"host.lan\"]"), @"network.toml:1:12: `private`: the rule `host.lan` has no port; write it out, as in `host.lan:443`");
        insta::assert_snapshot!(error("private_networks = [\"10.1.2.3/16\"]"), @"network.toml:1:21: `private_networks`: the address of a network has nothing after its first bits: write `10.1.0.0/16`, not `10.1.2.3/16`");
        insta::assert_snapshot!(error("[hosts]\n\"a.lan\" = \"b\""), @"network.toml:2:11: `hosts`: invalid IP address syntax");
        insta::assert_snapshot!(error("ca = \"x.pem\""), @"network.toml:1:6: `ca`: expected an absolute path of a file with certificates (PEM)");
    }

    #[test]
    fn what_is_opened_is_read() {
        let text = "private = [\"host.lan:8080\"]\nprivate_networks = [\"10.1.0.0/16\"]\n\
             [hosts]\n\"Model.LAN\" = \"10.1.0.7\"\n";
        let parsed = UserNetwork::parse("network.toml", text).unwrap();
        let [(name, address)] = parsed.private.hosts.iter().collect::<Vec<_>>()[..] else {
            panic!("{:?}", parsed.private);
        };
        assert_eq!(
            (name.as_str(), address.to_string()),
            ("model.lan", "10.1.0.7".to_owned())
        );
        assert_eq!(parsed.private.networks.len(), 1);
    }
}
