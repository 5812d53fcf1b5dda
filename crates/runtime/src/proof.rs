//! What a container is asked to prove, and what its report proves (P12).
//!
//! The request comes from the [`HardenedSpec`] itself, so a control can't be lowered to
//! an engine and forgotten here. A report is trusted only if it is whole
//! ([`ProbeReport::parse`]), and every control is in force, or is one that has nothing to
//! apply to on this engine or host.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use lazaret_protocol::verb::{BootstrapCommand, CommandStdin};
use lazaret_protocol::{
    Control, ForeignNamespace, IdMapping, NetworkBarrier, Placement, ProbeReport, ProbeRequest,
    ReportError, ReportLine, RunCommand, SizedPath, Verb, Verdict,
};

use crate::Namespace;
use crate::{Access, ENGINE_ENV, EngineKind, EnvName, HardenedSpec, Network, UserNamespace};

/// The inodes of a kernel's first namespaces, the same everywhere (`PROC_*_INIT_INO` in the
/// kernel's `include/linux/proc_ns.h`).
const INITIAL_NAMESPACES: [(&str, u64); 5] = [
    ("cgroup", 0xEFFF_FFFB),
    ("pid", 0xEFFF_FFFC),
    ("user", 0xEFFF_FFFD),
    ("uts", 0xEFFF_FFFE),
    ("ipc", 0xEFFF_FFFF),
];

/// Which controls a container must prove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    not_applicable: BTreeSet<Control>,
}

/// How a control was proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// It is in force.
    InForce,
    /// There is nothing that it could apply to.
    NotApplicable,
}

/// One line of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenControl {
    /// The control.
    pub control: Control,
    /// How.
    pub proof: Proof,
    /// The porter's words, printable ASCII.
    pub detail: String,
}

/// A container whose every control is proven. Only [`HardenedSpec::judge`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a command may be started only in a container that is proven"]
pub struct Proven {
    controls: Vec<ProvenControl>,
    placement: Placement,
}

impl Proven {
    /// Returns the controls in the order of their case ids.
    pub fn controls(&self) -> &[ProvenControl] {
        &self.controls
    }

    /// Returns where the proof was made: what a later process is compared with.
    pub fn placement(&self) -> Placement {
        self.placement
    }
}

/// Why a container is not proven. The start is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeFailure {
    /// A control is not in force.
    #[error("{control} is not in force: {detail}")]
    NotInForce {
        /// The control.
        control: Control,
        /// What was found, printable ASCII.
        detail: String,
        /// The further controls that are not in force either.
        others: Vec<Control>,
    },
    /// The porter found nothing that the control could apply to, but there is.
    #[error("{control} was not checked: {detail}")]
    NotChecked {
        /// The control.
        control: Control,
        /// The porter's reason, printable ASCII.
        detail: String,
    },
    /// The report is not whole.
    #[error(transparent)]
    Report(#[from] ReportError),
}

fn judge(report: ProbeReport, expected: &Expected) -> Result<Proven, ProbeFailure> {
    let mut failed = report
        .lines
        .iter()
        .filter(|line| line.verdict == Verdict::Fail);
    if let Some(first) = failed.next() {
        return Err(ProbeFailure::NotInForce {
            control: first.control,
            detail: first.detail.clone(),
            others: failed.map(|line| line.control).collect(),
        });
    }
    let unchecked = report.lines.iter().find(|line| {
        line.verdict == Verdict::NotApplicable && !expected.not_applicable.contains(&line.control)
    });
    if let Some(line) = unchecked {
        return Err(ProbeFailure::NotChecked {
            control: line.control,
            detail: line.detail.clone(),
        });
    }
    let proven = |line: ReportLine| ProvenControl {
        control: line.control,
        proof: match line.verdict {
            Verdict::NotApplicable => Proof::NotApplicable,
            Verdict::Pass | Verdict::Fail => Proof::InForce,
        },
        detail: line.detail,
    };
    Ok(Proven {
        controls: report.lines.into_iter().map(proven).collect(),
        placement: report.placement,
    })
}

impl HardenedSpec {
    /// Returns what the report must prove.
    pub fn expected(&self) -> Expected {
        let engine = self.engine();
        let mut not_applicable: BTreeSet<Control> = engine.not_applicable.keys().copied().collect();
        // The porter sees itself whether the kernel has a module that labels processes; it
        // reports a process without a label where there is one as a failure.
        not_applicable.insert(Control::LsmLabel);
        if engine.user_namespace == UserNamespace::Host {
            not_applicable.insert(Control::UserNamespace);
        }
        if self.spec().network == Network::Engine {
            not_applicable.insert(Control::NoNetwork);
        }
        Expected { not_applicable }
    }

