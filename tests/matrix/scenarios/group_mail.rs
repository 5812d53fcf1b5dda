//! `group`: what the commands of groups leave in their mailboxes.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::group::{asked, end, project, said};
use crate::ctx::{Ctx, expect, expect_eq};
use crate::watch::wait_until;

scenarios! {
    any engine;
    "group/levels" => levels;
    "group/mail-followed" => followed;
    "group/mail-hostile" => hostile;
    "group/mail-killed" => killed;
}

/// Puts a script into the folder of a group.
fn script(ctx: &Ctx, path: &str, text: &str) -> Result<(), String> {
    let place = ctx.work("bot").join(path);
    fs::write(&place, text).map_err(|error| format!("{}: {error}", place.display()))
}

/// Returns what waits of a group: each line of `lazaret mail`.
pub(super) fn mail(ctx: &Ctx, group: &str) -> Result<Vec<Value>, String> {
    let printed = ctx.ok(&["mail", group])?;
    let lines = printed.stdout.lines().map(serde_json::from_str);
    lines
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())
}

fn texts(ctx: &Ctx, group: &str) -> Result<Vec<String>, String> {
    let text = |line: &Value| line["mail"]["text"].as_str().unwrap_or_default().to_owned();
    Ok(mail(ctx, group)?.iter().map(text).collect())
}

fn levels(ctx: &Ctx) -> Result<(), String> {
    project(ctx, "")?;
    script(
        ctx,
        "mail.sh",
        "cd $LAZARET_MAIL/out\n\
         echo '{\"type\":\"message\",\"to\":\"a@g.us\",\"text\":\"of main\"}' > messages/1.json\n\
         echo '{\"type\":\"schedule\",\"id\":\"t\",\"when\":{\"every\":60},\"prompt\":\"p\"}' > tasks/1.json\n\
         echo '{\"type\":\"schedule\",\"id\":\"u\",\"when\":{\"cron\":\"0 9 * * 1\"},\"prompt\":\"q\",\
         \"group\":\"a\"}' > tasks/2.json\n",
    )?;
    script(
        ctx,
        "groups/a/mail.sh",
        "cd $LAZARET_MAIL/out\n\
         echo '{\"type\":\"message\",\"to\":\"a@g.us\",\"text\":\"mine\"}' > messages/1.json\n\
         echo '{\"type\":\"message\",\"to\":\"b@g.us\",\"text\":\"not mine\"}' > messages/2.json\n\
         echo '{\"type\":\"cancel\",\"id\":\"t\"}' > tasks/1.json\n\
         echo '{\"type\":\"cancel\",\"id\":\"t\",\"group\":\"boss\"}' > tasks/2.json\n\
         echo '{\"type\":\"pause\",\"id\":\"u\"}' > tasks/3.json\n",
    )?;
    said(ctx, "boss", "sh /workspace/mail.sh")?;
    expect_eq("main's chat and tasks", &mail(ctx, "boss")?.len(), &3)?;
    said(ctx, "a", "sh mail.sh")?;
    let waiting = mail(ctx, "a")?;
    expect_eq("what a may", &waiting.len(), &2)?;
    expect_eq(
        "its message",
        &waiting[0]["mail"]["text"],
        &Value::from("mine"),
    )?;
    expect_eq(
        "its task",
        &waiting[1]["mail"]["type"],
        &Value::from("pause"),
    )?;
    let rejected = said(ctx, "a", "cat $LAZARET_MAIL/in/rejected.json")?;
    for (file, reason) in [
        ("messages/2.json", "chat"),
        ("tasks/1.json", "task"),
        ("tasks/2.json", "group"),
    ] {
        expect(&format!("{file} is refused"), || {
            rejected.contains(&format!("{file} , reason : {reason} "))
        })?;
    }
    // Each sees its own tasks and groups; main sees all of its project.
    let tasks = said(
        ctx,
        "a",
        "cat $LAZARET_MAIL/in/tasks.json $LAZARET_MAIL/in/groups.json",
    )?;
    expect("a sees its task", || {
        tasks.contains("id : u ") && tasks.contains(" paused ")
    })?;
    expect("and no other", || {
        !tasks.contains("id : t ") && !tasks.contains("boss")
    })?;
    let tasks = said(
        ctx,
        "boss",
        "cat $LAZARET_MAIL/in/tasks.json $LAZARET_MAIL/in/groups.json",
    )?;
    expect("main sees both", || {
        tasks.contains("id : u ") && tasks.contains("id : t ")
    })?;
    expect("and the groups", || tasks.contains("b@g.us"))?;
    // A group settles its own mail.
    let id = waiting[0]["id"].to_string();
    ctx.lazaret(&["mail", "ack", "b", &id])?
        .expect_code(1)?
        .expect_text("no mail of group b")?;
    ctx.ok(&["mail", "ack", "a", &id])?;
    expect_eq("one is settled", &mail(ctx, "a")?.len(), &1)?;
    end(ctx, &["a", "boss"])?;
    ctx.lazaret(&["group", "rm", "a"])?
        .expect_code(1)?
        .expect_text("mail of group a waits")?;
    ctx.ok(&["mail", "ack", "a", &waiting[1]["id"].to_string()])?;
    ctx.ok(&["group", "rm", "a"])?;
    Ok(())
}

