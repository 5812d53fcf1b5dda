//! A record for tests.

use std::time::SystemTime;

use lazaret_gate::ignored::IgnoredFiles;
use lazaret_gate::input::GateLimits;

use crate::store::record::{GitSelection, KeepVolume, NewRecord, Record, SelectionRecord};

/// Returns the record of a session `shop` that is being prepared.
pub(crate) fn example_record() -> Record {
    let new = NewRecord {
        id: "shop".parse().unwrap(),
        store: "0123456789abcdef".to_owned(),
        workspace: "/work".into(),
        workspace_identity: (1, 1),
        profile: "base".to_owned(),
        command: vec!["work".to_owned()],
        engine: "engine".to_owned(),
        image: "image".to_owned(),
        gate: GateLimits {
            max_entries: 1,
            max_bytes: 1,
            max_file_bytes: 1,
        },
        ignored: IgnoredFiles::Stay,
        keep: KeepVolume::UntilSettled,
        selection: SelectionRecord {
            git: GitSelection::None,
            exclude: Vec::new(),
            shared: None,
            from: None,
        },
        bounds: Default::default(),
        pr_file: None,
        egress: None,
        services: Vec::new(),
    };
    Record::new(new, SystemTime::UNIX_EPOCH)
}
