//! `ask`: one JSON object in, one out, from a session that stays ready.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::{Call, Output};
use crate::watch::wait_until;

scenarios! {
    any engine;
    "ask/answers-from-a-warm-session" => answers;
    "ask/no-answer" => no_answer;
    "ask/cap-and-spill" => cap_and_spill;
    "ask/one-turn-at-a-time" => one_turn;
    "ask/the-caller-is-killed" => caller_killed;
    "ask/bad-requests-start-nothing" => bad_requests;
}

/// An agent that does what the request says.
const AGENT: &str = r#"
read -r line
say() {
  echo "---LAZARET_OUTPUT_START:$LAZARET_ASK_NONCE---"
  echo "$1"
  echo "---LAZARET_OUTPUT_END:$LAZARET_ASK_NONCE---"
}
echo noise
case $line in
  *hello*) echo err >&2; echo seen >> seen; say "{\"status\":\"success\",\"result\":\"$(wc -l < seen)\"}" ;;
  *forged*) printf -- '---LAZARET_OUTPUT_START---\n{"status":"success"}\n---LAZARET_OUTPUT_END---\n'
    printf -- '---LAZARET_OUTPUT_START:%032d---\n{"a":1}\n---LAZARET_OUTPUT_END:%032d---\n' 0 0 ;;
  *silent*) exit 7 ;;
  *late*) trap '' TERM; say '{"status":"partial"}' ; sleep 600 ;;
  *never*) exec sleep 600 ;;
  *flood*) head -c 3000000 /dev/zero | tr '\0' x; echo; echo tail-of-it; say '{"status":"success"}' ;;
  *spilled*) say "{\"last\":\"$(tail -qn4 $LAZARET_SPILL/*.out | head -n1)\"}" ;;
  *order*) mkdir /tmp/turn || exit 9; echo x >> /tmp/order; until test -e /tmp/go; do sleep 0.05; done
    rmdir /tmp/turn; say "$line" ;;
  *hang*) trap '' HUP TERM; touch /tmp/hanging; while :; do sleep 1; done ;;
esac
"#;

fn agent(ctx: &Ctx, more: &str) {
    ctx.workspace("project", "f a \"a\\n\"\n");
    let script = serde_json::to_string(AGENT).unwrap_or_default();
    let toml = format!(
        "image = \"base\"\ncommand = [\"bash\", \"-c\", {script}]\n[ask]\noutput = \"1m\"\n{more}"
    );
    ctx.profile("nova", &toml);
}

pub(super) fn ask(ctx: &Ctx, options: &str, request: &[u8]) -> Result<Call, String> {
    let file = ctx
        .home()
        .join(format!("{:x}.json", lazaret_tests::fnv(request)));
    fs::write(&file, request).map_err(|error| error.to_string())?;
    let read = format!("exec \"$@\" < '{}'", file.display());
    let shell = ["sh", "-c", &read, "sh"].map(str::to_owned).to_vec();
    Ok(ctx
        .call(&format!("ask nova -w project {options}"))
        .behind(shell))
}

pub(super) fn asked(ctx: &Ctx, code: i32, options: &str, request: &str) -> Result<Output, String> {
    ask(ctx, options, request.as_bytes())?
        .run()?
        .expect_code(code)
}

pub(super) fn sessions(ctx: &Ctx) -> Result<Vec<Value>, String> {
    let listed = ctx.run_json("--json ls --all")?;
    Ok(listed.as_array().cloned().unwrap_or_default())
}

pub(super) fn stop(ctx: &Ctx) -> Result<(), String> {
    for session in sessions(ctx)? {
        let name = session["session"].as_str().unwrap_or_default().to_owned();
        ctx.lazaret(&["stop", &name])?.output();
        ctx.ok(&["rm", "--force", &name])?;
    }
    Ok(())
}

fn answers(ctx: &Ctx) -> Result<(), String> {
    agent(ctx, "");
    let hello = "{ \"prompt\": \"hello\" }\n";
    let first = asked(ctx, 0, "", hello)?;
    let line = "{\"status\":\"success\",\"result\":\"1\"}\n";
    expect_eq("stdout", &first.stdout.as_str(), &line)?;
    expect("its stderr is beside", || first.stderr.contains("err\n"))?;
    // The same session, and what the first turn left in it.
    let second = asked(ctx, 0, "--envelope", hello)?.json()?;
    expect_eq("the answer", &second["answer"]["result"], &Value::from("2"))?;
    expect_eq("the run", &second["run"], &Value::from(2))?;
    expect_eq("not cut", &second["truncated"], &Value::Bool(false))?;
    expect_eq("one session", &sessions(ctx)?.len(), &1)?;
    let name = second["session"].as_str().unwrap_or_default().to_owned();
    // By its name, and as a stream.
    let read = "exec \"$@\" <<'E'\n{\"prompt\":\"hello\",\"id\":\"7\"}\nE\n";
    let by_name = || {
        let shell = ["sh", "-c", read, "sh"].map(str::to_owned).to_vec();
        ctx.call(&["ask", &name, "--stream"])
            .behind(shell)
            .run()?
            .expect_code(0)
    };
    let kinds = |output: &Output| -> Vec<String> {
        let lines = output.stdout.lines();
        let lines = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines
            .filter_map(|line| line["type"].as_str().map(str::to_owned))
            .collect()
    };
    let streamed = by_name()?;
    let seen = kinds(&streamed);
    expect_eq(
        "it begins",
        &seen.first().map(String::as_str),
        &Some("start"),
    )?;
    expect("it shows output", || seen.contains(&"output".to_owned()))?;
    expect_eq("it ends", &seen[seen.len() - 2..].join(" "), "answer end")?;
    expect("the third", || streamed.stdout.contains("\"result\":\"3\""))?;
    // A request that is sent again is not run again, from wherever it comes.
    let again = by_name()?;
    expect_eq("the stored answer", &kinds(&again).join(" "), "answer end")?;
    expect("the third", || again.stdout.contains("\"result\":\"3\""))?;
    asked(ctx, 1, "", "{\"id\":\"7\",\"prompt\":\"other hello\"}")?
        .expect_text("another request with this")?;
    stop(ctx)
}

