//! `Index`: what is kept of each group's mail, and how mail changes it. No I/O.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use lazaret_protocol::{FileTime, MAX_MAIL_REMOVED, MailEntry, MailId, OutBox};
use lazaret_tree::escape;
use lazaret_validator::HandedOut;
use serde::{Deserialize, Serialize};

use super::message::Mail;
use super::refusal::Refusal;
use super::roster::Roster;
use super::when::When;

/// The most files that are taken or refused in one minute.
pub const MOST_A_MINUTE: u32 = 100;

/// The most messages that wait of one group.
pub const MOST_WAITING: usize = 1000;

/// The most tasks of one group.
pub const MOST_TASKS: usize = 100;

/// The most refusals that are told.
const MOST_REFUSED: usize = 100;

/// The most files whose removal is not certain; half of what can be ordered, so that all of them
/// and those of one more look can.
const MOST_TAKEN: usize = MAX_MAIL_REMOVED / 2;

/// What is kept of all groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// The number of the last message.
    pub last: u64,
    /// What is kept of each.
    pub groups: BTreeMap<String, Kept>,
}

/// What is kept of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// The numbers of what waits for the host's program.
    pub waiting: BTreeSet<u64>,
    /// Files that were stored or refused, and may still lie inside.
    pub taken: BTreeSet<Taken>,
    /// Files that were no JSON at the last look.
    pub half: BTreeSet<Place>,
    /// What was refused, the oldest first.
    pub refused: VecDeque<Refused>,
    /// Its tasks, by name.
    pub tasks: BTreeMap<String, Task>,
    /// How much was taken lately.
    pub minute: Minute,
}

/// A name in a box.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "(bool, Vec<u8>)", into = "(bool, Vec<u8>)")]
pub struct Place {
    out_box: OutBox,
    name: Vec<u8>,
}

/// A file, as [`MailId`] tells it from others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Taken {
    place: Place,
    ino: u64,
    seconds: i64,
    nanos: u32,
}

/// Mail that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The box and the file's name, escaped.
    pub file: String,
    /// The stable word for the reason.
    pub reason: String,
    /// The reason in words.
    pub text: String,
    /// When, in seconds since 1970.
    pub at: u64,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// When it is due.
    pub when: When,
    /// What is asked then.
    pub prompt: String,
    /// Whether it is run.
    pub state: TaskState,
}

/// Whether a task is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskState {
    /// It is.
    Active,
    /// Not for now.
    Paused,
}

/// How much was taken in a minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Minute {
    began: u64,
    count: u32,
}

/// Mail that was accepted, for the host's program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// Its number, by which it is settled.
    pub id: u64,
    /// Who sent it.
    pub group: String,
    /// When it was taken, in seconds since 1970.
    pub at: u64,
    /// It.
    pub mail: Mail,
}

impl Place {
    fn of(id: &MailId) -> Self {
        Self {
            out_box: id.out_box,
            name: id.name.clone(),
        }
    }
}

/// Reads the file's form: whether it is the box of tasks, and the name.
impl From<(bool, Vec<u8>)> for Place {
    fn from((is_task, name): (bool, Vec<u8>)) -> Self {
        let out_box = match is_task {
            true => OutBox::Tasks,
            false => OutBox::Messages,
        };
        Self { out_box, name }
    }
}

impl From<Place> for (bool, Vec<u8>) {
    fn from(Place { out_box, name }: Place) -> Self {
        (out_box == OutBox::Tasks, name)
    }
}

impl Taken {
    fn of(id: &MailId) -> Self {
        Self {
            place: Place::of(id),
            ino: id.ino,
            seconds: id.changed.seconds,
            nanos: id.changed.nanos,
        }
    }

    fn id(&self) -> MailId {
        let Place { out_box, name } = self.place.clone();
        MailId {
            out_box,
            name,
            ino: self.ino,
            changed: FileTime {
                seconds: self.seconds,
                nanos: self.nanos,
            },
        }
    }
}

impl Minute {
    /// Counts one more; false if that is too much.
    fn take(&mut self, now: u64) -> bool {
        // A clock that was set back begins anew.
        if now < self.began || now - self.began >= 60 {
            *self = Self {
                began: now,
                count: 0,
            };
        }
        let has_room = self.count < MOST_A_MINUTE;
        self.count += u32::from(has_room);
        has_room
    }
}

/// Passes mail on that holds no login, however JSON has escaped it.
fn without_login(mail: Mail, handed: &HandedOut) -> Result<Mail, Refusal> {
    let text = serde_json::to_vec(&mail).map_err(|error| Refusal::Schema(error.to_string()))?;
    match handed.login_in(&text) {
        Some(name) => Err(Refusal::Login(name.to_owned())),
        None => Ok(mail),
    }
}