    /// Judges the whole of a porter's report.
    ///
    /// # Errors
    /// Names the first control that is not proven.
    pub fn judge(&self, report: &[u8]) -> Result<Proven, ProbeFailure> {
        judge(ProbeReport::parse(report)?, &self.expected())
    }

    /// Returns the command that reports on every control, for [`crate::Engine::exec`].
    ///
    /// Its stdin is closed, its environment the container's, its directory the container's.
    pub fn probe_argv(&self) -> Vec<String> {
        let verb = Verb::Probe {
            limits: self.controls().ulimits.clone(),
            request: Box::new(self.request()),
        };
        verb.to_command()
    }

    /// Returns the command that becomes `command` inside, for [`crate::Engine::exec`].
    ///
    /// Everything that the agent's container runs must come this way: it is where the
    /// limits of a process are set and where leaked descriptors end.
    pub fn run_argv(&self, command: &[String]) -> Vec<String> {
        self.timed_argv(command, None)
    }

    /// As [`HardenedSpec::run_argv`], for a command that PID 1 ends after `timeout`, whether its
    /// launcher still lives or not (FLT-27).
    pub fn timed_argv(&self, command: &[String], timeout: Option<Duration>) -> Vec<String> {
        self.run(command, timeout, None, None)
    }

    /// As [`HardenedSpec::timed_argv`], for a process that comes later than the container's proof:
    /// it starts only where that was made (CON-27).
    ///
    /// Its variables and its directory are those of the [`ExecSpec`](crate::ExecSpec).
    pub fn exec_argv(
        &self,
        same: Placement,
        command: &[String],
        timeout: Option<Duration>,
    ) -> Vec<String> {
        self.run(command, timeout, None, Some(same))
    }

    /// As [`HardenedSpec::timed_argv`], for a command that first reports on every control, as
    /// [`HardenedSpec::probe_argv`] does, then does what it hears on its stdin up to
    /// [`bootstrap::GO`](lazaret_protocol::bootstrap::GO) and goes to `dir`. `stdin` is what it
    /// finds there then, `env` names the variables that only it has.
    pub fn bootstrap_argv<'a>(
        &self,
        dir: &str,
        env: impl Iterator<Item = &'a EnvName>,
        command: &[String],
        timeout: Option<Duration>,
        stdin: CommandStdin,
    ) -> Vec<String> {
        let mut request = self.request();
        request.env.extend(env.map(EnvName::to_string));
        let bootstrap = BootstrapCommand {
            directory: dir.to_owned(),
            request: Some(Box::new(request)),
            stdin,
        };
        self.run(command, timeout, Some(bootstrap), None)
    }

    fn run(
        &self,
        command: &[String],
        timeout: Option<Duration>,
        bootstrap: Option<BootstrapCommand>,
        same: Option<Placement>,
    ) -> Vec<String> {
        let verb = Verb::Run(RunCommand {
            limits: self.controls().ulimits.clone(),
            without: self.engine().not_applicable.keys().copied().collect(),
            timeout,
            bootstrap,
            same,
            argv: command.to_vec(),
        });
        verb.to_command()
    }

    /// Returns what the porter compares with what it finds inside.
    pub fn request(&self) -> ProbeRequest {
        let wanted = self.required();
        let volumes = &self.spec().volumes;
        let text = |text: &&'static str| (*text).to_owned();
        let mut not_applicable: Vec<Control> =
            self.engine().not_applicable.keys().copied().collect();
        if self.spec().network == Network::Engine {
            not_applicable.push(Control::NoNetwork);
        }
        ProbeRequest {
            uid: wanted.user.uid,
            gid: wanted.user.gid,
            capabilities: capability_mask(&wanted.cap_add),
            shm: wanted.shm_size,
            pids: wanted.pids.into(),
            memory: wanted.memory,
            nano_cpus: wanted.nano_cpus,
            hostname: wanted.hostname.to_owned(),
            workdir: self.spec().workdir.clone(),
            ids: match self.engine().user_namespace {
                UserNamespace::Mapped => IdMapping::Mapped,
                UserNamespace::Host => IdMapping::Host,
            },
            network: match self.engine().kind {
                EngineKind::Kubernetes => NetworkBarrier::NoSocket,
                _ => NetworkBarrier::NoInterface,
            },
            tmpfs: wanted
                .tmpfs
                .iter()
                .map(|mount| SizedPath {
                    path: mount.target.to_string(),
                    bytes: mount.size,
                })
                .collect(),
            masked: wanted.masked_paths.iter().map(text).collect(),
            read_only: wanted.read_only_paths.iter().map(text).collect(),
            volumes: volumes.iter().map(|volume| volume.target.clone()).collect(),
            read_only_volumes: volumes
                .iter()
                .filter(|volume| volume.access == Access::ReadOnly)
                .map(|volume| volume.target.clone())
                .collect(),
            ulimits: wanted.ulimits.clone(),
            foreign_namespaces: foreign_namespaces(self)
                .into_iter()
                .map(|(kind, inode)| ForeignNamespace {
                    kind: kind.to_owned(),
                    inode,
                })
                .collect(),
            not_applicable,
            env: (wanted.env.keys().cloned())
                .chain(ENGINE_ENV.iter().map(text))
                .collect(),
        }
    }
}

