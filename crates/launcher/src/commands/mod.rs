//! The verbs, one file each: `Args`, whose doc comment is the help, and `run`.

pub(crate) mod acp;
pub(crate) mod allowed;
pub(crate) mod apply;
pub(crate) mod ask;
pub(crate) mod attach;
pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod commits;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod discard;
pub(crate) mod doctor;
pub(crate) mod dry_run;
pub(crate) mod events;
pub(crate) mod exec;
pub(crate) mod export;
pub(crate) mod group;
pub(crate) mod home;
pub(crate) mod image;
pub(crate) mod init;
pub(crate) mod limits;
mod live_run;
pub(crate) mod logs;
pub(crate) mod ls;
pub(crate) mod mail;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod policy;
pub(crate) mod pool;
pub(crate) mod pr;
pub(crate) mod profile;
pub(crate) mod prune;
pub(crate) mod recover;
pub(crate) mod review;
pub(crate) mod rm;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod services;
pub(crate) mod shell;
pub(crate) mod show;
pub(crate) mod start;
pub(crate) mod stop;
pub(crate) mod sync;
mod target;
pub(crate) mod undo;
pub(crate) mod volume;
pub(crate) mod wait;
pub(crate) mod watch;

use clap::Subcommand;

use crate::app::{App, CommandLine};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::own_dirs;

/// The verbs.
#[derive(Debug, Subcommand)]
// A doc comment on a variant would hide that of its `Args`, which is the help.
pub enum Command {
    Init(init::Args),
    Run(run::RunArgs),
    Start(start::Args),
    Attach(attach::Args),
    Exec(exec::Args),
    Shell(shell::Args),
    Ask(ask::Args),
    Acp(acp::Args),
    Mail(mail::Args),
    Stop(stop::Args),
    Wait(wait::Args),
    Diff(diff::Args),
    Watch(watch::Args),
    Sync(sync::Args),
    Review(review::Args),
    Apply(apply::Args),
    Commits(commits::Args),
    Pr(pr::Args),
    Allowed(allowed::Args),
    Export(export::Args),
    Check(check::Args),
    Discard(discard::Args),
    Undo(undo::Args),
    Ls(ls::Args),
    Show(show::Args),
    Logs(logs::Args),
    Events(events::Args),
    Limits(limits::Args),
    Services(services::Args),
    Rm(rm::Args),
    Recover(recover::Args),
    Prune(prune::Args),
    #[command(subcommand)]
    Audit(audit::Command),
    Mcp(mcp::Args),
    Doctor(doctor::Args),
    Rules(rules::Args),
    #[command(subcommand)]
    Group(group::Command),
    #[command(subcommand)]
    Home(home::Command),
    #[command(subcommand)]
    Policy(policy::Command),
    #[command(subcommand)]
    Pool(pool::Command),
    #[command(subcommand)]
    Volume(volume::Command),
    #[command(subcommand)]
    Image(image::Command),
    #[command(subcommand)]
    Profile(profile::Command),
    Completions(completions::Args),
    Man(man::Args),
}

/// Runs a verb. `line` is for the verbs that describe the command line, or do what others do.
pub(crate) fn run(command: Command, line: CommandLine, app: &App) -> Result<ExitCode, Failure> {
    match command {
        // These look into no directory of lazaret's, or say themselves what is wrong with one.
        Command::Completions(_) | Command::Man(_) | Command::Rules(_) | Command::Doctor(_) => {}
        _ => own_dirs::check(&app.env)?,
    }
    match command {
        Command::Init(args) => init::run(args, app),
        Command::Run(args) => run::run(args, app),
        Command::Start(args) => start::run(args, app),
        Command::Attach(args) => attach::run(args, app),
        Command::Exec(args) => exec::run(args, app),
        Command::Shell(args) => shell::run(args, app),
        Command::Ask(args) => ask::run(args, app),
        Command::Acp(args) => acp::run(args, line, app),
        Command::Mail(args) => mail::run(args, app),
        Command::Stop(args) => stop::run(args, app),
        Command::Wait(args) => wait::run(args, app),
        Command::Diff(args) => diff::run(args, app),
        Command::Watch(args) => watch::run(args, app),
        Command::Sync(args) => sync::run(args, app),
        Command::Review(args) => review::run(args, app),
        Command::Apply(args) => apply::run(args, app),
        Command::Allowed(args) => allowed::run(args, app),
        Command::Export(args) => export::run(args, app),
        Command::Check(args) => check::run(args, app),
        Command::Commits(args) => commits::run(args, app),
        Command::Pr(args) => pr::run(args, app),
        Command::Discard(args) => discard::run(args, app),
        Command::Undo(args) => undo::run(args, app),
        Command::Ls(args) => ls::run(args, app),
        Command::Show(args) => show::run(args, app),
        Command::Logs(args) => logs::run(args, app),
        Command::Events(args) => events::run(args, app),
        Command::Limits(args) => limits::run(args, app),
        Command::Services(args) => services::run(args, app),
        Command::Rm(args) => rm::run(args, app),
        Command::Recover(args) => recover::run(args, app),
        Command::Prune(args) => prune::run(args, app),
        Command::Audit(command) => audit::run(command, app),
        Command::Mcp(args) => mcp::run(args, line, app),
        Command::Doctor(args) => doctor::run(args, app),
        Command::Rules(args) => rules::run(args, app),
        Command::Group(command) => group::run(command, app),
        Command::Home(command) => home::run(command, app),
        Command::Policy(command) => policy::run(command, app),
        Command::Pool(command) => pool::run(command, app),
        Command::Volume(command) => volume::run(command, app),
        Command::Image(command) => image::run(command, app),
        Command::Profile(command) => profile::run(command, app),
        Command::Completions(args) => completions::run(args, app),
        Command::Man(args) => man::run(args, (line.describe)(), app),
    }
}
