//! `Plan`: what a session is to have of the network, before anything is started.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use lazaret_egress::{CERTIFICATES, GatewayConfig, HostName, Pattern, Patterns, Policy};
use lazaret_protocol::PortRoute;
use lazaret_runtime::{AliasName, EnvName, HostAlias};

/// Where the gateway's sockets are, in both containers.
pub const SOCKETS: &str = "/egress";

/// The port inside of the first broker; see [`lazaret_egress::BrokerRoute::index`].
pub const FIRST_BROKER: u16 = 8100;

/// The port inside of the HTTP proxy.
const PROXY: u16 = 3128;

/// By which variables programs find the certificates that they trust: OpenSSL, Node.js,
/// Python's requests and pip, curl, git, cargo, Deno.
const TRUSTING: &[&str] = &[
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "DENO_CERT",
];

/// What a session is to have of the network.
#[derive(Debug)]
pub struct Plan {
    /// What the gateway is told, keys included.
    pub order: GatewayConfig,
    /// What is looked for in everything that is shown or kept.
    pub patterns: Option<Patterns>,
}

impl Plan {
    /// Returns the variables by which programs inside find the way out.
    pub fn variables(&self) -> BTreeMap<EnvName, String> {
        let proxy = format!("http://127.0.0.1:{PROXY}");
        let direct = "localhost,127.0.0.1,::1";
        let pairs = [
            ("HTTP_PROXY", proxy.as_str()),
            ("HTTPS_PROXY", &proxy),
            ("ALL_PROXY", &proxy),
            ("http_proxy", &proxy),
            ("https_proxy", &proxy),
            ("all_proxy", &proxy),
            ("NO_PROXY", direct),
            ("no_proxy", direct),
        ];
        let bundle = format!("{SOCKETS}/{CERTIFICATES}");
        let trusting = match self.order.inside.is_empty() {
            true => [].as_slice(),
            false => TRUSTING,
        };
        pairs
            .into_iter()
            .chain(trusting.iter().map(|name| (*name, bundle.as_str())))
            .filter_map(|(name, value)| Some((name.parse().ok()?, value.to_owned())))
            .collect()
    }

    /// Returns the routes of `porter relay`. Ports 443 and 80 are included only if a name leads
    /// to them: otherwise Podman 4.3 lets only root listen there.
    pub fn leads(&self) -> Vec<PortRoute> {
        let by_name: &[(u16, &str)] = match aliases(&self.order.policy).is_empty() {
            true => &[],
            false => &[(443, "tls"), (80, "http")],
        };
        let fixed = [(PROXY, "proxy")]
            .iter()
            .chain(by_name)
            .map(|&(port, socket)| (port, socket.to_owned()));
        let brokers = self.order.routes.iter().map(|route| {
            let port = FIRST_BROKER + route.index;
            (port, format!("broker-{}", route.index))
        });
        let routes = fixed.chain(brokers).map(|(port, socket)| PortRoute {
            port,
            socket: format!("{SOCKETS}/{socket}.sock"),
        });
        routes.collect()
    }
}

/// Returns the names that lead to the loopback inside, for clients that know no proxy:
/// the relay's ports 443 and 80 tell them apart by what they ask for.
pub fn aliases(policy: &Policy) -> Vec<HostAlias> {
    let rules = policy.rules.iter().filter_map(|rule| match &rule.pattern {
        Pattern::Exact(name) => Some(name),
        Pattern::Below(_) => None,
    });
    let brokered = policy.brokered.iter().map(|target| &target.host);
    let mut names: Vec<&HostName> = rules.chain(brokered).collect();
    names.sort_unstable();
    names.dedup();
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    names
        .into_iter()
        .filter_map(|name| name.as_str().parse::<AliasName>().ok())
        .map(|name| HostAlias {
            name,
            address: loopback,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use lazaret_egress::{Mode, SessionLimits};
    use lazaret_protocol::Verb;

    use super::*;

    fn leads(mode: Mode, rules: &[&str]) -> Vec<String> {
        let rules = rules.iter().map(|rule| rule.parse().unwrap());
        let policy = Policy {
            mode,
            rules: rules.collect(),
            ..Policy::nothing()
        };
        let order = GatewayConfig {
            policy,
            routes: Vec::new(),
            trust: Vec::new(),
            inside: String::new(),
            caps: SessionLimits::default(),
        };
        let plan = Plan {
            order,
            patterns: None,
        };
        let verb = Verb::Relay {
            routes: plan.leads(),
        };
        verb.to_argv().split_off(1)
    }

    #[test]
    fn low_ports_are_for_names_that_lead_there() {
        let proxy = "3128=/egress/proxy.sock";
        assert_eq!(leads(Mode::Open, &[]), [proxy]);
        assert_eq!(leads(Mode::Allowlist, &["*.a.test:443"]), [proxy]);
        assert_eq!(
            leads(Mode::Allowlist, &["a.test:443"]),
            [proxy, "443=/egress/tls.sock", "80=/egress/http.sock"]
        );
    }
}
