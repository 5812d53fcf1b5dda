//! `lazaret init`.

mod project;
mod text;

use std::fs;
use std::path::{Path, PathBuf};

use lazaret_gate::atomic_file::write_atomically;
use lazaret_session::store::file::private_dir;
use lazaret_tree::escape;
use serde_json::json;

use self::project::Project;
use self::text::Draft;
use crate::app::App;
use crate::environment::Environment;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::profile::{self, Origin, Profile};
use crate::resolve::secrets::{Presence, file_presence, presence};
use crate::resolve::workspace;
use crate::ui::OutputFormat;

/// The profiles of agents, in the order in which a key or a login is looked for.
const AGENTS: [&str; 3] = ["claude", "claude-login", "codex"];

/// What is said where the disk refuses.
const UNWRITABLE: &str = "the profile can't be written";

/// Write a profile of your own for this project
///
/// Finds out which package managers the project uses and which agent has a key or a login here,
/// and writes a profile with their images, hosts and caches. `lazaret run` takes it in this
/// directory from then on. The file lies with your other profiles; nothing is written into the
/// project.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Project [default: the current directory]
    #[arg(short, long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Profile to begin with [default: that of the first agent that has a key or a login, else
    /// base]
    #[arg(long, value_name = "PROFILE")]
    pub extends: Option<String>,
    /// Name of the new profile [default: made from the project's name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Print the profile and write nothing
    #[arg(long)]
    pub print: bool,
    /// Replace the profile that is there; it is kept as NAME.toml~
    #[arg(long, conflicts_with = "print")]
    pub force: bool,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let path = args.workspace.as_deref().unwrap_or(&app.env.cwd);
    let workspace = workspace::open(path, &app.env)?;
    let dir = workspace.path();
    let shown = dir.to_str().ok_or_else(|| {
        let text = format!("the path {} is not UTF-8 text", dir.display());
        Failure::message(FailureKind::Workspace, text)
    })?;
    let project = Project::of(dir).or_fail(FailureKind::Workspace, "the project can't be read")?;
    let agent = agent(&args, &app.env)?;
    let draft = Draft {
        agent: &agent,
        project: &project,
        dir: shown,
    };
    let text = draft.text();
    if args.print {
        app.ui.result(text.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let name = name(&args, dir, &app.env)?;
    // It is right before it is a file.
    profile::checked(&name, &text, &app.env)?;
    let file = profile::own_file(&name, &app.env)?;
    write(&file, &text)?;
    report(&draft, &name, &file, app);
    Ok(ExitCode::SUCCESS)
}

/// Returns the profile to begin with.
fn agent(args: &Args, env: &Environment) -> Result<Profile, Failure> {
    if let Some(name) = &args.extends {
        if name.contains('/') || name.ends_with(".toml") {
            let text = format!("{name} is a path, and a profile extends another one by its name");
            return Err(Failure::message(FailureKind::Usage, text));
        }
        return profile::load(name, env);
    }
    for name in AGENTS {
        let profile = profile::load(name, env)?;
        if has_keys(&profile, env) {
            return Ok(profile);
        }
    }
    profile::load("base", env)
}

fn has_keys(profile: &Profile, env: &Environment) -> bool {
    let secrets = profile.secrets.iter().map(|rule| presence(&rule.from, env));
    let files = profile
        .files
        .iter()
        .map(|rule| file_presence(&rule.from, env));
    secrets
        .chain(files)
        .all(|found| matches!(found, Presence::There))
}

/// Chooses a name, and refuses one that is taken.
fn name(args: &Args, dir: &Path, env: &Environment) -> Result<String, Failure> {
    let present = profile::profile_for(dir, env)?.filter(|present| present.project == dir);
    if let Some(present) = present {
        let is_meant = args.name.as_ref().is_none_or(|name| *name == present.name);
        return match args.force && is_meant {
            true => Ok(present.name),
            false => Err(taken(&present.name, env)?),
        };
    }
    let Some(name) = &args.name else {
        return free_name(dir, env);
    };
    if !profile::is_plain(name) || name.ends_with(".toml") {
        let text = format!("\"{}\" is no name of a profile", escape(name.as_bytes()));
        return Err(Failure::message(FailureKind::Usage, text)
            .hinted("Use letters, digits, `-`, `_` and `.`, such as --name shop."));
    }
    if is_built_in(name, env)? {
        let text = format!("{name} is a built-in profile");
        return Err(Failure::message(FailureKind::Refused, text)
            .hinted("Choose another name with --name NAME."));
    }
    match args.force || !profile::own_file(name, env)?.exists() {
        true => Ok(name.clone()),
        false => Err(taken(name, env)?),
    }
}

/// Makes a name that is free from the directory's.
fn free_name(dir: &Path, env: &Environment) -> Result<String, Failure> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() || "-_".contains(c) => c.to_ascii_lowercase(),
            _ => '-',
        })
        .collect();
    let name = name.trim_matches('-');
    let name = match name.is_empty() {
        true => "project",
        false => name,
    };
    let numbered = (2..100).map(|number| format!("{name}-{number}"));
    for name in std::iter::once(name.to_owned()).chain(numbered) {
        if !is_built_in(&name, env)? && !profile::own_file(&name, env)?.exists() {
            return Ok(name);
        }
    }
    let text = format!("no name like {name} is free");
    Err(Failure::message(FailureKind::Refused, text).hinted("Choose one with --name NAME."))
}

