//! That a network closes when one of the two that make it is gone (NET-23).

use rustix::process::Signal;

use super::upstream::{NAME, Upstream};
use super::{ASK, LIMIT, profile};
use crate::api::{self, Object};
use crate::ctx::{Ctx, expect, expect_eq};
use crate::watch::wait_until;

/// Requests in a row that were refused.
const REFUSED: usize = 5;

pub(super) fn net_23_a_killed_launchers_network_is_closed_before_recovery(
    ctx: &Ctx,
) -> Result<(), String> {
    let upstream = Upstream::start(ctx)?;
    let port = upstream.port;
    profile(ctx, &format!("\"{NAME}:{port}\""));
    ctx.workspace("project", "f a \"a\\n\"");
    // It goes on asking, and writes down that it was refused: who has died asks nothing either. It
    // is deaf to SIGTERM, with which PID 1 ends it, so it has 15 s for that.
    let script = format!(
        r#"{ASK}
        trap '' TERM
        while :; do
            case "$(ask {NAME}:{port} 2>/dev/null)" in
                *200*) rm -f /tmp/refused-* ; n=0 ;;
                *) echo refused > refused; n=$((n+1)); : > /tmp/refused-$n ;;
            esac
            test -e up || echo up
            touch up; sleep 0.2
        done
        "#
    );
    let running = ctx
        .script("run net -w project --name net -- bash -c", &script)
        .start()?;
    running.until_said("up")?;
    expect("it reaches", || upstream.heard() > 0)?;
    // By name: a search by labels would miss what carries none.
    let store: String = ctx.store_id().chars().take(6).collect();
    let sockets = format!("lazaret-net-{store}-egress");
    let has_sockets = || api::has_volume(&ctx.engine().socket(), &sockets);
    expect_eq("a volume for the sockets", &has_sockets()?, &true)?;
    running.signal_keeper(Signal::KILL)?;
    running.ends()?;
    let refused = |count: usize| {
        let file = format!("/tmp/refused-{count}");
        wait_until(&format!("{count} requests are refused"), || {
            ctx.asks(&["test", "-e", &file])
        })
    };
    refused(1)?;
    let heard = upstream.heard();
    refused(REFUSED)?;
    expect_eq(
        "requests that were heard meanwhile",
        &upstream.heard(),
        &heard,
    )?;
    ctx.ok("recover net")?;
    ctx.ok("diff net")?.expect_text("+refused")?;
    let left: Vec<String> = (ctx.objects()?.iter().map(ToString::to_string))
        .filter(|name| name.contains("-egress") || name.contains("-gateway"))
        .collect();
    expect_eq("what is left of the network", &left, &[""; 0])?;
    expect_eq("the volume of the sockets", &has_sockets()?, &false)?;
    ctx.ok("rm --force net")?;
    Ok(())
}

pub(super) fn net_23_a_command_goes_on_without_its_gateway(ctx: &Ctx) -> Result<(), String> {
    let upstream = Upstream::start(ctx)?;
    let port = upstream.port;
    profile(ctx, &format!("\"{NAME}:{port}\""));
    let workspace = ctx.workspace("project", "f a \"a\\n\"");
    // A tunnel that is open when the gateway dies ends as well.
    let script = format!(
        r#"{ASK}
        exec 4<>/dev/tcp/127.0.0.1/3128
        printf 'CONNECT {NAME}:{port} HTTP/1.1\r\nHost: {NAME}:{port}\r\n\r\n' >&4
        IFS= read -r -t 60 line <&4; echo "tunnel $line"
        IFS= read -r line <&4
        IFS= read -r -t 60 line <&4; test $? -le 1 && echo "tunnel ended"
        for i in 1 2 3; do echo "after $(ask {NAME}:{port} 2>/dev/null)"; done
        (exec 5<>/dev/tcp/{address}/{port}) 2>/dev/null && echo "direct"
        until test -e /tmp/end; do sleep 0.1; done; echo more >> a; exit 3
        "#,
        address = upstream.address
    );
    let running = ctx
        .script(
            "run net -w project --name net --apply auto -- bash -c",
            &script,
        )
        .start()?;
    running.wait_until("the tunnel", LIMIT, || {
        running.stdout_so_far().contains("tunnel HTTP/1.1 200")
    })?;
    let gateway = ctx.objects()?.into_iter().find(|object| {
        matches!(object, Object::Container { .. }) && object.to_string().ends_with("-gateway")
    });
    api::kill(&ctx.engine().socket(), &gateway.ok_or("no gateway")?)?;
    running.wait_until("the gateway is missed", LIMIT, || {
        running
            .stderr_so_far()
            .contains("the gateway of the session is gone")
    })?;
    ctx.tell("end")?;
    let output = running
        .wait()?
        .expect_code(3)?
        .expect_text("the gateway of the session is gone")?;
    let lines: Vec<&str> = output.stdout.lines().map(str::trim).collect();
    let seen = |wanted: &str| lines.iter().filter(|line| **line == wanted).count();
    expect("the tunnel has ended", || seen("tunnel ended") == 1)?;
    expect_eq("requests without an answer", &seen("after"), &3)?;
    expect("no way around", || seen("direct") == 0)?;
    ctx.tree_is(&workspace, "f a \"a\\nmore\\n\"\n")?;
    let left: Vec<String> = ctx.objects()?.iter().map(ToString::to_string).collect();
    expect_eq("what is left", &left, &[""; 0])
}
