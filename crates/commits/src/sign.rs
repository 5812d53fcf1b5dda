//! `Signer`: makes commits anew, signed with the user's key.
//!
//! A signature is part of a commit, and so is the id of each parent: every new commit of a tip
//! gets another id. Tree, author, both dates and message stay; the committer is the user, since
//! that is whom the key belongs to. Further headers, such as an earlier signature, are left out.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use lazaret_transfer::ObjectId;

use crate::commit::Commit;
use crate::examine::{Examination, ExaminedTip};
use crate::git::{Git, GitError, IsCancelled};
use crate::quarantine::Quarantine;

/// What of the user's configuration says who signs, and how (git-config(1)).
const KEYS: &str = r"^(user\.(name|email|signingkey)|committer\.(name|email)|gpg\..*)$";

/// Why a tip was not signed.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// Git can't be run, or an end is wanted.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The user's program made no signature.
    #[error("commit {commit} can't be signed: {words}")]
    Refused {
        /// The commit, as it was made inside.
        commit: ObjectId,
        /// What git said, escaped.
        words: String,
    },
    /// It is an annotated tag, which would have to be made anew as well.
    #[error("an annotated tag can't be signed anew; without --sign it can be landed")]
    Tag,
}

/// How the user signs: settings of git's, and the variables by which programs find keys.
#[derive(Debug, Clone)]
pub struct SigningSettings {
    settings: Vec<String>,
    variables: Vec<(OsString, OsString)>,
}

impl SigningSettings {
    /// Reads the settings as git does in the user's workspace. No program runs.
    ///
    /// # Errors
    /// Git's.
    pub fn read(
        git: &Git,
        workspace: &Path,
        variables: Vec<(OsString, OsString)>,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Self, GitError> {
        let arguments = ["config", "--includes", "--null", "--get-regexp", KEYS];
        let call = git.call_as_user(workspace, &variables, &arguments);
        let listed = call.run(&mut io::empty(), is_cancelled)?;
        let text = match listed.code {
            // There is none.
            Some(1) => String::new(),
            _ => listed.text("read how you sign")?,
        };
        let pairs = text.split('\0').filter_map(|pair| pair.split_once('\n'));
        Ok(Self {
            settings: pairs.map(|(key, value)| format!("{key}={value}")).collect(),
            variables,
        })
    }
}

/// Which commit became which, by the id that it was made with.
pub type Signed = BTreeMap<ObjectId, ObjectId>;

/// Signs what a quarantine holds. The new commits lie in it, too.
#[derive(Debug)]
pub struct Signer<'a> {
    quarantine: &'a Quarantine,
    settings: SigningSettings,
    signed: Signed,
}

impl<'a> Signer<'a> {
    /// Starts from commits that were signed before, and are in the user's repository.
    pub fn new(quarantine: &'a Quarantine, settings: SigningSettings, signed: Signed) -> Self {
        Self {
            quarantine,
            settings,
            signed,
        }
    }

    /// Signs all new commits of a tip, and returns what it names then. `id` is what it names now.
    ///
    /// # Errors
    /// The first commit that can't be signed.
    pub fn sign(
        &mut self,
        id: ObjectId,
        tip: &ExaminedTip,
        examination: &Examination,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<ObjectId, SignError> {
        if tip.commits.is_empty() {
            return Ok(id);
        }
        if id != tip.commit {
            return Err(SignError::Tag);
        }
        for id in &tip.commits {
            let Some(examined) = examination.commit(id) else {
                continue;
            };
            if !self.signed.contains_key(id) {
                let new = self.make(id, &examined.commit, is_cancelled)?;
                self.signed.insert(*id, new);
            }
        }
        Ok(self.new_id(&tip.commit))
    }

    /// Returns which commit became which.
    pub fn into_signed(self) -> Signed {
        self.signed
    }

    fn new_id(&self, id: &ObjectId) -> ObjectId {
        self.signed.get(id).copied().unwrap_or(*id)
    }

    fn make(
        &self,
        id: &ObjectId,
        commit: &Commit,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<ObjectId, SignError> {
        let SigningSettings {
            settings,
            variables,
        } = &self.settings;
        let dir = self.quarantine.dir();
        let mut call = self.quarantine.git().call_as_user(dir, variables, &[]);
        for setting in settings {
            call = call.args(["-c", setting]);
        }
        let parents = commit.parents.iter().map(|parent| self.new_id(parent));
        let parents = parents.flat_map(|parent| ["-p".to_owned(), parent.to_string()]);
        let (name, address) = person(&commit.author);
        let call = call
            .args(["commit-tree", "--gpg-sign"])
            .args(parents)
            .args([commit.tree.to_string()])
            .env("GIT_DIR", dir)
            // What counts was read in the workspace.
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_NAME", name)
            .env("GIT_AUTHOR_EMAIL", address)
            .env("GIT_AUTHOR_DATE", format!("@{}", commit.dates.author))
            .env("GIT_COMMITTER_DATE", format!("@{}", commit.dates.committer));
        let ended = call.run(&mut &*commit.message, is_cancelled)?;
        let refused = |words: String| SignError::Refused { commit: *id, words };
        if !ended.is_success() {
            let words = ended.error_line();
            return Err(refused(
                words.unwrap_or_else(|| ended.failed("sign").to_string()),
            ));
        }
        let made = ended.text("sign")?;
        ObjectId::from_hex(made.as_bytes()).ok_or_else(|| refused("git named no commit".to_owned()))
    }
}

/// Takes `Name <address>` apart.
fn person(text: &[u8]) -> (&OsStr, &OsStr) {
    let mut parts = text.splitn(2, |&byte| byte == b'<');
    let name = parts.next().unwrap_or_default().trim_ascii();
    let address = parts.next().unwrap_or_default();
    let address = address.strip_suffix(b">").unwrap_or(address);
    (OsStr::from_bytes(name), OsStr::from_bytes(address))
}
