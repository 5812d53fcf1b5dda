//! `Endpoint`: the address of an engine's API, as it is typed, stored and shown.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::choice_error::ChoiceError;

/// The port that Docker keeps for TLS.
const TLS_PORT: u16 = 2376;

/// What names the directory of certificates in an address.
const CERTIFICATES: &str = "?certs=";

/// An address of an engine's API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A unix socket, by its absolute path.
    Unix(PathBuf),
    /// Plain TCP, `host:port`.
    Tcp(String),
    /// TCP with TLS.
    Tls(TlsAddress),
    /// A unix socket of another machine, through the user's `ssh`.
    Ssh(SshAddress),
}

/// `https://HOST:PORT?certs=DIRECTORY`, also written `tcp://HOST:2376`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsAddress {
    /// `host:port`.
    pub address: String,
    /// The directory with `ca.pem`, `cert.pem` and `key.pem`, as Docker's command names them;
    /// `None` for that of the user's surroundings, which the search fills in.
    pub certificates: Option<PathBuf>,
}

/// `ssh://[USER@]HOST[:PORT][/SOCKET]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshAddress {
    /// The user there; `None` leaves it to ssh's configuration.
    pub user: Option<String>,
    /// A host, or a name of ssh's configuration; never begins with `-`.
    pub host: String,
    /// The port; `None` leaves it to ssh's configuration.
    pub port: Option<u16>,
    /// The engine's socket on that machine; `None` for Docker's.
    pub socket: Option<PathBuf>,
    /// The program `ssh`, which the search fills in.
    pub program: Option<PathBuf>,
}

impl Endpoint {
    /// Whether what is sent can be read and changed on the way: plain TCP to another machine.
    pub fn is_open_to_the_network(&self) -> bool {
        let Self::Tcp(address) = self else {
            return false;
        };
        let host = address.rsplit_once(':').map_or("", |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let is_loopback = host == "localhost"
            || host
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback());
        !is_loopback
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp://{address}"),
            Self::Tls(TlsAddress {
                address,
                certificates,
            }) => {
                write!(f, "https://{address}")?;
                match certificates {
                    Some(directory) => write!(f, "{CERTIFICATES}{}", directory.display()),
                    None => Ok(()),
                }
            }
            Self::Ssh(address) => address.fmt(f),
        }
    }
}

impl fmt::Display for SshAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ssh://")?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        f.write_str(&self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        match &self.socket {
            Some(socket) => write!(f, "{}", socket.display()),
            None => Ok(()),
        }
    }
}

impl FromStr for Endpoint {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let unknown = || ChoiceError::NoAddress {
            text: text.to_owned(),
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(unknown)?;
        match scheme {
            "unix" => absolute(rest).map(Self::Unix),
            "tcp" | "http" => host_and_port(rest).map(|(address, port)| match port {
                TLS_PORT => Self::Tls(TlsAddress {
                    address,
                    certificates: None,
                }),
                _ => Self::Tcp(address),
            }),
            "https" => tls(rest).map(Self::Tls),
            "ssh" => ssh(rest).map(Self::Ssh),
            "npipe" => {
                return Err(ChoiceError::NamedPipe {
                    text: text.to_owned(),
                });
            }
            _ => None,
        }
        .ok_or_else(unknown)
    }
}

fn absolute(path: &str) -> Option<PathBuf> {
    let is_path = path.starts_with('/') && path.len() > 1 && !path.contains(char::is_control);
    is_path.then(|| PathBuf::from(path))
}

fn host_and_port(text: &str) -> Option<(String, u16)> {
    let address = text.strip_suffix('/').unwrap_or(text);
    let (host, port) = address.rsplit_once(':')?;
    let port = port.parse::<u16>().ok().filter(|port| *port != 0)?;
    is_host(host).then(|| (address.to_owned(), port))
}

/// `[` and `]` hold an address of IPv6, whose zone follows `%`.
fn is_host(host: &str) -> bool {
    let is_ok = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]%".contains(&byte);
    !host.is_empty() && !host.starts_with('-') && host.bytes().all(is_ok)
}

