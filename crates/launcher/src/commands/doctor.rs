//! `lazaret doctor`: the engines, the directories, the images, and what to do.

mod engine;
mod inotify;

use std::io;
use std::path::{Path, PathBuf};

use lazaret_image_builder::{ImageState, ListedImage};
use lazaret_runtime::{Candidate, Candidates, DecidedBy};
use lazaret_tree::escape;
use serde_json::{Value, json};

use self::engine::{engine_json, is_absent, print_engine};
use crate::app::App;
use crate::commands::dry_run::command_reach::words;
use crate::commands::image;
use crate::environment::Environment;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::own_dirs;
use crate::porter;
use crate::profile;
use crate::resolve::secrets::{self, Presence};
use crate::resolve::user_network::UserNetwork;
use crate::ui::{OutputFormat, TextTone, bytes, sanitize};

/// Show the engines, what they can enforce, and what to do
///
/// Exits with 0 if lazaret can work here, else with 1.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// One of lazaret's own directories.
struct Directory {
    what: &'static str,
    path: Option<PathBuf>,
    problem: Option<Failure>,
}

/// What was found, and whether it will do.
struct Report {
    /// What decided which engines were tried.
    by: DecidedBy,
    engines: Vec<Candidate>,
    /// Index of the engine that a verb without a choice would use.
    used: Option<usize>,
    directories: Vec<Directory>,
    images: Result<Vec<ListedImage>, Failure>,
    network: Result<UserNetwork, Failure>,
    /// Keys and logins of the profiles: profile, name, whether it is there.
    keys: Vec<(String, String, Presence)>,
    porter: Result<usize, Failure>,
    /// How many inotify instances a user of this machine may have.
    inotify: Option<u64>,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let Args {} = args;
    let report = examine(app)?;
    let advice = report.advice();
    match app.ui.format() {
        OutputFormat::Text => report.print(app, &advice),
        OutputFormat::Json => app.ui.json(&report.to_json(&advice)),
    }
    Ok(if report.can_work() {
        ExitCode::SUCCESS
    } else {
        ExitCode::REFUSED
    })
}

fn examine(app: &App) -> Result<Report, Failure> {
    // What it holds is read below.
    let own = own_dirs::all(&app.env);
    if let Some(config) = own.iter().find(|own| own.word() == "config") {
        config.check(app.env.uid)?;
    }
    let Candidates { by, tried: engines } =
        lazaret_runtime::candidates(&app.default_engine()?, &app.env.for_detection());
    let used = engines
        .iter()
        .position(|candidate| candidate.result.is_ok());
    let images = match used {
        Some(_) => app
            .engine()
            .and_then(|detected| image::list(app, &detected)),
        None => Err(Failure::message(
            FailureKind::Engine,
            "unknown: there is no engine to ask",
        )),
    };
    Ok(Report {
        by,
        engines,
        used,
        directories: vec![
            directory("state", app.env.state_dir(), &app.env),
            directory("cache", app.env.cache_dir(), &app.env),
        ],
        images,
        network: UserNetwork::load(&app.env),
        keys: keys(app)?,
        porter: porter::bytes().map(<[u8]>::len),
        inotify: inotify::limit(),
    })
}

/// Looks for the keys and logins of all profiles, and takes none of them.
fn keys(app: &App) -> Result<Vec<(String, String, Presence)>, Failure> {
    let env = &app.env;
    let mut keys = Vec::new();
    for listed in profile::list(env)? {
        // One that is wrong is for `profile check` to explain.
        let Ok(profile) = profile::load(&listed.name, env) else {
            continue;
        };
        let secrets = profile.secrets.iter();
        let secrets = secrets.map(|rule| (&rule.name, secrets::presence(&rule.from, env)));
        let files = profile.files.iter();
        let files = files.map(|rule| (&rule.name, secrets::file_presence(&rule.from, env)));
        for (name, presence) in secrets.chain(files) {
            keys.push((profile.name.clone(), name.clone(), presence));
        }
    }
    Ok(keys)
}

/// Finds out whether a directory, or the first of its parents that is there, can be
/// written to; creates nothing.
fn directory(what: &'static str, path: Result<PathBuf, Failure>, env: &Environment) -> Directory {
    let path = match path {
        Ok(path) => path,
        Err(failure) => {
            return Directory {
                what,
                path: None,
                problem: Some(failure),
            };
        }
    };
    let problem = writable(&path).err().map(|error| {
        Failure::new(FailureKind::State, error)
            .context(format!(
                "the {what} directory {} can't be written",
                path.display()
            ))
            .hinted(format!(
                "Make it writable, or name another place with XDG_{}_HOME.",
                what.to_uppercase()
            ))
    });
    let own = own_dirs::all(env)
        .into_iter()
        .find(|own| own.word() == what);
    let problem = problem.or_else(|| own?.check(env.uid).err());
    Directory {
        what,
        path: Some(path),
        problem,
    }
}