impl Index {
    /// Returns what is kept of a group.
    pub fn of(&mut self, group: &str) -> &mut Kept {
        self.groups.entry(group.to_owned()).or_default()
    }

    /// Takes what was found, in order, as far as there is room; the rest stays where it is. What
    /// was taken before is not taken again. Returns what was accepted.
    pub fn take(
        &mut self,
        roster: &Roster,
        found: &[(MailId, MailEntry)],
        handed: &HandedOut,
        now: u64,
    ) -> Vec<Accepted> {
        let group = roster.own.group.clone();
        let half = std::mem::take(&mut self.of(&group).half);
        let mut accepted = Vec::new();
        for (id, entry) in found {
            let (taken, place) = (Taken::of(id), Place::of(id));
            if self.of(&group).taken.contains(&taken) {
                continue;
            }
            let read = Mail::read(id.out_box, entry);
            if read.as_ref().is_err_and(Refusal::may_pass) && !half.contains(&place) {
                self.of(&group).half.insert(place);
                continue;
            }
            let kept = self.of(&group);
            let has_room = kept.waiting.len() < MOST_WAITING && kept.taken.len() < MOST_TAKEN;
            if !has_room || !kept.minute.take(now) {
                break;
            }
            kept.taken.insert(taken);
            let judged = read.and_then(|mail| without_login(mail, handed));
            match judged.and_then(|mail| self.change(roster, mail)) {
                Ok(mail) => {
                    self.last += 1;
                    let id = self.last;
                    self.of(&group).waiting.insert(id);
                    accepted.push(Accepted {
                        id,
                        group: group.clone(),
                        at: now,
                        mail,
                    });
                }
                Err(refusal) => self.of(&group).refuse(id, &refusal, now),
            }
        }
        accepted
    }

    /// Does what mail says to the tasks. Returns it with the group whose task it is.
    fn change(&mut self, roster: &Roster, mail: Mail) -> Result<Mail, Refusal> {
        match mail {
            Mail::Message { ref to, .. } => {
                roster.check_chat(to)?;
                Ok(mail)
            }
            Mail::Schedule {
                id,
                when,
                prompt,
                group,
            } => {
                let owner = roster.owner(group.as_deref())?;
                let tasks = &mut self.of(&owner).tasks;
                if tasks.len() >= MOST_TASKS && !tasks.contains_key(&id) {
                    return Err(Refusal::Full(MOST_TASKS));
                }
                let task = Task {
                    when: when.clone(),
                    prompt: prompt.clone(),
                    state: TaskState::Active,
                };
                tasks.insert(id.clone(), task);
                let group = Some(owner);
                Ok(Mail::Schedule {
                    id,
                    when,
                    prompt,
                    group,
                })
            }
            Mail::Pause { id, group } => {
                let group = self.set(roster, &id, group, TaskState::Paused)?;
                Ok(Mail::Pause { id, group })
            }
            Mail::Resume { id, group } => {
                let group = self.set(roster, &id, group, TaskState::Active)?;
                Ok(Mail::Resume { id, group })
            }
            Mail::Cancel { id, group } => {
                let owner = roster.owner(group.as_deref())?;
                match self.of(&owner).tasks.remove(&id) {
                    Some(_) => Ok(Mail::Cancel {
                        id,
                        group: Some(owner),
                    }),
                    None => Err(Refusal::Task(id)),
                }
            }
        }
    }

    fn set(
        &mut self,
        roster: &Roster,
        id: &str,
        group: Option<String>,
        state: TaskState,
    ) -> Result<Option<String>, Refusal> {
        let owner = roster.owner(group.as_deref())?;
        match self.of(&owner).tasks.get_mut(id) {
            Some(task) => task.state = state,
            None => return Err(Refusal::Task(id.to_owned())),
        }
        Ok(Some(owner))
    }

    /// Forgets tasks that were due once, and are over.
    pub fn forget_over(&mut self, now: u64) {
        for kept in self.groups.values_mut() {
            kept.tasks.retain(|_, task| !task.when.is_over(now));
        }
    }
}

impl Kept {
    fn refuse(&mut self, id: &MailId, refusal: &Refusal, at: u64) {
        if self.refused.len() == MOST_REFUSED {
            self.refused.pop_front();
        }
        self.refused.push_back(Refused {
            file: format!("{}/{}", id.out_box.name(), escape(&id.name)),
            reason: refusal.code().to_owned(),
            text: refusal.to_string(),
            at,
        });
    }

    /// Returns the files that are to be removed inside.
    pub fn to_remove(&self) -> Vec<MailId> {
        self.taken.iter().map(Taken::id).collect()
    }

    /// Notes that files are removed inside.
    pub fn removed(&mut self, ids: &[MailId]) {
        for id in ids {
            self.taken.remove(&Taken::of(id));
        }
    }
}