/// A message that is left while no turn runs is printed by who follows, and an interruption of
/// that loses nothing.
fn followed(ctx: &Ctx) -> Result<(), String> {
    project(ctx, "")?;
    let message =
        |text: &str| format!("{{\"type\":\"message\",\"to\":\"a@g.us\",\"text\":\"{text}\"}}");
    let first = format!(
        "echo '{}' > $LAZARET_MAIL/out/messages/1.json\n",
        message("in a turn")
    );
    script(ctx, "groups/a/mail.sh", &first)?;
    said(ctx, "a", "sh mail.sh")?;
    let session = ctx.run_json("group show a --json")?["session"].clone();
    let session = session.as_str().ok_or("the group has no session")?;
    let following = ctx.spawn("mail a --follow")?;
    // It has looked once.
    following.until_said("\"text\":\"in a turn\"")?;
    let second = format!(
        "echo '{}' > ~/mail/out/messages/2.json",
        message("by itself")
    );
    ctx.ok(&["exec", session, "--", "sh", "-c", &second])?;
    following.until_said("\"text\":\"by itself\"")?;
    following.signal(Signal::INT)?;
    following.wait()?.expect_code(130)?;
    expect_eq(
        "what waits",
        &texts(ctx, "a")?,
        &vec!["in a turn".to_owned(), "by itself".to_owned()],
    )?;
    end(ctx, &["a"])
}

/// Files that are no mail, the reason of each, and one that is.
const HOSTILE: &str = r#"
cd $LAZARET_MAIL/out/messages
ln -s /etc/passwd 01.json
mkfifo 02.json
mkdir -p 03.json/in
head -c 70000 /dev/zero | tr '\0' x > 04.json
printf '{"type":"message","type":"message","to":"a@g.us","text":""}' > 05.json
printf '{"a":"\377"}' > 06.json
printf '{"a":"\0"}' > 07.json
printf '{"a":'"$(printf '[%.0s' $(seq 100))" > 08.json
printf '{"type":"mess' > 09.json
printf '{"type":"message","to":"a@g.us","text":"","more":1}' > 10.json
printf '[]' > 11.json
printf '{}' > 12.json; chmod 0 12.json
printf '{"type":"message","to":"a@g.us","text":"good"}' > "$(printf 'zz\377.json')"
rm -r ../tasks; ln -s /etc ../tasks
"#;

