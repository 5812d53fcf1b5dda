//! Keys of files that mix settings and history: which of them are history. All others, unknown
//! ones among them, are settings.

use lazaret_tree::is_like;

/// The format of a mixed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `.claude.json`.
    Json,
    /// `.codex/config.toml`.
    Toml,
}

/// The keys of one table.
#[derive(Debug)]
pub(super) struct Keys {
    /// Keys of history, separated by blanks; `*` stands for any characters.
    state: &'static str,
    /// Tables that mix both, by their key.
    tables: &'static [(&'static str, &'static Self)],
}

impl Keys {
    /// Whether a key is history.
    pub(super) fn is_state(&self, key: &str) -> bool {
        let mut patterns = self.state.split_ascii_whitespace();
        patterns.any(|pattern| is_like(pattern, key))
    }

    /// Returns the keys of a table that mixes both.
    pub(super) fn table(&self, key: &str) -> Option<&'static Self> {
        let mut tables = self.tables.iter();
        let found = tables.find(|(pattern, _)| is_like(pattern, key));
        found.map(|(_, keys)| *keys)
    }
}

/// Returns the keys of a format's file: there is one file of each.
pub(super) fn keys(format: Format) -> &'static Keys {
    match format {
        Format::Json => &CLAUDE,
        Format::Toml => &CODEX,
    }
}

/// `.claude.json` of Claude Code.
static CLAUDE: Keys = Keys {
    state: "numStartups installMethod userID machineID anonymousId firstStartTime oauthAccount \
        hasCompletedOnboarding lastOnboardingVersion lastReleaseNotesSeen lastPlanModeUse \
        changelogLastFetched cached* *Cache *Count *Counts *Fetched *MigrationComplete \
        *MigrationTimestamp tipsHistory skillUsage toolUsage hasAvailableSubscription \
        claudeCodeFirstTokenDate hasShown* hasSeen* hasIdeOnboardingBeenShown \
        hasOpusPlanDefault shiftEnterKeyBindingInstalled feedbackSurveyState githubRepoPaths \
        companion* lastSession* lastCost theme",
    tables: &[("projects", &PROJECTS)],
};

/// `projects`, by directory.
static PROJECTS: Keys = Keys {
    state: "",
    tables: &[("*", &PROJECT)],
};

static PROJECT: Keys = Keys {
    state: "history last* exampleFiles exampleFilesGeneratedAt hasCompletedProjectOnboarding \
        projectOnboardingSeenCount *Cache *Count",
    tables: &[],
};

/// `.codex/config.toml` of Codex.
static CODEX: Keys = Keys {
    state: "notice",
    tables: &[],
};
