//! `lazaret man`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap_mangen::Man;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::markdown;

/// Print the manual page, or write all of them to a directory
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory for one page per verb [default: print the main page]
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Print all verbs as one Markdown page
    #[arg(long, hide = true, conflicts_with = "dir")]
    pub markdown: bool,
}

pub(crate) fn run(args: Args, cli: clap::Command, app: &App) -> Result<ExitCode, Failure> {
    let mut command = cli.disable_help_subcommand(true);
    command.build();
    match args {
        Args { markdown: true, .. } => app.ui.result(markdown::page(&command).trim_end()),
        Args { dir: None, .. } => {
            let mut page = Vec::new();
            Man::new(command)
                .render(&mut page)
                .or_fail(FailureKind::Internal, "render the page")?;
            app.ui.result(String::from_utf8_lossy(&page).trim_end());
        }
        Args { dir: Some(dir), .. } => {
            let dir = app.env.cwd.join(dir);
            let write = || -> io::Result<()> {
                fs::create_dir_all(&dir)?;
                pages(&command, &dir)
            };
            write().or_fail(
                FailureKind::State,
                &format!("the pages can't be written to {}", dir.display()),
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of `command` and those below it, named `lazaret-image-build.1`.
fn pages(command: &clap::Command, dir: &Path) -> io::Result<()> {
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    for verb in verbs {
        pages(verb, dir)?;
    }
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    fs::write(dir.join(man.get_filename()), page)
}