/// Returns the namespaces that must not be the container's: the kernel's first ones, and
/// those of this process where the engine is on the same kernel.
fn foreign_namespaces(spec: &HardenedSpec) -> BTreeSet<(&'static str, u64)> {
    let wanted = spec.required();
    let mut foreign = BTreeSet::new();
    for (kind, initial) in INITIAL_NAMESPACES {
        let is_private = match kind {
            "cgroup" => wanted.cgroup == Namespace::Private,
            "user" => spec.engine().user_namespace == UserNamespace::Mapped,
            _ => true,
        };
        if !is_private {
            continue;
        }
        foreign.insert((kind, initial));
        foreign.extend(own_namespace(spec, kind));
    }
    // A gateway has a network, and it must not be the host's.
    foreign.extend(own_namespace(spec, "net"));
    foreign
}

/// Returns a namespace of this process, where the engine is on the same kernel.
fn own_namespace(spec: &HardenedSpec, kind: &'static str) -> Option<(&'static str, u64)> {
    let is_local = spec.engine().endpoint.starts_with("unix://");
    let own = is_local.then(|| fs::metadata(format!("/proc/self/ns/{kind}")))?;
    Some((kind, own.ok()?.ino()))
}

/// Returns the bits of `capabilities` (`man 7 capabilities`); only what a spec can ask for.
fn capability_mask(capabilities: &[&str]) -> u64 {
    capabilities
        .iter()
        .map(|name| match *name {
            "DAC_READ_SEARCH" => 1 << 2,
            "NET_RAW" => 1 << 13,
            _ => 1 << 63,
        })
        .fold(0, |mask, bit: u64| mask | bit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harden::tests::{engine, rootless_podman, spec};

    fn hardened() -> HardenedSpec {
        HardenedSpec::new(spec(), &engine(EngineKind::Docker)).expect("enforceable")
    }

    fn healthy() -> String {
        let lines = Control::ALL[..24].iter();
        let mut report: String = lines
            .map(|control| format!("{} pass fine\n", control.id()))
            .collect();
        report.push_str("place mnt=1,pid=2,net=3,ipc=4,uts=5,user=6,cgroup=7,root=8\nend 24\n");
        report
    }

    #[track_caller]
    fn outcome(report: &str) -> String {
        match hardened().judge(report.as_bytes()) {
            Ok(proven) => format!("{} proven", proven.controls().len()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn p12_only_a_whole_report_proves() {
        let report = healthy();
        assert_eq!(outcome(&report), "24 proven");
        for control in &Control::ALL[..24] {
            let line = format!("{} pass fine\n", control.id());
            assert_eq!(
                outcome(&report.replace(&line, "")),
                format!("{control} was not reported")
            );
            let failed = report.replace(&line, &format!("{} fail broken\n", control.id()));
            assert_eq!(
                outcome(&failed),
                format!("{control} is not in force: broken")
            );
        }
    }

    #[test]
    fn p12_every_report_that_is_cut_short_is_refused() {
        let report = healthy();
        for end in 0..report.len() {
            let cut = outcome(&report[..end]);
            assert!(!cut.ends_with("proven"), "cut at {end}: {cut}");
        }
    }

    #[test]
    fn p12_what_our_porter_does_not_write_is_refused() {
        let report = healthy();
        let with = |from: &str, to: &str| outcome(&report.replacen(from, to, 1));
        let malformed = "line 4 of the report of the controls makes no sense";
        let no_end = "the report of the controls has no end";
        assert_eq!(with("CON-04 pass", "CON-04 maybe"), malformed);
        assert_eq!(with("CON-04 pass", "CON-99 pass"), malformed);
        assert_eq!(with("CON-04 pass fine", "CON-04 pass"), malformed);
        assert_eq!(with("CON-04 pass fine", "CON-04 pass \u{1b}[0m"), malformed);
        assert_eq!(with("CON-04 pass fine", "CON-04 pass fine\r"), malformed);
        assert_eq!(with("end 24", "end 23"), no_end);
        assert_eq!(
            with("end 24\n", "end 24\nCON-25 pass\n"),
            "line 27 of the report of the controls makes no sense"
        );
        assert_eq!(
            with("CON-04 pass", "CON-03 pass"),
            "CON-04 seccomp was not reported"
        );
    }

    #[test]
    fn p12_not_applicable_is_believed_only_where_it_may_be() {
        let without = |control: &str, engine: &crate::EngineInfo| {
            let report = healthy().replace(&format!("{control} pass"), &format!("{control} n/a"));
            let spec = HardenedSpec::new(spec(), engine).expect("enforceable");
            match spec.judge(report.as_bytes()) {
                Ok(_) => "proven".to_owned(),
                Err(error) => error.to_string(),
            }
        };
        let docker = engine(EngineKind::Docker);
        assert_eq!(without("CON-13", &docker), "proven");
        assert_eq!(without("CON-14", &docker), "proven");
        assert_eq!(
            without("CON-16", &docker),
            "CON-16 memory limit was not checked: fine"
        );
        assert_eq!(without("CON-16", &rootless_podman()), "proven");
        assert_eq!(
            without("CON-14", &rootless_podman()),
            "CON-14 user namespace was not checked: fine"
        );
    }

    #[test]
    fn commands_run_behind_the_porter() {
        let spec = HardenedSpec::new(spec(), &rootless_podman()).expect("enforceable");
        insta::assert_snapshot!(spec.run_argv(&["sh".to_owned(), "-c".to_owned()]).join(" "),
            @"/lazaret/porter run --limit core=0 --limit fsize=1073741824 --limit nofile=20000 --limit nproc=100 --limit data=268435456 --without CON-15 --without CON-16 --without CON-17 -- sh -c");
        let name: EnvName = "TOKEN".parse().unwrap();
        let minute = Some(Duration::from_secs(60));
        insta::assert_snapshot!(spec.timed_argv(&["sh".to_owned()], minute)[18..].join(" "),
            @"--timeout 60000 -- sh");
        let bootstrap = |timeout| {
            let command = ["sh".to_owned()];
            let stdin = CommandStdin::Empty;
            spec.bootstrap_argv(
                "/workspace/a b",
                [&name].into_iter(),
                &command,
                timeout,
                stdin,
            )
        };
        assert_eq!(
            bootstrap(minute)[18..21],
            ["--timeout", "60000", "--poised"]
        );
        let bootstrap = bootstrap(None);
        insta::assert_snapshot!(bootstrap[12..22].join("|"),
            @"--without|CON-15|--without|CON-16|--without|CON-17|--poised|/workspace/a b|--expect|uid=1000");
        let placement = Placement::new([1, 2, 3, 4, 5, 6, 7, 8]);
        let later = spec.exec_argv(placement, &["sh".to_owned()], None);
        insta::assert_snapshot!(later[18..].join(" "),
            @"--same mnt=1,pid=2,net=3,ipc=4,uts=5,user=6,cgroup=7,root=8 -- sh");
        // The same questions as the probe's, and the command's own variables.
        let asked = &spec.probe_argv()[12..];
        assert_eq!(&bootstrap[20..20 + asked.len()], asked);
        assert_eq!(
            bootstrap[20 + asked.len()..],
            ["--expect", "env=TOKEN", "--", "sh"]
        );
    }

    #[test]
    fn the_expectations_follow_the_spec() {
        let mut spec = hardened();
        // The numbers of this process's own namespaces differ from machine to machine.
        spec.engine.endpoint = "ssh://elsewhere".to_owned();
        let pairs = spec.request().to_pairs();
        let pairs: Vec<_> = pairs
            .iter()
            .filter(|(key, _)| !matches!(*key, "masked" | "env"))
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        insta::assert_snapshot!(pairs.join("\n"), @"
        uid=1000
        gid=1000
        caps=0
        shm=33554432
        pids=100
        memory=268435456
        cpus=1500000000
        hostname=lazaret
        workdir=/workspace
        userns=host
        no-network=interface
        tmpfs=/run:16777216
        tmpfs=/tmp:67108864
        tmpfs=/var/tmp:67108864
        tmpfs=/home/agent:16777216
        readonly=/proc/bus
        readonly=/proc/fs
        readonly=/proc/irq
        readonly=/proc/sys
        readonly=/proc/sysrq-trigger
        volume=/workspace
        ulimit=core=0
        ulimit=fsize=1073741824
        ulimit=nofile=20000
        ulimit=nproc=32768
        foreign-ns=cgroup:4026531835
        foreign-ns=ipc:4026531839
        foreign-ns=pid:4026531836
        foreign-ns=uts:4026531838
        ");
    }
}
