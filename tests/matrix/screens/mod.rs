//! Pictures of what a user sees, at four widths, for the documentation: real sessions of a real
//! engine, typed at a terminal.

mod options;
mod screen;
mod table;

use std::fs;
use std::path::Path;

use lazaret_tests::picture;
use rustix::process::Signal;

use crate::ctx::Ctx;
use crate::lazaret::Running;
use crate::runner::{self, Outcome, Setup};
use crate::terminal::Person;
use options::Options;
use screen::Screen;
use table::{End, SHOTS, Shot};

/// Columns of the terminals.
const WIDTHS: [u16; 4] = [160, 100, 80, 40];

/// Takes all pictures.
///
/// # Errors
/// An argument makes no sense, the engine is not ready, or a screen does not show what it should.
pub(crate) fn run(
    arguments: impl Iterator<Item = String>,
    setup: &Setup,
) -> Result<Outcome, String> {
    let options = Options::parse(arguments)?;
    let cache = runner::cache(setup)?;
    runner::prepare(options.engine, "image build porter base", setup, &cache)?;
    let ctx = Ctx::new(options.engine, setup, &cache)?;
    let taken = table::prepare(&ctx).and_then(|()| take_all(&ctx, &options.into));
    let cleaned = table::clean(&ctx).and_then(|()| ctx.check_clean());
    taken.and(cleaned)?;
    Ok(Outcome::Green)
}

fn take_all(ctx: &Ctx, into: &Path) -> Result<(), String> {
    fs::create_dir_all(into).map_err(|error| format!("{}: {error}", into.display()))?;
    for shot in SHOTS {
        for columns in WIDTHS {
            let file = into.join(format!("{}-{columns}.svg", shot.name));
            let of = |error| format!("{} at {columns} columns: {error}", shot.name);
            let svg = take(ctx, shot, columns).map_err(of)?;
            fs::write(&file, svg).map_err(|error| format!("{}: {error}", file.display()))?;
            println!("{}", file.display());
        }
    }
    Ok(())
}

/// Types a shot's line and keys, and draws what the terminal shows then.
fn take(ctx: &Ctx, shot: &Shot, columns: u16) -> Result<String, String> {
    let person = Person::sit_down(columns, shot.rows)?;
    let home = ctx.home();
    let words = shot.line.iter();
    let words = Vec::from_iter(words.map(|word| word.replace("{columns}", &columns.to_string())));
    let line = Vec::from_iter(words.iter().map(|word| typed(word))).join(" ");
    let call = table::call(ctx, &words).env("TERM", "xterm-256color");
    let call = call.env("PAGER", "cat");
    let running = call.on_whole_terminal(person.terminal()?).start()?;
    let screen = |person: &Person| {
        let mut screen = Screen::new(columns, shot.rows);
        if shot.prompt == table::Prompt::Shown {
            screen.show(format!("$ lazaret {line}\r\n").as_bytes());
        }
        screen.show(person.seen().as_bytes());
        screen
    };
    for step in shot.steps {
        let shown = screen::wait_for(step.shows, || screen(&person));
        or_end(shown, &running)?;
        person.types(step.then)?;
    }
    let shown = match shot.end {
        End::OfItself => {
            let _code = running.wait()?;
            person.waits_for_all()?;
            screen(&person)
        }
        End::By { shows, keys } => {
            let shown = screen::wait_for(shows, || screen(&person));
            let shown = or_end(shown, &running)?;
            person.types(keys)?;
            let _code = running.wait()?;
            shown
        }
    };
    let scratch = home.parent().unwrap_or(&home);
    if shown.text().contains(&*scratch.to_string_lossy()) {
        return Err("a path of this machine is on the screen".to_owned());
    }
    Ok(picture::svg(&format!("lazaret {line}"), &shown.rows()))
}

/// Ends a program that does not show what it should, lest it wait for ever.
fn or_end<T>(shown: Result<T, String>, running: &Running) -> Result<T, String> {
    if shown.is_err() {
        running.signal(Signal::TERM)?;
    }
    shown
}

/// A word as a shell wants it.
fn typed(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
