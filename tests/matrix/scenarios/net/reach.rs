//! What a session reaches through its gateway, and what it does not.

use std::time::Duration;

use rustix::process::Signal;

use super::super::Scenario;
use super::upstream::{NAME, Upstream};
use crate::ctx::{Ctx, expect, expect_eq};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "net/allowlist",
        run: net_03_net_04_net_05_only_what_is_listed,
    },
    Scenario {
        name: "net/rules-change-while-it-runs",
        run: rules_change,
    },
    Scenario {
        name: "net/launcher-killed",
        run: net_23_a_killed_launcher_leaves_nothing_open,
    },
];

/// A generous limit: only what hangs takes that long.
const LIMIT: Duration = Duration::from_secs(120);

/// `ask HOST:PORT` prints the first line that comes back for a request by the proxy.
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

fn profile(ctx: &Ctx, rules: &str) {
    ctx.profile(
        "net",
        &format!(
            "image = \"base\"\n[network]\nmode = \"allowlist\"\nallow = [{rules}]\n\
             [limits]\ntimeout = \"10m\"\n"
        ),
    );
}

fn net_03_net_04_net_05_only_what_is_listed(ctx: &Ctx) -> Result<(), String> {
    let upstream = Upstream::start(ctx)?;
    let (address, port) = (upstream.address, upstream.port);
    profile(ctx, &format!("\"{NAME}:{port}\""));
    ctx.workspace("project", "f a \"a\\n\"");
    let script = format!(
        r#"{ASK}
        test "$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ')" = lo || echo "an interface"
        echo "listed $(ask {NAME}:{port})"
        echo "host $(ask other.test:{port})"
        echo "port $(ask {NAME}:22)"
        echo "literal $(connect {address}:{port})"
        echo "metadata $(connect 169.254.169.254:80)"
        touch /egress/x 2>/dev/null && echo "writable"
        (exec 4<>/dev/tcp/{address}/{port}) 2>/dev/null && echo "direct"
        getent hosts {NAME}
        exit 0
        "#
    );
    let output = ctx
        .lazaret(&[
            "run", "net", "-w", "project", "--name", "net", "--keep", "--", "bash", "-c", &script,
        ])?
        .expect_code(0)?;
    let lines: Vec<&str> = output.stdout.lines().map(str::trim_end).collect();
    let line = |start: &str| {
        let mut found = lines.iter().filter_map(|line| line.strip_prefix(start));
        found.next().unwrap_or("nothing").trim().to_owned()
    };
    expect_eq(
        "what is listed",
        &line("listed"),
        &"HTTP/1.1 200 OK".to_owned(),
    )?;
    for what in ["host", "port", "literal", "metadata"] {
        let said = line(what);
        expect(&format!("{what} is denied: {said}"), || {
            said.starts_with("HTTP/1.1 403")
        })?;
    }
    for wrong in ["an interface", "writable", "direct"] {
        expect(wrong, || !lines.contains(&wrong))?;
    }
    expect("the name leads to the loopback", || {
        lines
            .iter()
            .any(|line| line.starts_with("127.0.0.1") && line.contains(NAME))
    })?;
    let log = ctx.lazaret(&["policy", "log", "net"])?.expect_code(0)?;
    for code in ["net.not_listed", "net.port", "net.literal"] {
        expect(code, || log.stdout.contains(code))?;
    }
    expect("the allowed one is logged", || {
        log.stdout.contains("allowed")
    })?;
    let _removed = ctx.lazaret(&["rm", "net"])?.expect_code(0)?;
    Ok(())
}

fn rules_change(ctx: &Ctx) -> Result<(), String> {
    let upstream = Upstream::start(ctx)?;
    let port = upstream.port;
    profile(ctx, &format!("\"{NAME}:{port}\""));
    ctx.workspace("project", "f a \"a\\n\"");
    let script = format!(
        r#"{ASK}
        echo "before $(ask other.test:{port})"
        until ask other.test:{port} | grep -q 200; do sleep 0.2; done
        echo opened
        while ask other.test:{port} | grep -q 200; do sleep 0.2; done
        echo closed
        "#
    );
    let running = ctx.spawn(&[
        "run", "net", "-w", "project", "--name", "net", "--", "bash", "-c", &script,
    ])?;
    let says = |word: &str| running.stdout_so_far().contains(word);
    running.wait_until("the first answer", LIMIT, || says("before"))?;
    let rule = format!("other.test:{port}");
    let _opened = ctx
        .lazaret(&["policy", "allow", "net", &rule])?
        .expect_code(0)?;
    running.wait_until("it is open", LIMIT, || says("opened"))?;
    let _closed = ctx
        .lazaret(&["policy", "deny", "net", &rule])?
        .expect_code(0)?;
    let output = running.wait()?.expect_code(0)?;
    expect("it was closed before", || {
        output.stdout.contains("before HTTP/1.1 403")
    })?;
    expect("it was closed again", || output.stdout.contains("closed"))
}

fn net_23_a_killed_launcher_leaves_nothing_open(ctx: &Ctx) -> Result<(), String> {
    let upstream = Upstream::start(ctx)?;
    let port = upstream.port;
    profile(ctx, &format!("\"{NAME}:{port}\""));
    ctx.workspace("project", "f a \"a\\n\"");
    let script = format!(r#"{ASK} ask {NAME}:{port}; sleep 600"#);
    let running = ctx.spawn(&[
        "run", "net", "-w", "project", "--name", "net", "--", "bash", "-c", &script,
    ])?;
    running.wait_until("it reaches", LIMIT, || {
        running.stdout_so_far().contains("200")
    })?;
    running.signal(Signal::KILL)?;
    let _killed = running.wait()?;
    let _recovered = ctx.lazaret(&["recover", "net"])?.expect_code(0)?;
    let left: Vec<String> = (ctx.objects()?.iter().map(ToString::to_string))
        .filter(|name| name.contains("-egress") || name.contains("-gateway"))
        .collect();
    expect_eq("what is left of the network", &left, &vec![])?;
    let _removed = ctx.lazaret(&["rm", "--force", "net"])?.expect_code(0)?;
    Ok(())
}