fn is_built_in(name: &str, env: &Environment) -> Result<bool, Failure> {
    let listed = profile::list(env)?;
    Ok(listed
        .iter()
        .any(|one| one.name == name && one.origin == Origin::BuiltIn))
}

fn taken(name: &str, env: &Environment) -> Result<Failure, Failure> {
    let file = profile::own_file(name, env)?;
    let text = format!("the profile {name} is there already: {}", file.display());
    Ok(Failure::message(FailureKind::Refused, text).hinted(
        "Edit that file, or let it be written anew with --force; the old one is kept beside it.",
    ))
}

/// Writes the file; one that was there is kept with a `~` behind its name.
fn write(file: &Path, text: &str) -> Result<(), Failure> {
    private_dir(file.parent().unwrap_or(file)).or_fail(FailureKind::State, UNWRITABLE)?;
    if file.exists() {
        let mut kept = file.as_os_str().to_owned();
        kept.push("~");
        fs::rename(file, kept).or_fail(FailureKind::State, UNWRITABLE)?;
    }
    write_atomically(file, text.as_bytes()).or_fail(FailureKind::State, UNWRITABLE)
}

fn report(draft: &Draft<'_>, name: &str, file: &Path, app: &App) {
    let Project {
        toolchains,
        without_image,
        ..
    } = draft.project;
    let words: Vec<_> = toolchains.iter().map(|one| one.word()).collect();
    if app.ui.format() == OutputFormat::Json {
        app.ui.json(&json!({
            "profile": name,
            "file": file.display().to_string(),
            "project": draft.dir,
            "extends": draft.agent.name,
            "image": draft.image(),
            "toolchains": words,
            "allow": draft.presets(),
            "without_image": without_image,
        }));
        return;
    }
    let agent = match draft.agent.name.as_str() {
        "base" => "no agent has a key or a login here".to_owned(),
        agent => agent.to_owned(),
    };
    let found = match words.is_empty() {
        true => "no package manager that lazaret knows".to_owned(),
        false => words.join(" and "),
    };
    let ui = &app.ui;
    ui.status(&format!("found: {found}; {agent}"));
    let shown = escape(file.as_os_str().as_encoded_bytes());
    ui.result(&format!("wrote {shown}: image {}", draft.image()));
    for word in without_image {
        ui.warn(&format!(
            "no image of lazaret's has {word}: put one of your own into `image`"
        ));
    }
    let command = match draft.agent.command.is_empty() {
        true => "`lazaret run -- CMD` runs a command",
        false => "`lazaret run` starts it",
    };
    ui.hint(&format!(
        "{command} in this directory; `lazaret run --dry-run` lists what would go in."
    ));
}
