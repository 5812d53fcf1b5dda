//! `cargo xtask setup`: Docker and Podman on a fresh machine, and down again; with
//! `--kubernetes` a cluster instead ([`kubernetes`]).
//!
//! It speaks on stderr: `cargo xtask run` may call it, whose stdout is lazaret's.

mod consent;
mod kubernetes;

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;

use anyhow::{Context as _, Result, bail};
use rustix::process::Signal;
use xshell::Shell;

use crate::engines::machine::{Authority, Machine, Packages};
use crate::engines::plan::{Step, plan};
use crate::engines::{ping, service};
use crate::flags;
use crate::section::Section;

pub(crate) use consent::Consent;

/// What `setup` was asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Up(Consent),
    Down,
    DryRun,
}

impl Action {
    fn of(flags: &flags::Setup) -> Result<Self> {
        match (flags.down, flags.dry_run) {
            (true, true) => bail!("--down and --dry-run exclude each other"),
            (true, false) => Ok(Self::Down),
            (false, true) => Ok(Self::DryRun),
            (false, false) if flags.yes => Ok(Self::Up(Consent::Given)),
            (false, false) => Ok(Self::Up(Consent::Ask)),
        }
    }
}

impl flags::Setup {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        let action = Action::of(&self)?;
        if self.kubernetes {
            return kubernetes::Request::parse(self.nodes)?.run(sh, action);
        }
        if self.nodes.is_some() {
            bail!("--nodes is for --kubernetes: the engines have none");
        }
        match action {
            Action::Up(consent) => up(sh, consent),
            Action::Down => down(sh),
            Action::DryRun => {
                show(&plan(&Machine::inspect(sh)?));
                Ok(())
            }
        }
    }
}

/// Brings all three engines up, after consent, and says where they are.
pub(crate) fn up(sh: &Shell, consent: Consent) -> Result<()> {
    let mut machine = Machine::inspect(sh)?;
    let mut steps = plan(&machine);
    if !steps.is_empty() {
        refuse_unknown(&machine)?;
        show(&steps);
        refuse_unable(&machine, &steps)?;
        consent.obtain()?;
        service::create_private(&machine.state)?;
        // Two setups at once would start two daemons; the second waits and finds them there.
        let lock = File::create(machine.state.join("lock"))?;
        lock.lock().context("the lock of the state directory")?;
        steps = plan(&machine);
        for step in &steps {
            let _section = Section::new(sh, &step.to_string());
            step.run(sh, &mut machine)?;
        }
    }
    report(&machine);
    Ok(())
}

/// Ends what an earlier setup started, by its record; engines of others are left alone.
fn down(sh: &Shell) -> Result<()> {
    let machine = Machine::inspect(sh)?;
    let mut ended = 0;
    for service in service::ALL {
        if service.stop(&machine.state)? {
            eprintln!("ended {}", service.name);
            ended += 1;
            if service == service::ROOTLESS {
                end_pause(&machine)?;
            }
        }
    }
    if ended == 0 {
        eprintln!("nothing to end: no engine was started by `cargo xtask setup`");
    }
    Ok(())
}

/// Ends the process that holds the namespaces of rootless Podman; the service leaves it behind.
/// Its pid stands in a file of the unprivileged user, so it must be that user's process.
fn end_pause(machine: &Machine) -> Result<()> {
    let (Some(dir), Some(account)) = (machine.runtime_dir(), &machine.rootless.account) else {
        return Ok(());
    };
    let text = fs::read_to_string(dir.join("libpod/tmp/pause.pid")).unwrap_or_default();
    let Ok(pid) = text.trim().parse::<i32>() else {
        return Ok(());
    };
    if fs::metadata(format!("/proc/{pid}")).is_ok_and(|process| process.uid() == account.uid) {
        service::signal(&[pid], Signal::TERM)?;
    }
    Ok(())
}

fn show(steps: &[Step]) {
    match steps.is_empty() {
        true => eprintln!("Nothing to do: all three engines answer."),
        false => consent::show("cargo xtask setup", steps),
    }
}

/// Packages are only installed where their names are known, root's steps only done by root.
fn refuse_unknown(machine: &Machine) -> Result<()> {
    if machine.missing.is_empty() {
        return Ok(());
    }
    let programs: Vec<&str> = machine
        .missing
        .iter()
        .map(|(program, _)| *program)
        .collect();
    let packages: Vec<&str> = machine
        .missing
        .iter()
        .map(|(_, package)| *package)
        .collect();
    let command = format!(
        "apt-get install --no-install-recommends {}",
        packages.join(" ")
    );
    match (&machine.packages, machine.authority) {
        (Packages::Unknown(system), _) => bail!(
            "this is {system}, whose packages are not known here.\n\
             Missing programs: {}.\n\
             Install them, then run `cargo xtask setup` again. On Debian the command would be:\n  {command}",
            programs.join(", "),
        ),
        (Packages::Apt, Authority::User) => bail!(
            "missing programs: {}. As root, run:\n  {command}",
            programs.join(", "),
        ),
        (Packages::Apt, Authority::Root | Authority::Sudo) => Ok(()),
    }
}

/// Nothing is begun that can't be finished.
fn refuse_unable(machine: &Machine, steps: &[Step]) -> Result<()> {
    let unable: Vec<String> = steps
        .iter()
        .filter(|step| !step.may(machine.authority))
        .map(|step| format!("  - {step}"))
        .collect();
    match unable.is_empty() {
        true => Ok(()),
        false => bail!(
            "only root can do this; run `cargo xtask setup` as root:\n{}\n\
             (a socket that is there already may only need your user in the group `docker`)",
            unable.join("\n")
        ),
    }
}

fn report(machine: &Machine) {
    let mut rows = vec![
        ("docker", machine.docker_socket()),
        ("podman", machine.podman_socket()),
    ];
    rows.extend(
        machine
            .rootless_socket()
            .map(|socket| ("podman-rootless", socket)),
    );
    eprintln!("Engines:");
    for (name, socket) in rows {
        let state = match ping::answers(&socket) {
            true => "answers",
            false => "does not answer",
        };
        eprintln!("  {name:16} unix://{}  {state}", socket.display());
    }
    eprintln!("Logs and pids: {}", machine.state.display());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn action(typed: &str) -> Result<Action> {
        let words = typed.split_whitespace().map(Into::into).collect();
        let flags::XtaskCmd::Setup(flags) = flags::Xtask::from_vec(words)?.subcommand else {
            panic!("`{typed}` is another command");
        };
        Action::of(&flags)
    }

    #[test]
    fn a_dry_run_never_takes_anything_down() {
        assert_eq!(action("setup --dry-run").expect("parses"), Action::DryRun);
        assert_eq!(action("setup --down").expect("parses"), Action::Down);
        assert_eq!(
            action("setup --yes").expect("parses"),
            Action::Up(Consent::Given)
        );
        assert!(action("setup --down --dry-run").is_err());
        assert!(action("setup --kubernetes --down --dry-run").is_err());
    }
}