fn hostile(ctx: &Ctx) -> Result<(), String> {
    project(ctx, "")?;
    script(ctx, "groups/a/hostile.sh", HOSTILE)?;
    script(
        ctx,
        "groups/a/many.sh",
        "cd $LAZARET_MAIL/out/messages; seq -f m%06g.json 1 100000 | xargs touch\n",
    )?;
    said(ctx, "a", "bash hostile.sh")?;
    expect_eq("the good one", &texts(ctx, "a")?, &vec!["good".to_owned()])?;
    // What may only not be whole yet was looked at twice.
    let rejected = said(
        ctx,
        "a",
        "cat $LAZARET_MAIL/in/rejected.json; ls -A $LAZARET_MAIL/out/messages",
    )?;
    for (file, reason) in [
        ("01", "link"),
        ("02", "special"),
        ("03", "directory"),
        ("04", "too-large"),
        ("05", "repeated-key"),
        ("06", "not-utf-8"),
        ("07", "nul"),
        ("08", "too-deep"),
        ("09", "syntax"),
        ("10", "schema"),
        ("11", "not-an-object"),
        ("12", "closed"),
    ] {
        expect(
            &format!("{file} is refused as {reason}: {rejected}"),
            || rejected.contains(&format!("messages/{file}.json , reason : {reason} ")),
        )?;
    }
    expect("all is put away", || !rejected.contains(";04.json;"))?;
    expect_eq(
        "the tasks are a box again",
        &said(ctx, "a", "ls -d $LAZARET_MAIL/out/tasks/.")?.contains("tasks/."),
        &true,
    )?;
    // A hundred thousand hold no turn up, and only so many are taken.
    said(ctx, "a", "bash many.sh")?;
    let left = said(ctx, "a", "ls $LAZARET_MAIL/out/messages | wc -l")?;
    let left: u32 = left
        .trim_matches(';')
        .trim()
        .parse()
        .map_err(|_| left.clone())?;
    expect(&format!("the rest stays: {left}"), || left > 99_000)?;
    expect_eq(
        "the good one waits",
        &texts(ctx, "a")?,
        &vec!["good".to_owned()],
    )?;
    end(ctx, &["a"])
}

fn killed(ctx: &Ctx) -> Result<(), String> {
    project(ctx, "")?;
    script(
        ctx,
        "groups/a/send.sh",
        "for n in 1 2 3 4; do\n\
         echo '{\"type\":\"message\",\"to\":\"a@g.us\",\"text\":\"'$1-$n'\"}' > ~/partial\n\
         mv ~/partial $LAZARET_MAIL/out/messages/$1-$n.json\ndone\ntouch /tmp/sent-$1\n",
    )?;
    // It is stored, and can't be removed: as after a kill between both.
    said(
        ctx,
        "a",
        "sh send.sh first; chmod 500 $LAZARET_MAIL/out/messages",
    )?;
    let stored = mail(ctx, "a")?;
    expect_eq("stored once", &stored.len(), &4)?;
    for line in &stored {
        ctx.ok(&["mail", "ack", "a", &line["id"].to_string()])?;
    }
    said(ctx, "a", "true")?;
    expect_eq("settled once and for all", &mail(ctx, "a")?.len(), &0)?;
    let left = said(
        ctx,
        "a",
        "chmod 700 $LAZARET_MAIL/out/messages; ls $LAZARET_MAIL/out/messages | wc -l",
    )?;
    expect("they still lie there", || {
        left.trim_matches(';').trim() == "4"
    })?;
    expect_eq(
        "and then no more",
        &said(ctx, "a", "ls $LAZARET_MAIL/out/messages")?.as_str(),
        &"",
    )?;
    expect_eq("none came twice", &mail(ctx, "a")?.len(), &0)?;
    // Killed at whatever moment after the command wrote.
    let turns = 10_usize;
    for turn in 0..turns {
        let name = format!("k{turn}");
        let running = super::group::call(ctx, "a", &format!("sh send.sh {name}"))?.start()?;
        wait_until("the command has sent", || {
            Ok(ctx.asks(&["test", "-e", &format!("/tmp/sent-{name}")]) == Ok(true))
        })?;
        // Not to wait for anything: each kill is a little later than the one before.
        thread::sleep(Duration::from_millis(15 * turn as u64));
        drop(running.signal(Signal::KILL));
        running.ends()?;
    }
    asked(ctx, "a", "true")?.expect_code(0)?;
    let mut count: BTreeMap<String, u32> = BTreeMap::new();
    for text in texts(ctx, "a")? {
        *count.entry(text).or_default() += 1;
    }
    for turn in 0..turns {
        for n in 1..=4 {
            let text = format!("k{turn}-{n}");
            expect_eq(
                &format!("{text} is there once"),
                &count.get(&text).copied(),
                &Some(1),
            )?;
        }
    }
    end(ctx, &["a"])
}
