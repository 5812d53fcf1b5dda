//! `BuildEvent`: what a build is doing.

use lazaret_runtime::ContainerName;

/// What a build is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildEvent {
    /// Installs Debian packages into a new root; takes about half a minute.
    Bootstrapping {
        /// The image.
        image: String,
        /// The Debian release.
        suite: String,
    },
    /// The engine fetches a base from its registry.
    Pulling {
        /// The image.
        image: String,
        /// The base.
        base: String,
    },
    /// Another process is bootstrapping the same system; its result will be used.
    WaitingForOther {
        /// The image.
        image: String,
    },
    /// Installs a component.
    Installing {
        /// The image.
        image: String,
        /// The component.
        component: String,
        /// The source that is tried.
        source: String,
    },
    /// An install step runs in this container; removing it ends the step.
    StepStarted {
        /// The container.
        container: ContainerName,
    },
    /// A source did not give what is wanted; the next one is tried.
    SourceFailed {
        /// The image.
        image: String,
        /// The component.
        component: String,
        /// The source.
        source: String,
        /// Why not.
        reason: String,
    },
    /// Runs the declared commands inside.
    Verifying {
        /// The image.
        image: String,
    },
    /// A line that the running step wrote, escaped.
    Output {
        /// The image.
        image: String,
        /// Without its line end.
        line: String,
    },
    /// Removes logs, device nodes, set-id bits and everything that differs between
    /// two builds.
    Tidying {
        /// The image.
        image: String,
    },
    /// Hands the archive to the engine.
    Loading {
        /// The image.
        image: String,
        /// The archive's size.
        bytes: u64,
    },
    /// The image's packages are older than its `max_age`, but could not be installed
    /// anew: the old ones are used, and no new try is made for an hour.
    KeptOld {
        /// The image.
        image: String,
        /// Why there is no new one.
        reason: String,
    },
}
