//! What a session reaches through its gateway, and what it does not.

use super::upstream::{NAME, Upstream};
use super::{ASK, LIMIT, profile, said};
use crate::ctx::{Ctx, expect, expect_eq};

pub(super) fn net_03_net_04_net_05_only_what_is_listed(ctx: &Ctx) -> Result<(), String> {
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
    let output = ctx.exits(
        0,
        "run net -w project --name net --keep -- bash -c",
        &script,
    )?;
    let lines: Vec<&str> = output.stdout.lines().map(str::trim_end).collect();
    let listed = said(&output.stdout, "listed");
    expect_eq("what is listed", &listed, &"HTTP/1.1 200 OK")?;
    for what in ["host", "port", "literal", "metadata"] {
        let said = said(&output.stdout, what);
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
    let log = ctx.ok("policy log net")?;
    for code in ["net.not_listed", "net.port", "net.literal"] {
        expect(code, || log.stdout.contains(code))?;
    }
    expect("the allowed one is logged", || {
        log.stdout.contains("allowed")
    })?;
    // What is kept goes on with a network of its own.
    let again = format!("{ASK} echo \"again $(ask {NAME}:{port})\"");
    let output = ctx.exits(0, "run net -w project --name net --keep -- bash -c", &again)?;
    let again = said(&output.stdout, "again");
    expect_eq("a second time", &again, &"HTTP/1.1 200 OK")?;
    ctx.ok("rm net")?;
    Ok(())
}

/// `--allow` opens one host and port to a profile without a network, for one run.
pub(super) fn what_a_run_allows(ctx: &Ctx) -> Result<(), String> {
    let upstream = Upstream::start(ctx)?;
    let port = upstream.port;
    ctx.workspace("project", "f a \"a\\n\"");
    let script = format!(
        r#"{ASK}
        echo "named $(ask {NAME}:{port})"
        echo "host $(ask other.test:{port})"
        echo "port $(ask {NAME}:22)"
        "#
    );
    let allow = format!("run base -w project --allow {NAME}:{port}");
    let output = ctx.exits(0, &format!("{allow} -- bash -c"), &script)?;
    let named = said(&output.stdout, "named");
    expect_eq("what is named", &named, &"HTTP/1.1 200 OK")?;
    for what in ["host", "port"] {
        let said = said(&output.stdout, what);
        expect(&format!("{what} is denied: {said}"), || {
            said.starts_with("HTTP/1.1 403")
        })?;
    }
    // Nothing of it is left for the next run, and a workspace's file closes it again.
    let alone = "exec 3<>/dev/tcp/127.0.0.1/3128 || echo closed";
    let output = ctx.exits(0, "run base -w project -- bash -c", alone)?;
    expect("the next run has no gateway", || {
        output.stdout.contains("closed")
    })?;
    ctx.workspace(
        "strict",
        "f lazaret.toml \"[network]\\nmode = \\\"none\\\"\\n\"",
    );
    let strict = format!("run base -w strict --allow {NAME}:{port} -- bash -c");
    let output = ctx.exits(0, &strict, alone)?;
    expect("the workspace closed it", || {
        output.stdout.contains("closed")
    })
}

pub(super) fn rules_change(ctx: &Ctx) -> Result<(), String> {
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
    let running = ctx
        .script("run net -w project --name net -- bash -c", &script)
        .start()?;
    let says = |word: &str| running.stdout_so_far().contains(word);
    running.wait_until("the first answer", LIMIT, || says("before"))?;
    let rule = format!("other.test:{port}");
    ctx.ok(&format!("policy allow net {rule}"))?;
    running.wait_until("it is open", LIMIT, || says("opened"))?;
    // Changes at the same time are all in force.
    let hosts = ["a", "b", "c", "d"].map(|host| format!("{host}.test:443"));
    let allowing = hosts
        .each_ref()
        .map(|host| ctx.spawn(&format!("policy allow net {host}")));
    for allowing in allowing {
        allowing?.wait()?.expect_code(0)?;
    }
    let shown = ctx.ok("policy show net")?;
    for host in hosts.iter().chain([&rule]) {
        expect(host, || {
            shown
                .stdout
                .lines()
                .any(|line| line.ends_with(&format!(" {host}")))
        })?;
    }
    ctx.ok(&format!("policy deny net {rule}"))?;
    let output = running.wait()?.expect_code(0)?;
    expect("it was closed before", || {
        output.stdout.contains("before HTTP/1.1 403")
    })?;
    expect("it was closed again", || output.stdout.contains("closed"))?;
    let log = ctx.ok("policy log net")?;
    log.expect_text(&format!("{rule} by {rule}: "))?
        .expect_text("(net.rule)")?;
    let late = ctx
        .lazaret(&format!("policy allow net {rule}"))?
        .expect_code(122)?;
    expect("its end is told", || {
        late.stderr.contains("no command of session net runs")
    })?;
    Ok(())
}
