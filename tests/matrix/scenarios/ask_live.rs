//! `ask` with `mode = "live"`: one process for many requests, and what replaces it.

use rustix::process::Signal;
use serde_json::Value;

use super::ask::{ask, asked, sessions, stop};
use crate::ctx::{Ctx, expect, expect_eq};
use crate::watch::wait_until;

scenarios! {
    any engine;
    "ask/one-process-for-many-requests" => one_process;
    "ask/a-process-that-is-at-fault-is-replaced" => replaced;
    "ask/no-turn-gets-the-answer-of-another" => no_other_answer;
}

/// An agent that does what each line says.
const AGENT: &str = r#"
say() {
  echo "---LAZARET_OUTPUT_START:$LAZARET_ASK_NONCE---"
  echo "$1"
  echo "---LAZARET_OUTPUT_END:$LAZARET_ASK_NONCE---"
}
until_told() { until test -e /tmp/$1; do sleep 0.05; done; }
echo ready
count=0
while read -r line; do
  count=$((count + 1))
  case $line in
    *hello*) say "{\"pid\":$$,\"count\":$count}" ;;
    *die*) echo dying >&2; exit 7 ;;
    *junk*) say 'no object' ;;
    *hang*) trap '' HUP TERM; touch /tmp/hanging; while :; do sleep 1; done ;;
    *slow*) touch /tmp/slow; until_told go; say '{"slow":true}' ;;
    *stray*) (until_told between; say '{"stray":true}'; touch /tmp/strayed) & say '{"asked":"stray"}' ;;
    *twice*) say '{"first":true}'; say '{"second":true}' ;;
    *flood*) head -c 3000000 /dev/zero | tr '\0' x; echo; echo tail-of-it; say '{"status":"success"}' ;;
    *spilled*) say "{\"last\":\"$(tail -qn4 $LAZARET_SPILL/*.out | head -n1)\"}" ;;
  esac
done
"#;

fn agent(ctx: &Ctx) {
    ctx.workspace("project", "f a \"a\\n\"\n");
    let script = serde_json::to_string(AGENT).unwrap_or_default();
    let toml = format!(
        "image = \"base\"\ncommand = [\"bash\", \"-c\", {script}]\n\
         [ask]\nmode = \"live\"\noutput = \"1m\"\n"
    );
    ctx.profile("nova", &toml);
}

/// Says hello. Returns the process that answered, and its how many request that was.
fn hello(ctx: &Ctx) -> Result<(u64, u64), String> {
    let answer = asked(ctx, 0, "", "{\"do\":\"hello\"}")?.json()?;
    let number = |key: &str| answer[key].as_u64().ok_or_else(|| format!("{answer}"));
    Ok((number("pid")?, number("count")?))
}

fn one_process(ctx: &Ctx) -> Result<(), String> {
    agent(ctx);
    let (pid, first) = hello(ctx)?;
    expect_eq("its first", &first, &1)?;
    expect_eq("the same process", &hello(ctx)?, &(pid, 2))?;
    // A turn ends with the answer: the process has no exit code.
    let envelope = asked(ctx, 0, "--envelope", "{\"do\":\"hello\"}")?.json()?;
    expect_eq("its third", &envelope["answer"]["count"], &Value::from(3))?;
    expect_eq("it goes on", &envelope["exit_code"], &Value::Null)?;
    let flood = asked(ctx, 0, "--envelope", "{\"do\":\"flood\"}")?.json()?;
    expect_eq("it was cut", &flood["truncated"], &Value::Bool(true))?;
    let read = asked(ctx, 0, "", "{\"do\":\"spilled\"}")?.json()?;
    expect_eq("the next turn reads it", &read["last"], "tail-of-it")?;
    expect_eq("the same process", &hello(ctx)?, &(pid, 6))?;
    // One that waits for a request holds no session up; the next request starts anew.
    let name = envelope["session"].as_str().unwrap_or_default().to_owned();
    ctx.ok(&["limits", &name, "--idle", "1s"])?;
    ctx.ok(&["wait", &name, "--for", "exit", "--timeout", "5m"])?;
    expect_eq("another process", &hello(ctx)?.1, &1)?;
    expect_eq("the same session", &sessions(ctx)?.len(), &1)?;
    stop(ctx)
}

fn replaced(ctx: &Ctx) -> Result<(), String> {
    agent(ctx);
    let mut before = hello(ctx)?.0;
    for (request, code, said) in [
        ("{\"do\":\"die\"}", 1, "exit code 7 without an answer"),
        ("{\"do\":\"junk\"}", 1, "is not one JSON object"),
        ("{\"do\":\"hang\"}", 124, "reached its time limit"),
    ] {
        let options = if code == 124 { "--timeout 1s" } else { "" };
        let ended = asked(ctx, code, options, request)?;
        expect_eq("its status", &ended.json()?["status"], "error")?;
        ended.expect_text(said)?;
        let (pid, count) = hello(ctx)?;
        expect_eq(&format!("the first after {request}"), &count, &1)?;
        expect("another process", || pid != before)?;
        before = pid;
    }
    stop(ctx)
}

fn no_other_answer(ctx: &Ctx) -> Result<(), String> {
    agent(ctx);
    // Its caller is gone before it answers.
    let slow = ask(ctx, "", b"{\"do\":\"slow\"}")?.start()?;
    wait_until("the turn runs", || {
        Ok(ctx.asks(&["test", "-e", "/tmp/slow"]) == Ok(true))
    })?;
    slow.signal(Signal::KILL)?;
    slow.ends()?;
    ctx.tell("go")?;
    expect_eq("a new process", &hello(ctx)?.1, &1)?;
    // What is printed between two turns goes nowhere.
    let stray = asked(ctx, 0, "", "{\"do\":\"stray\"}")?;
    expect_eq("its answer", &stray.stdout, "{\"asked\":\"stray\"}\n")?;
    ctx.tell("between")?;
    wait_until("it was printed", || {
        ctx.asks(&["test", "-e", "/tmp/strayed"])
    })?;
    expect_eq("the same process", &hello(ctx)?.1, &3)?;
    // A turn ends with the first answer.
    let first = asked(ctx, 0, "", "{\"do\":\"twice\"}")?;
    expect_eq("the first", &first.stdout, "{\"first\":true}\n")?;
    stop(ctx)
}
