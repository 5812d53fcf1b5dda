//! Which of some objects the user has.
//!
//! `cat-file --batch-check` reads the user's pack directory again for every object that is
//! missing, and most of a pack is. `upload-pack` does not: its client says what it has, and the
//! answer names what both have (gitprotocol-v2, `fetch` without a `want`).

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

use lazaret_transfer::ObjectId;

use crate::git::{Git, GitError, IsCancelled};

/// An object directory, and a repository in which git can be asked about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UserObjects<'a> {
    pub(crate) git: &'a Git,
    /// The repository.
    pub(crate) dir: &'a Path,
    /// The user's objects.
    pub(crate) objects: &'a Path,
}

impl UserObjects<'_> {
    /// Returns which of these objects are there.
    ///
    /// # Errors
    /// When git can't be run or fails, or an end is wanted.
    pub(crate) fn among(
        self,
        ids: &[ObjectId],
        is_cancelled: IsCancelled<'_>,
    ) -> Result<HashSet<ObjectId>, GitError> {
        match self.acknowledged(ids, is_cancelled) {
            // Before git 2.32 it waits for a `want`.
            Err(GitError::Failed { .. }) => self.checked(ids, is_cancelled),
            found => found,
        }
    }

    fn acknowledged(
        self,
        ids: &[ObjectId],
        is_cancelled: IsCancelled<'_>,
    ) -> Result<HashSet<ObjectId>, GitError> {
        let Some(first) = ids.first() else {
            return Ok(HashSet::new());
        };
        let format = format!("object-format={}", first.object_format());
        let mut request = [packet("command=fetch"), packet(&format)].concat();
        request.push_str("0001");
        request.push_str(&packet("wait-for-done"));
        for id in ids {
            let _ = write!(request, "{}", packet(&format!("have {id}")));
        }
        request.push_str("0000");
        let arguments = ["upload-pack", "--strict", "--stateless-rpc"];
        let call = self.git.call(self.dir, &arguments).args([self.dir]);
        let call = call
            .env("GIT_PROTOCOL", "version=2")
            .env("GIT_OBJECT_DIRECTORY", self.objects);
        let answer = call
            .run(&mut request.as_bytes(), is_cancelled)?
            .text("ask for objects in your repository")?;
        let lines = answer.lines().filter_map(|line| line.get(4..));
        let ids = lines.filter_map(|line| line.strip_prefix("ACK "));
        Ok(ids
            .filter_map(|id| ObjectId::from_hex(id.as_bytes()))
            .collect())
    }

    fn checked(
        self,
        ids: &[ObjectId],
        is_cancelled: IsCancelled<'_>,
    ) -> Result<HashSet<ObjectId>, GitError> {
        let asked: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let arguments = ["cat-file", "--batch-check", "--buffer"];
        let call = self.git.call(self.dir, &arguments);
        let call = call.env("GIT_OBJECT_DIRECTORY", self.objects);
        let listed = call
            .run(&mut asked.as_bytes(), is_cancelled)?
            .text("look for the objects in your repository")?;
        let there = listed.lines().filter(|line| !line.ends_with(" missing"));
        let ids = there.filter_map(|line| line.split(' ').next());
        Ok(ids
            .filter_map(|id| ObjectId::from_hex(id.as_bytes()))
            .collect())
    }
}

/// Returns a line with its length before it (gitprotocol-common, pkt-line).
fn packet(line: &str) -> String {
    format!("{:04x}{line}\n", line.len() + 5)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn both_ways_find_what_is_loose_and_what_is_packed() {
        let git = Git::find(
            "/usr/local/bin:/usr/bin:/bin".as_ref(),
            Path::new("/nowhere"),
        );
        let git = git.expect("git");
        let go_on = || false;
        for format in ["sha1", "sha256"] {
            let root = tempfile::tempdir().expect("a directory");
            let [asking, user] = ["asking", "user"].map(|name| root.path().join(name));
            let run = |dir: &Path, arguments: &[&str], stdin: &str| {
                let ended = git.call(dir, arguments).run(&mut stdin.as_bytes(), &go_on);
                ended.expect("git runs").text("prepare").expect("it works")
            };
            let object_format = format!("--object-format={format}");
            for dir in [&asking, &user] {
                fs::create_dir(dir).expect("a directory");
                run(dir, &["init", "-q", "--bare", &object_format], "");
            }
            let write = ["hash-object", "-w", "--stdin"];
            let packed = run(&user, &write, "packed");
            run(&user, &["pack-objects", "-q", "objects/pack/pack"], &packed);
            run(&user, &["prune-packed", "-q"], "");
            let empty_tree = run(&user, &["mktree"], "");
            let loose = run(&user, &write, "loose");
            let missing = run(&user, &["hash-object", "--stdin"], "missing");
            let id = |text: &String| ObjectId::from_hex(text.as_bytes()).expect("an id");
            let ids = [&missing, &packed, &empty_tree, &loose].map(id);
            let known = UserObjects {
                git: &git,
                dir: &asking,
                objects: &user.join("objects"),
            };
            let there = HashSet::from([&packed, &empty_tree, &loose].map(id));
            assert_eq!(known.acknowledged(&ids, &go_on).expect("git runs"), there);
            assert_eq!(known.checked(&ids, &go_on).expect("git runs"), there);
        }
    }

    #[test]
    fn a_git_that_fails_says_so() {
        let git = Git::find("/usr/bin:/bin".as_ref(), Path::new("/nowhere")).expect("git");
        let root = tempfile::tempdir().expect("a directory");
        let known = UserObjects {
            git: &git,
            dir: root.path(),
            objects: root.path(),
        };
        let id = ObjectId::from_hex(&[b'1'; 40]).expect("an id");
        assert!(matches!(
            known.among(&[id], &|| false),
            Err(GitError::Failed { .. })
        ));
        assert!(
            known
                .among(&[], &|| false)
                .expect("nothing is asked")
                .is_empty()
        );
    }
}
