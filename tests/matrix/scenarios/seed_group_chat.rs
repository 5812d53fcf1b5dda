//! `seed`: a program that was written for its own containers, asked as it is.

use std::fs;

use serde_json::Value;

use super::group::end;
use super::group_mail::mail;
use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::{Call, Ended};

scenarios! {
    any engine;
    "seed/group-chat" => group_chat;
}

/// A chat bot's runner: it reads `ContainerInput` and prints `ContainerOutput` between its own
/// lines.
const RUNNER: &str = r#"
input=$(cat)
field() { v=${input#*\"$1\":}; v=${v%%[,\}]*}; echo "${v//\"/}"; }
prompt=$(field prompt) chat=$(field chatJid)
mkdir -p ~/.claude
echo "$prompt" >> ~/.claude/history
case $prompt in
  flood) head -c 9000000 /dev/zero | tr '\0' y; echo ;;
  slow) exec sleep 600 ;;
  env) prompt="lang=$NOVA_LANG token=$NOVA_TOKEN other=${OTHER_SECRET:-unset}" ;;
  send) echo "{\"type\":\"message\",\"to\":\"$chat\",\"text\":\"hello\"}" > $LAZARET_MAIL/out/messages/1.json ;;
esac
echo "noise ---NOVABOT_OUTPUT_START---"
echo "---NOVABOT_OUTPUT_START---"
echo "{\"status\":\"success\",\"result\":\"$prompt\",\"newSessionId\":\"s-$(wc -l < ~/.claude/history)\"}"
echo "---NOVABOT_OUTPUT_END---"
"#;

fn ask(ctx: &Ctx, group: &str, options: &[&str], prompt: &str) -> Result<Ended, String> {
    let is_main = group == "main";
    let request = serde_json::json!({
        "prompt": prompt,
        "groupFolder": group,
        "chatJid": "1234567890@g.us",
        "isMain": is_main,
        "isScheduledTask": false,
    });
    let file = ctx.home().join("in.json");
    fs::write(&file, request.to_string()).map_err(|error| error.to_string())?;
    let read = format!("exec \"$@\" < '{}'", file.display());
    let shell = ["sh", "-c", &read, "sh"].map(str::to_owned).to_vec();
    let mut line = vec!["ask", group];
    line.extend(options);
    let call: Call = ctx.call(&line).behind(shell);
    call.env("NOVA_LANG", "de")
        .env("NOVA_TOKEN", "t0ken-of-nova")
        .env("OTHER_SECRET", "hidden")
        .run()
}

fn group_chat(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace(
        "novabot",
        "f .env \"KEY=host\\n\"\nd groups\nd groups/family-chat\nd groups/global\n\
         f groups/global/CLAUDE.md \"be kind\\n\"\n",
    );
    let script = serde_json::to_string(RUNNER).map_err(|error| error.to_string())?;
    let toml = format!(
        "image = \"base\"\ncommand = [\"bash\", \"-c\", {script}]\nenv_pass = [\"NOVA_LANG\"]\n\
         network.mode = \"allowlist\"\n\
         [secrets.NOVA_TOKEN]\nfrom = {{ env = \"NOVA_TOKEN\" }}\n\
         broker = {{ host = \"api.example.com:443\", header = \"x-api-key\" }}\n\
         [ask]\nstart = \"---NOVABOT_OUTPUT_START---\"\nend = \"---NOVABOT_OUTPUT_END---\"\n"
    );
    ctx.profile("nova", &toml);
    let base = ["--profile", "nova", "--project", "novabot"];
    ctx.ok(&[&["group", "add", "main", "--level", "main"][..], &base].concat())?;
    let member = [
        "group",
        "add",
        "family-chat",
        "--level",
        "member",
        "--folder",
        "groups/family-chat",
        "--shared",
        "groups/global",
        "--chat",
        "1234567890@g.us",
        "--limit",
        "timeout=20s",
    ];
    ctx.ok(&[&member[..], &base].concat())?;

    let first = ask(ctx, "family-chat", &[], "What is the weather?")?.expect_code(0)?;
    expect_eq(
        "the answer, and nothing else",
        &first.stdout.as_str(),
        &"{\"status\":\"success\",\"result\":\"What is the weather?\",\"newSessionId\":\"s-1\"}\n",
    )?;
    // The history outlasts the container; that of another group is another.
    ctx.lazaret(&["stop", "group-family-chat"])?.output();
    let second = ask(ctx, "family-chat", &[], "again")?
        .expect_code(0)?
        .json()?;
    expect_eq("its history", &second["newSessionId"], &Value::from("s-2"))?;
    let main = ask(ctx, "main", &[], "hi")?.expect_code(0)?.json()?;
    expect_eq("main's own", &main["newSessionId"], &Value::from("s-1"))?;
    // Only the variables that the profile names go in, and of a key a placeholder.
    let env = ask(ctx, "family-chat", &[], "env")?
        .expect_code(0)?
        .json()?;
    let result = env["result"].as_str().unwrap_or_default();
    let token = result.strip_prefix("lang=de token=");
    let token = token.and_then(|rest| rest.strip_suffix(" other=unset"));
    expect("no other variable", || token.is_some())?;
    expect("a placeholder", || {
        token.is_some_and(|token| !token.is_empty() && token != "t0ken-of-nova")
    })?;
    // 5 MiB of a stream reach the caller, and the answer after them.
    let flood = ask(ctx, "family-chat", &["--envelope"], "flood")?
        .expect_code(0)?
        .json()?;
    expect_eq("it is cut", &flood["truncated"], &Value::Bool(true))?;
    expect_eq(
        "it is answered",
        &flood["answer"]["result"],
        &Value::from("flood"),
    )?;
    // The time limit is the group's.
    ctx.ok(&["group", "set", "family-chat", "--limit", "timeout=1s"])?;
    let slow = ask(ctx, "family-chat", &[], "slow")?
        .expect_code(124)?
        .json()?;
    expect_eq("it failed", &slow["status"], &Value::from("error"))?;
    // A message of the agent's goes to the host's program.
    ctx.ok(&["group", "set", "family-chat", "--limit", "timeout=20s"])?;
    ask(ctx, "family-chat", &[], "send")?.expect_code(0)?;
    let waiting = mail(ctx, "family-chat")?;
    expect_eq("one message", &waiting.len(), &1)?;
    expect_eq(
        "its text",
        &waiting[0]["mail"]["text"],
        &Value::from("hello"),
    )?;
    // The host's own .env is main's to read and no member's.
    let name = "group-family-chat";
    let seen = ctx.ok(&[
        "exec",
        name,
        "--",
        "sh",
        "-c",
        "exec 2>&1; find /workspace -name .env",
    ])?;
    expect("no .env", || !seen.stdout.contains(".env"))?;
    end(ctx, &["family-chat", "main"])
}