fn tls(text: &str) -> Option<TlsAddress> {
    let (address, certificates) = match text.split_once(CERTIFICATES) {
        Some((address, directory)) => (address, Some(absolute(directory)?)),
        None => (text, None),
    };
    let (address, _) = host_and_port(address)?;
    Some(TlsAddress {
        address,
        certificates,
    })
}

fn ssh(text: &str) -> Option<SshAddress> {
    let (authority, path) = text.split_at(text.find('/').unwrap_or(text.len()));
    let socket = match path {
        "" | "/" => None,
        path => Some(absolute(path)?),
    };
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let is_bare = host.ends_with(']') || !host.contains(':');
    let (host, port) = match is_bare {
        true => (host, None),
        false => {
            let (host, port) = host.rsplit_once(':')?;
            let port = port.parse::<u16>().ok().filter(|port| *port != 0)?;
            (host, Some(port))
        }
    };
    // A password would stand in every message, and ssh takes none.
    let is_user = |user: &str| {
        let is_ok = |byte: u8| byte.is_ascii_graphic() && !b":/@\\'\"`$".contains(&byte);
        !user.is_empty() && !user.starts_with('-') && user.bytes().all(is_ok)
    };
    (is_host(host) && user.is_none_or(is_user)).then(|| SshAddress {
        user: user.map(str::to_owned),
        host: host.to_owned(),
        port,
        socket,
        program: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_shown_and_parsed_again() {
        for (text, shown) in [
            ("unix:///run/x.sock", "unix:///run/x.sock"),
            ("tcp://127.0.0.1:2375", "tcp://127.0.0.1:2375"),
            ("http://h:80/", "tcp://h:80"),
            ("tcp://[::1]:2375/", "tcp://[::1]:2375"),
            ("tcp://h:2376", "https://h:2376"),
            ("https://h:8443", "https://h:8443"),
            ("https://h:2376?certs=/a b", "https://h:2376?certs=/a b"),
            ("ssh://host", "ssh://host"),
            ("ssh://host/", "ssh://host"),
            (
                "ssh://me@host:22/run/user/1/p.sock",
                "ssh://me@host:22/run/user/1/p.sock",
            ),
            ("ssh://me@[fe80::1%eth0]:22", "ssh://me@[fe80::1%eth0]:22"),
            ("ssh://[::1]", "ssh://[::1]"),
        ] {
            let endpoint = text.parse::<Endpoint>().unwrap();
            assert_eq!(endpoint.to_string(), shown, "{text:?}");
            assert_eq!(shown.parse::<Endpoint>(), Ok(endpoint), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "host",
            "unix://relative",
            "unix:///",
            "unix:///a\nb",
            "tcp://host",
            "tcp://:1",
            "tcp://h:0",
            "tcp://h:1/path",
            "tcp://-h:1",
            "https://h",
            "https://h:1?certs=relative",
            "https://h:1?other=/x",
            "ssh://",
            "ssh://@h",
            "ssh://-oProxyCommand=x",
            "ssh://-l@h",
            "ssh://me:secret@h",
            "ssh://h:x",
            "ssh://h:0",
            "ssh://h h",
            "ssh://$(x)@h",
            "ftp://h:1",
        ] {
            let refused = text.parse::<Endpoint>();
            assert!(
                matches!(refused, Err(ChoiceError::NoAddress { .. })),
                "{text:?}: {refused:?}"
            );
        }
    }

    #[test]
    fn only_plain_tcp_to_another_machine_is_open() {
        for (text, expected) in [
            ("unix:///x", false),
            ("tcp://127.0.0.1:1", false),
            ("tcp://127.9.9.9:1", false),
            ("tcp://[::1]:1", false),
            ("tcp://localhost:1", false),
            ("tcp://10.0.0.1:1", true),
            ("tcp://localhost.example.com:1", true),
            ("tcp://h:2376", false),
            ("ssh://h", false),
        ] {
            let endpoint = text.parse::<Endpoint>().unwrap();
            assert_eq!(endpoint.is_open_to_the_network(), expected, "{text:?}");
        }
    }
}
