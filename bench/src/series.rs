//! What is timed: each series has one value per round.

use super::engine::EngineName;

/// One thing that is timed. `None` for the engine: it happens without one.
pub(super) type Key = (Option<EngineName>, Series);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Series {
    /// Every byte of the medium tree read, nothing done with it.
    ReadingWalk,
    /// The medium tree packed to nowhere.
    Packer,
    /// MiB that a process has held at most which packed the large tree.
    PackerPeak,
    HostTar,
    HostTarLarge,
    HostRsync,
    TarIntoCp,
    CpIn,
    CopyIn,
    CpOut,
    CpOutLarge,
    CopyOut,
    FewOut,
    FewOutLarge,
    NaiveStart,
    ColdStart,
    PoolStart,
    KeptStart,
    EditsIn,
    EditsFoundLarge,
    EditsInLarge,
    PlainRun,
    SmallStart,
    DirectFirstByte,
    GatewayFirstByte,
    DirectDownload,
    GatewayDownload,
    DirectHeld,
    GatewayHeld,
    LiveExec,
    EngineExec,
    StartAttach,
    RunShown,
    StartAttachKept,
    RunShownKept,
    LiveScreen,
    EngineScreen,
    LiveEcho,
    EngineEcho,
    /// What attach adds to the engine's echo.
    LiveEchoAdded,
    IdleProcessor,
    IdleMemory,
    ServiceStart,
    PlainServiceStart,
    AskWarm,
    AskCold,
    PlainAsk,
    AcpMessage,
    ExecMessage,
    /// What acp adds to a message over the engine's exec.
    AcpAdded,
    McpMessage,
    /// From a command's last byte to the prompt.
    AfterRun,
    AfterPlainRun,
    BuildInside,
    BuildRun,
    PlainBuildInside,
    PlainBuildRun,
    FarCopyIn,
    Scp,
    TarOverSsh,
    /// So many at once.
    RunsAtOnce(usize),
    PlainRunsAtOnce(usize),
    RunsMemory(usize),
}

impl Series {
    /// Says what it is, in the words that are typed.
    pub(super) fn label(self, engine: Option<EngineName>) -> String {
        let program = engine.map_or("", EngineName::program);
        match self {
            Self::ReadingWalk => "a walk that only reads, medium".to_owned(),
            Self::Packer => "lazaret's packer to nowhere, medium".to_owned(),
            Self::PackerPeak => "peak memory of the packer, large".to_owned(),
            Self::HostTar => "host: tar c | tar x beside it, medium".to_owned(),
            Self::HostTarLarge => "host: tar c | tar x, large".to_owned(),
            Self::HostRsync => "host: rsync -a, medium".to_owned(),
            Self::TarIntoCp if engine == Some(EngineName::Docker) => {
                "tar c | docker cp -a -, medium".to_owned()
            }
            Self::TarIntoCp => format!("tar c | {program} cp -, medium"),
            Self::CpIn => format!("{program} cp DIR, medium"),
            Self::CopyIn => "lazaret: copy-in, medium".to_owned(),
            Self::CpOut => format!("{program} cp of everything, medium"),
            Self::CpOutLarge => format!("{program} cp of everything, large"),
            Self::CopyOut => "lazaret: everything copied out, medium".to_owned(),
            Self::FewOut => "lazaret: 20 changed files out, medium".to_owned(),
            Self::FewOutLarge => "lazaret: 20 changed files out, large".to_owned(),
            Self::NaiveStart => {
                format!("{program} create, tar | {program} cp, start -a: first byte, medium")
            }
            Self::ColdStart => "lazaret run: first byte, medium".to_owned(),
            Self::PoolStart => "lazaret run from the pool: first byte, medium".to_owned(),
            Self::KeptStart => "lazaret run on a kept copy: first byte, medium".to_owned(),
            Self::EditsIn => "lazaret: 20 edits of the host in, medium".to_owned(),
            Self::EditsFoundLarge => "lazaret: 20 edits of the host found, large".to_owned(),
            Self::EditsInLarge => "lazaret: 20 edits of the host in, large".to_owned(),
            Self::PlainRun => format!("{program} run --rm: first byte, nothing copied"),
            Self::SmallStart => "lazaret run: first byte, small".to_owned(),
            Self::DirectFirstByte => "direct: first byte of a connection".to_owned(),
            Self::GatewayFirstByte => "gateway: first byte of a connection".to_owned(),
            Self::DirectDownload => "direct: 1 GiB".to_owned(),
            Self::GatewayDownload => "gateway: 1 GiB".to_owned(),
            Self::DirectHeld => "direct: 500 connections".to_owned(),
            Self::GatewayHeld => "gateway: 500 connections".to_owned(),
            Self::LiveExec => "lazaret exec into a living session".to_owned(),
            Self::EngineExec => format!("{program} exec into the same container"),
            Self::StartAttach => "lazaret start and attach: first words".to_owned(),
            Self::RunShown => "lazaret run: first words".to_owned(),
            Self::StartAttachKept => "lazaret start and attach, copy kept: first words".to_owned(),
            Self::RunShownKept => "lazaret run, copy kept: first words".to_owned(),
            Self::LiveScreen => "lazaret attach: first screen".to_owned(),
            Self::EngineScreen => format!("{program} exec -t: first byte"),
            Self::LiveEcho => "lazaret attach: a letter there and back".to_owned(),
            Self::EngineEcho => format!("{program} exec -it: a letter there and back"),
            Self::LiveEchoAdded => "what lazaret attach adds to that".to_owned(),
            Self::IdleProcessor => "keepers of sessions that sleep: share of a core".to_owned(),
            Self::IdleMemory => "keepers of sessions that sleep: memory".to_owned(),
            Self::ServiceStart => "lazaret run beside PostgreSQL: first byte".to_owned(),
            Self::PlainServiceStart => format!("two {program} run, PostgreSQL: first byte"),
            Self::AskWarm => "lazaret ask of a session that is up".to_owned(),
            Self::AskCold => "lazaret ask, the first of a session".to_owned(),
            Self::PlainAsk => format!("{program} run --rm -i of the same command"),
            Self::AcpMessage => "lazaret acp: a message there and back".to_owned(),
            Self::ExecMessage => format!("{program} exec -i: a message there and back"),
            Self::AcpAdded => "what lazaret acp adds to that".to_owned(),
            Self::McpMessage => "lazaret mcp: a message there and back".to_owned(),
            Self::AfterRun => "lazaret run: last byte to the prompt".to_owned(),
            Self::AfterPlainRun => format!("{program} run --rm: last byte to the prompt"),
            Self::BuildInside => "cargo build --release in lazaret run".to_owned(),
            Self::BuildRun => "lazaret run of it, applied".to_owned(),
            Self::PlainBuildInside => format!("cargo build --release in {program} run"),
            Self::PlainBuildRun => format!("{program} run of it, with a bind mount"),
            Self::FarCopyIn => "lazaret over ssh: copy-in, medium".to_owned(),
            Self::Scp => "scp -r, medium".to_owned(),
            Self::TarOverSsh => "tar c | ssh tar x, medium".to_owned(),
            Self::RunsAtOnce(count) => format!("lazaret run, {count} at once"),
            Self::PlainRunsAtOnce(count) => format!("{program} run --rm, {count} at once"),
            Self::RunsMemory(count) => format!("launchers of {count} runs at once: memory"),
        }
    }

    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::PackerPeak | Self::IdleMemory | Self::RunsMemory(_) => "MiB",
            Self::IdleProcessor => "%",
            _ => "ms",
        }
    }
}
