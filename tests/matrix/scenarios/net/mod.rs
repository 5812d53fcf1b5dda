//! The network of a session: what is reached, what is not, and that it closes.
//!
//! Upstreams are servers of the scenario's own on this machine, at an address that is found
//! when it runs; the scenario's own `network.toml` makes it reachable.

mod closing;
mod keys;
mod reach;
mod sessions;
mod upstream;
mod walls;

use std::time::Duration;

use crate::ctx::Ctx;
pub(super) use upstream::{NAME, Upstream};

scenarios! {
    "net/allowlist" => reach::net_03_net_04_net_05_only_what_is_listed;
    "net/allowed-for-one-run" => reach::what_a_run_allows;
    "net/rules-change-while-it-runs" => reach::rules_change;
    "net/launcher-killed" => closing::net_23_a_killed_launchers_network_is_closed_before_recovery;
    "net/gateway-killed" => closing::net_23_a_command_goes_on_without_its_gateway;
    "net/walls" => walls::net_01_net_02_net_06_net_09_net_15_net_16_the_walls;
    "net/by-name" => walls::net_11_clients_that_know_no_proxy_are_led_by_name;
    "net/two-sessions" => sessions::net_24_two_sessions_know_nothing_of_each_other;
    "net/keys" => keys::net_17_18_19_20_21_22_keys_stay_outside;
}

/// A generous limit: only what hangs takes that long.
const LIMIT: Duration = Duration::from_secs(120);

/// `ask HOST:PORT` prints the first line that comes back for a request by the proxy,
/// `connect HOST:PORT` that for a tunnel.
const ASK: &str = r#"
ask() {
    exec 3<>/dev/tcp/127.0.0.1/3128 || return 9
    printf 'GET http://%s/x HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$1" "$1" >&3
    IFS= read -r -t 60 line <&3; printf '%s\n' "${line%$'\r'}"; exec 3<&-
}
connect() {
    exec 3<>/dev/tcp/127.0.0.1/3128 || return 9
    printf 'CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n' "$1" "$1" >&3
    IFS= read -r -t 60 line <&3; printf '%s\n' "${line%$'\r'}"; exec 3<&-
}
"#;

/// Makes the profile `net`, with these rules (TOML).
fn profile(ctx: &Ctx, rules: &str) {
    ctx.profile(
        "net",
        &format!(
            "image = \"base\"\n[network]\nmode = \"allowlist\"\nallow = [{rules}]\n\
             [limits]\ntimeout = \"10m\"\n"
        ),
    );
}

/// What a script said in the line that begins with `start`.
fn said<'a>(output: &'a str, start: &str) -> &'a str {
    let mut found = output.lines().filter_map(|line| line.strip_prefix(start));
    found.next().unwrap_or("nothing").trim()
}