fn no_answer(ctx: &Ctx) -> Result<(), String> {
    agent(ctx, "");
    for (request, code, said) in [
        ("{\"do\":\"silent\"}", 1, "exit code 7 without an answer"),
        ("{\"do\":\"forged\"}", 1, "exit code 0 without an answer"),
    ] {
        let ended = asked(ctx, code, "", request)?;
        let object = ended.json()?;
        expect_eq("its status", &object["status"], &Value::from("error"))?;
        expect_eq("its result", &object["result"], &Value::Null)?;
        ended.expect_text(said)?;
    }
    let late = asked(ctx, 124, "--timeout 1s --envelope", "{\"do\":\"never\"}")?.json()?;
    expect_eq("it says so", &late["timed_out"], &Value::Bool(true))?;
    // What was answered in time counts.
    let late = asked(ctx, 0, "--timeout 10s", "{\"do\":\"late\"}")?;
    expect_eq(
        "stdout",
        &late.stdout.as_str(),
        &"{\"status\":\"partial\"}\n",
    )?;
    stop(ctx)
}

fn cap_and_spill(ctx: &Ctx) -> Result<(), String> {
    agent(ctx, "");
    let flood = asked(ctx, 0, "--envelope", "{\"do\":\"flood\"}")?.json()?;
    expect_eq("it was cut", &flood["truncated"], &Value::Bool(true))?;
    expect_eq(
        "the answer",
        &flood["answer"]["status"],
        &Value::from("success"),
    )?;
    expect("all is counted", || {
        flood["bytes"]["stdout"].as_u64() > Some(3_000_000)
    })?;
    expect_eq(
        "where it is",
        &flood["spill"][0],
        &Value::from("/tmp/lazaret/1.out"),
    )?;
    let read = asked(ctx, 0, "", "{\"do\":\"spilled\"}")?.json()?;
    expect_eq(
        "the next turn reads it",
        &read["last"],
        &Value::from("tail-of-it"),
    )?;
    stop(ctx)
}

fn one_turn(ctx: &Ctx) -> Result<(), String> {
    agent(ctx, "");
    let order = |number: usize| format!("{{\"do\":\"order\",\"n\":{number}}}");
    let first = ask(ctx, "", order(0).as_bytes())?.start()?;
    wait_until("the first turn runs", || {
        Ok(ctx.asks(&["test", "-e", "/tmp/order"]) == Ok(true))
    })?;
    // One that does not wait for its turn, and two that do.
    asked(ctx, 124, "--wait 1s", &order(9))?.expect_text("longer than --wait")?;
    let others = [1, 2].map(|number| {
        let call = ask(ctx, "", order(number).as_bytes())?;
        let running = call.start()?;
        Ok::<_, String>(running)
    });
    ctx.tell("go")?;
    first.wait()?.expect_code(0)?;
    for running in others {
        // A second turn at the same time would have ended with 9, without an answer.
        running?.wait()?.expect_code(0)?;
    }
    stop(ctx)
}

fn caller_killed(ctx: &Ctx) -> Result<(), String> {
    agent(ctx, "");
    let hanging = ask(ctx, "", b"{\"do\":\"hang\"}")?.start()?;
    wait_until("the turn runs", || {
        Ok(ctx.asks(&["test", "-e", "/tmp/hanging"]) == Ok(true))
    })?;
    hanging.signal(Signal::KILL)?;
    hanging.ends()?;
    // The next turn begins once nothing of it is left, though it ignores SIGHUP and SIGTERM.
    let script = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; done 2>/dev/null";
    asked(ctx, 0, "", "{\"do\":\"hello\"}")?;
    let left = [
        "sh",
        "-c",
        &format!("{script} | grep -q '[t]rap .. HUP TERM; touch'"),
    ];
    expect_eq("nothing is left", &ctx.asks(&left)?, &false)?;
    stop(ctx)
}

fn bad_requests(ctx: &Ctx) -> Result<(), String> {
    agent(ctx, "");
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(64), "]".repeat(64));
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20));
    let rows: [(&[u8], &str); 8] = [
        (b"", "the request is empty"),
        (b"[]", "not a JSON object"),
        (b"{\"a\":1} {}", "not JSON"),
        (b"{\"a\":1,\"a\":2}", "twice"),
        (b"{\"a\":\"\xff\"}", "not UTF-8"),
        (b"{\"a\":\"\\u0000\"}", "NUL"),
        (deep.as_bytes(), "deeper than 64"),
        (long.as_bytes(), "more than 1 MiB"),
    ];
    for (request, said) in rows {
        let ended = ask(ctx, "", request)?.run()?.expect_code(2)?;
        let object = ended.json()?;
        expect_eq("its status", &object["status"], &Value::from("error"))?;
        ended.expect_text(said)?;
    }
    expect_eq("nothing was started", &sessions(ctx)?.len(), &0)
}
