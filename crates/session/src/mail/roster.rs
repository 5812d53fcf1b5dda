//! `Roster`: the groups, and what each may do.

use serde::Serialize;

use super::refusal::Refusal;

/// Whether a group decides for itself only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rank {
    /// For all groups of its project.
    Main,
    /// For itself.
    Member,
}

/// A group, as far as mail is concerned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RosterEntry {
    /// Its name.
    pub group: String,
    /// Whether it decides for others.
    pub level: Rank,
    /// Its folder in the project, if it has one.
    pub folder: Option<String>,
    /// Its chats.
    pub chats: Vec<String>,
    /// Which project it is of.
    #[serde(skip)]
    pub project: String,
}

/// All groups, as one of them sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    /// The one whose mail is read.
    pub own: RosterEntry,
    /// The others.
    pub others: Vec<RosterEntry>,
}

impl Roster {
    /// Returns the groups for which this one decides, itself first.
    pub fn visible(&self) -> impl Iterator<Item = &RosterEntry> {
        let is_main = self.own.level == Rank::Main;
        let of_project = move |other: &&RosterEntry| is_main && other.project == self.own.project;
        std::iter::once(&self.own).chain(self.others.iter().filter(of_project))
    }

    /// Checks that a message may go to a chat: a member has its own ones; main has all but those
    /// of groups for which it does not decide.
    ///
    /// # Errors
    /// The chat is another group's.
    pub fn check_chat(&self, chat: &String) -> Result<(), Refusal> {
        let is_seen = self.visible().any(|group| group.chats.contains(chat));
        let is_foreign = self.others.iter().any(|group| group.chats.contains(chat));
        match (self.own.level, is_seen, is_foreign) {
            (_, true, _) | (Rank::Main, false, false) => Ok(()),
            (Rank::Main, false, true) | (Rank::Member, false, _) => {
                Err(Refusal::Chat(chat.clone()))
            }
        }
    }

    /// Returns the group whose task is meant: the one that is named, else this one.
    ///
    /// # Errors
    /// This one does not decide for it.
    pub fn owner(&self, named: Option<&str>) -> Result<String, Refusal> {
        let Some(named) = named else {
            return Ok(self.own.group.clone());
        };
        match self.visible().any(|group| group.group == named) {
            true => Ok(named.to_owned()),
            false => Err(Refusal::Group(named.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(group: &str, level: Rank, project: &str) -> RosterEntry {
        RosterEntry {
            group: group.to_owned(),
            level,
            folder: None,
            chats: vec![format!("{group}@g.us")],
            project: project.to_owned(),
        }
    }

    #[test]
    fn mail_03_a_member_has_its_own_chats_and_tasks_only() {
        let (main, a) = (
            entry("boss", Rank::Main, "/p"),
            entry("a", Rank::Member, "/p"),
        );
        let foreign = entry("x", Rank::Member, "/q");
        let chat = |name: &str| format!("{name}@g.us");
        let member = Roster {
            own: a.clone(),
            others: vec![main.clone(), foreign.clone()],
        };
        assert_eq!(member.check_chat(&chat("a")), Ok(()));
        for other in ["boss", "x", "unknown"] {
            assert_eq!(
                member.check_chat(&chat(other)),
                Err(Refusal::Chat(chat(other)))
            );
            assert_eq!(
                member.owner(Some(other)),
                Err(Refusal::Group(other.to_owned()))
            );
        }
        assert_eq!(member.owner(None).unwrap(), "a");
        let main = Roster {
            own: main,
            others: vec![a, foreign],
        };
        for chat_name in ["boss", "a", "unknown"] {
            assert_eq!(main.check_chat(&chat(chat_name)), Ok(()));
        }
        assert_eq!(main.owner(Some("a")).unwrap(), "a");
        // Another project is another program's.
        assert!(main.check_chat(&chat("x")).is_err());
        assert!(main.owner(Some("x")).is_err());
    }
}