fn writable(path: &Path) -> io::Result<()> {
    use rustix::fs::Access;
    for path in path.ancestors() {
        match rustix::fs::access(path, Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) if path.is_dir() => return Ok(()),
            Ok(()) => return Err(io::ErrorKind::NotADirectory.into()),
            Err(rustix::io::Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

impl Report {
    fn can_work(&self) -> bool {
        let enforces = |candidate: &Candidate| matches!(&candidate.result, Ok(info) if info.unenforceable.is_empty());
        self.used
            .is_some_and(|used| self.engines.get(used).is_some_and(enforces))
            && self
                .directories
                .iter()
                .all(|directory| directory.problem.is_none())
            && self.porter.is_ok()
    }

    /// What to do, most important first, raw.
    fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        for candidate in &self.engines {
            if let Err(error) = &candidate.result
                && let Some(hint) = crate::failure::engine_hint(error)
                && (self.used.is_none() || !is_absent(error))
            {
                advice.push(format!("{}: {hint}", candidate.origin));
            }
        }
        if self.used.is_none() {
            advice.push(match &self.by {
                DecidedBy::Detected => "Install Docker or Podman and start it; in lazaret's own \
                                        repository `cargo xtask setup` does both."
                    .to_owned(),
                by => crate::failure::way_out(by),
            });
        }
        let problems = self
            .directories
            .iter()
            .filter_map(|directory| directory.problem.as_ref());
        for failure in problems.chain(self.porter.as_ref().err()) {
            advice.extend(failure.hints.iter().cloned());
        }
        if let Ok(images) = &self.images
            && images
                .iter()
                .all(|image| image.status.state != ImageState::Current)
        {
            advice.push(
                "`run` builds the image that it needs; `lazaret image build` builds one before."
                    .to_owned(),
            );
        }
        advice.extend(self.inotify_advice());
        advice.dedup();
        advice
    }

    fn inotify_advice(&self) -> Option<String> {
        let used = self.engines.get(self.used?)?;
        inotify::advice(used.result.as_ref().ok()?, self.inotify?)
    }

    fn print(&self, app: &App, advice: &[String]) {
        let ui = &app.ui;
        let heading = |text: &str| ui.result(&ui.paint_result(TextTone::Strong, text));
        heading("Engines, in the order in which they are tried");
        let by = escape(self.by.to_string().as_bytes());
        ui.result(&match &self.by {
            DecidedBy::Detected => format!("  {by}: nothing names an engine"),
            _ => format!("  decided by {by}: no other engine is tried"),
        });
        if self.engines.is_empty() {
            ui.result("  none");
        }
        for (index, candidate) in self.engines.iter().enumerate() {
            print_engine(app, candidate, Some(index) == self.used);
        }
        heading("Directories");
        for directory in &self.directories {
            let path = directory.path.as_deref().unwrap_or(Path::new("?"));
            let state = match &directory.problem {
                None => ui.paint_result(TextTone::Good, "writable"),
                Some(failure) => {
                    ui.paint_result(TextTone::Error, &sanitize(&failure.chain().join(": ")))
                }
            };
            let path = escape(path.as_os_str().as_encoded_bytes());
            ui.result(&format!("  {:6} {path}  {state}", directory.what));
        }
        heading("Network and keys");
        ui.result(&format!("  {}", self.network_line()));
        for (profile, name, presence) in &self.keys {
            let (profile, name) = (escape(profile.as_bytes()), escape(name.as_bytes()));
            ui.result(&format!("  {profile}: {name}: {}", words(presence)));
        }
        heading("Images");
        match &self.images {
            Ok(images) => {
                for listed in images {
                    ui.result(&format!("  {}", image::line(app, listed)));
                }
            }
            // Without a porter there is nothing to compare images with; said below.
            Err(_) if self.porter.is_err() => {}
            Err(failure) => ui.result(&format!("  {}", sanitize(&failure.chain().join(": ")))),
        }
        match &self.porter {
            Ok(size) => ui.result(&format!("  porter built in, {}", bytes(*size as u64))),
            Err(failure) => {
                let text = ui.paint_result(TextTone::Error, &failure.chain().join(": "));
                ui.result(&format!("  {text}"));
            }
        }
        if !advice.is_empty() {
            heading("What to do");
            for advice in advice {
                ui.result(&format!("  - {}", sanitize(advice)));
            }
        }
    }

    fn network_line(&self) -> String {
        match &self.network {
            Err(failure) => sanitize(&failure.chain().join(": ")),
            Ok(user) => {
                let private = &user.private;
                let certificates = match user.trust.is_empty() {
                    true => "the built-in certificates",
                    false => "certificates of yours",
                };
                format!(
                    "network.toml opens {} private names, {} networks, {} fixed addresses; {certificates}",
                    private.names.len(),
                    private.networks.len(),
                    private.hosts.len()
                )
            }
        }
    }

    fn to_json(&self, advice: &[String]) -> Value {
        let engines: Vec<_> = self
            .engines
            .iter()
            .enumerate()
            .map(|(index, candidate)| engine_json(candidate, Some(index) == self.used))
            .collect();
        let directories: Vec<_> = self
            .directories
            .iter()
            .map(|directory| {
                json!({
                    "what": directory.what,
                    "path": directory.path,
                    "writable": directory.problem.is_none(),
                })
            })
            .collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "ok": self.can_work(),
            "decided_by": self.by.code(),
            "decided_by_text": self.by.to_string(),
            "engines": engines,
            "directories": directories,
            "images": self.images.as_ref().ok().map(|images| image::to_json(images)),
            "network": self.network.is_ok(),
            "keys": self.keys.iter().map(|(profile, name, presence)| {
                json!({ "profile": profile, "name": name, "presence": presence.word() })
            }).collect::<Vec<_>>(),
            "inotify_instances": self.inotify,
            "porter_bytes": self.porter.as_ref().ok(),
            "advice": advice,
        })
    }
}
