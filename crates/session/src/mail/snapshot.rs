//! What a command reads of its mailbox: tasks, groups, and what was refused.

use lazaret_protocol::{InFile, MAX_MAIL_IN};
use serde_json::{Value, json};

use super::index::Index;
use super::roster::Roster;

/// Returns the files for `mail/in`.
pub(super) fn files(index: &Index, roster: &Roster) -> Vec<(InFile, Vec<u8>)> {
    let own = index.groups.get(&roster.own.group);
    let refused = own.map(|kept| &kept.refused);
    let groups: Vec<_> = roster.visible().collect();
    let all = [
        (InFile::Tasks, tasks(index, roster)),
        (InFile::Groups, json!({ "groups": groups })),
        (InFile::Rejected, json!({ "rejected": refused })),
    ];
    let written = all.map(|(file, value)| (file, value.to_string().into_bytes()));
    // Only names of groups and chats could make one of them longer, and those are the user's.
    let fits = |(_, bytes): &(InFile, Vec<u8>)| bytes.len() <= MAX_MAIL_IN;
    written.into_iter().filter(fits).collect()
}

/// Returns the tasks that a group sees, as many as there is room for.
fn tasks(index: &Index, roster: &Roster) -> Value {
    let mut room = MAX_MAIL_IN / 2;
    let (mut listed, mut is_cut) = (Vec::new(), false);
    for group in roster.visible() {
        let kept = index.groups.get(&group.group);
        for (id, task) in kept.iter().flat_map(|kept| &kept.tasks) {
            let one = json!({
                "id": id,
                "group": group.group,
                "when": task.when,
                "prompt": task.prompt,
                "state": task.state,
            });
            let bytes = one.to_string().len() + 1;
            match room.checked_sub(bytes) {
                Some(left) => {
                    room = left;
                    listed.push(one);
                }
                None => is_cut = true,
            }
        }
    }
    json!({ "tasks": listed, "cut": is_cut })
}
