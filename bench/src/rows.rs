//! The rows of the table: what is compared with what, and how it should come out.

use super::engine::EngineName;
use super::series::{Key, Series};

/// A ratio of two series, round by round.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// What `--only` looks for, and the JSON's name.
    pub(super) name: &'static str,
    /// What a reader sees.
    pub(super) what: String,
    /// The same for rows of several engines.
    pub(super) title: String,
    pub(super) engine: Option<EngineName>,
    pub(super) own: Key,
    /// `None` for a size, which stands for itself.
    pub(super) reference: Option<Key>,
    /// Most that it should be; `None` where nothing is promised.
    pub(super) target: Option<f64>,
}

/// How a row is promised: on each engine, or not at all.
struct Target {
    docker: Option<f64>,
    podman: Option<f64>,
}

impl Target {
    fn of(&self, engine: EngineName) -> Option<f64> {
        match engine {
            EngineName::Docker => self.docker,
            EngineName::Podman | EngineName::PodmanRootless => self.podman,
        }
    }
}

/// Every row, in the order in which it is shown.
pub(super) fn rows(engines: &[EngineName]) -> Vec<Row> {
    let mut rows = vec![
        Row {
            name: "packer",
            what: "packer to nowhere / a walk that only reads".to_owned(),
            title: "packer to nowhere / a walk that only reads".to_owned(),
            engine: None,
            own: (None, Series::Packer),
            reference: Some((None, Series::ReadingWalk)),
            target: Some(1.10),
        },
        Row {
            name: "packer-memory",
            what: "packer's peak memory, large, in MiB".to_owned(),
            title: "packer's peak memory, large".to_owned(),
            engine: None,
            own: (None, Series::PackerPeak),
            reference: None,
            target: Some(16.0),
        },
    ];
    for kind in KINDS {
        for &engine in engines {
            rows.extend(kind.on(engine));
        }
    }
    rows
}

/// A row on every engine.
struct Kind {
    name: &'static str,
    what: &'static str,
    own: Series,
    reference: Series,
    target: Target,
}

impl Kind {
    /// `None` where it is not measured: the large tree is for the engine that a target is
    /// set for.
    fn on(&self, engine: EngineName) -> Option<Row> {
        let is_large = matches!(
            self.own,
            Series::FewOutLarge | Series::EditsFoundLarge | Series::EditsInLarge
        );
        if is_large && engine != EngineName::Docker {
            return None;
        }
        let reference = match self.reference {
            Series::HostTarLarge => (None, self.reference),
            series => (Some(engine), series),
        };
        let what = self.what.replace("CLI", engine.program());
        Some(Row {
            name: self.name,
            what: match engine {
                EngineName::Docker => what.replace("cp -,", "cp -a -,"),
                _ => what,
            },
            title: self.what.replace("CLI ", ""),
            engine: Some(engine),
            own: (Some(engine), self.own),
            reference: Some(reference),
            target: self.target.of(engine),
        })
    }
}

const fn both(most: f64) -> Target {
    Target {
        docker: Some(most),
        podman: Some(most),
    }
}

const KINDS: &[Kind] = &[
    Kind {
        name: "copy-in",
        what: "copy-in, medium / host tar c | tar x",
        own: Series::CopyIn,
        reference: Series::HostTar,
        target: Target {
            docker: Some(1.45),
            podman: Some(2.2),
        },
    },
    Kind {
        name: "copy-in-tar",
        what: "copy-in / tar c | CLI cp -, medium",
        own: Series::CopyIn,
        reference: Series::TarIntoCp,
        target: Target {
            docker: Some(0.50),
            podman: None,
        },
    },
    Kind {
        name: "copy-in-cp",
        what: "copy-in / CLI cp DIR, medium",
        own: Series::CopyIn,
        reference: Series::CpIn,
        target: Target {
            docker: Some(0.35),
            podman: None,
        },
    },
    Kind {
        name: "copy-out",
        what: "everything copied out / CLI cp, medium",
        own: Series::CopyOut,
        reference: Series::CpOut,
        target: Target {
            docker: Some(0.55),
            podman: Some(0.22),
        },
    },
    Kind {
        name: "few-out-large",
        what: "20 changed files out of the large tree / CLI cp of everything",
        own: Series::FewOutLarge,
        reference: Series::CpOutLarge,
        target: Target {
            docker: Some(0.03),
            podman: None,
        },
    },
    Kind {
        name: "few-out",
        what: "20 changed files out of the medium tree / CLI cp of everything",
        own: Series::FewOut,
        reference: Series::CpOut,
        target: Target {
            docker: None,
            podman: Some(0.04),
        },
    },
    Kind {
        name: "start-cold",
        what: "Enter to first byte, medium / CLI create, tar | cp, start -a",
        own: Series::ColdStart,
        reference: Series::NaiveStart,
        target: both(0.50),
    },
    Kind {
        name: "start-pool",
        what: "Enter to first byte, container from the pool, medium / the same",
        own: Series::PoolStart,
        reference: Series::NaiveStart,
        target: Target {
            docker: None,
            podman: None,
        },
    },
    Kind {
        name: "start-kept",
        what: "Enter to first byte, kept copy, 20 edits of the host / the same",
        own: Series::KeptStart,
        reference: Series::NaiveStart,
        target: both(0.12),
    },
    Kind {
        name: "edits-found-large",
        what: "20 edits of the host in the large tree, scan and diff (--dry-run) / host tar c | tar x",
        own: Series::EditsFoundLarge,
        reference: Series::HostTarLarge,
        target: Target {
            docker: Some(0.06),
            podman: None,
        },
    },
    Kind {
        name: "edits-in-large",
        what: "20 edits of the host into a kept copy, large, scan to receipt / host tar c | tar x",
        own: Series::EditsInLarge,
        reference: Series::HostTarLarge,
        target: Target {
            docker: None,
            podman: None,
        },
    },
    Kind {
        name: "start-small",
        what: "Enter to first byte, 200 files / CLI run --rm without files",
        own: Series::SmallStart,
        reference: Series::PlainRun,
        target: Target {
            docker: None,
            podman: None,
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_an_engine_name_its_own_program() {
        let rows = rows(&[EngineName::Docker, EngineName::PodmanRootless]);
        let text: Vec<_> = rows
            .iter()
            .filter(|row| row.name == "copy-in-tar")
            .collect();
        assert_eq!(text[0].what, "copy-in / tar c | docker cp -a -, medium");
        assert_eq!(text[1].what, "copy-in / tar c | podman cp -, medium");
        assert_eq!((text[0].target, text[1].target), (Some(0.5), None));
        // What happens without an engine is measured beside each of them.
        let host: Vec<_> = rows.iter().filter(|row| row.name == "copy-in").collect();
        assert!(
            host.iter()
                .all(|row| row.reference == Some((row.engine, Series::HostTar)))
        );
    }
}
