//! The codes that no other table holds, each with its severities, reason and cases.
//!
//! A rule that says something new says it here first: [`crate::report::Report`] asserts,
//! in debug builds, that the catalogue knows what it is given.

use crate::Severity::{self, Block, Note, Warn};

/// One row.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) code: &'static str,
    /// Each severity that a finding with this code can have.
    pub(crate) severities: &'static [Severity],
    /// Why it matters, a sentence fragment.
    pub(crate) reason: &'static str,
    /// What is looked for, when it is a list.
    pub(crate) patterns: &'static [&'static str],
    /// The cases of `threats.md`.
    pub(crate) cases: &'static [&'static str],
}

const fn row(
    code: &'static str,
    severities: &'static [Severity],
    reason: &'static str,
    cases: &'static [&'static str],
) -> Code {
    Code {
        code,
        severities,
        reason,
        patterns: &[],
        cases,
    }
}

/// What the judge says.
#[rustfmt::skip]
pub(crate) const CODES: &[Code] = &[
    row("audit.failed", &[Block], "a rule failed over it, so it is not taken for clean", &["AUD-09"]),
    row("content.became_binary", &[Warn], "was text, and a review can't read it any more", &["AUD-05"]),
    row("content.control", &[Warn], "a line that is added has bytes that a terminal obeys: escape sequences, carriage returns, backspaces", &["AUD-06"]),
    row("content.invisible", &[Warn], "a line that is added has characters that are not seen or reorder others", &["AUD-06"]),
    row("content.machine_code", &[Warn], "starts like a program or library, which a review can't read", &["SUS-26"]),
    row("content.shebang", &[Warn], "the first line names a program to run the file with", &["SUS-26"]),
    row("content.unexamined", &[Warn], "more bytes than rules look into", &["AUD-04", "AUD-09"]),
    row("content.unreadable", &[Block], "the contents can't be read, so nothing is known of them", &["AUD-09"]),
    row("git.alias", &[Block], "some file system takes this name for `.git`", &["GIT-07", "GIT-08"]),
    row("git.alternates", &[Block], "objects would come from elsewhere", &["GIT-10"]),
    row("git.bare", &[Block], "git takes this directory for a repository, with its configuration and hooks", &["GIT-09"]),
    row("git.config", &[Block], "the configuration names programs that git runs", &["GIT-02", "GIT-03", "GIT-04", "GIT-10"]),
    row("git.created", &[Note], "a repository was made in the copy; it stays there", &[]),
    row("git.deleted", &[Warn], "the copy's repository was deleted; the workspace's own stays", &[]),
    row("git.hook", &[Block], "hooks run by themselves", &["GIT-01"]),
    row("git.info", &[Block], "attributes and grafts choose filters and history", &["GIT-10"]),
    row("git.nested", &[Block], "a repository in a subdirectory brings its own hooks and configuration", &["GIT-06"]),
    row("git.redirect", &[Block], "`.git` was replaced by something that leads elsewhere; rejects the batch", &["GIT-05"]),
    row("git.shallow", &[Block], "the history would end elsewhere", &["GIT-10"]),
    row("git.symlink", &[Block], "git reads this file and would follow the link", &["GIT-13"]),
    row("git.worktree", &[Block], "git would read another repository or directory", &["GIT-10"]),
    row("limit.entries", &[Block], "more changes than allowed; rejects the batch", &["TAR-48"]),
    row("limit.file_bytes", &[Block], "a file with more bytes than allowed; rejects the batch", &["TAR-49"]),
    row("limit.total_bytes", &[Block], "more bytes than allowed in all; rejects the batch", &["TAR-49"]),
    row("link.absolute", &[Block], "a link leads to an absolute path", &["TAR-06"]),
    row("link.escape", &[Block], "a link leads out of the workspace", &["TAR-07"]),
    row("link.git", &[Block], "a link leads into `.git`", &["GIT-13"]),
    row("link.loop", &[Block], "a link leads in circles", &["TAR-09"]),
    row("link.redirect", &[Block], "makes a link that was there lead out of the workspace or in circles", &["TAR-07"]),
    row("mode.executable", &[Warn], "becomes executable, or is new and executable", &["AUD-02", "SUS-26"]),
    row("name.collision", &[Block, Warn], "where names fold, this is the same file as another; blocked if the destination folds", &["TAR-44", "TAR-45"]),
    row("name.invisible", &[Block, Warn], "the name has characters that are not seen or reorder others", &["TAR-43"]),
    row("name.portability", &[Block], "`\\` and `:` separate paths, drives or streams on other systems", &["TAR-47"]),
    row("name.reserved", &[Warn], "the name can't be used on Windows", &["TAR-47"]),
    row("path.protected", &[Block], "the profile protects this path", &[]),
    row("path.too_deep", &[Block], "the path has more components than allowed", &["TAR-40"]),
    row("path.too_long", &[Block], "the path, or a component of it, is longer than allowed", &["TAR-40"]),
];

/// What the transfer says of an entry that was not carried or was made safe, and why it
/// throws a whole stream away.
#[rustfmt::skip]
pub(crate) const STREAM_CODES: &[Code] = &[
    row("entry.duplicate", &[Block], "the same name twice; rejects the batch", &["TAR-14"]),
    row("entry.type_conflict", &[Block], "two members disagree about the type; rejects the batch", &["TAR-04", "TAR-15"]),
    row("header.checksum", &[Block], "a header's checksum is wrong; rejects the batch", &["TAR-38"]),
    row("header.hidden_bytes", &[Block], "a header holds bytes that nobody reads; rejects the batch", &[]),
    row("header.linkname_nonlink", &[Block], "something other than a link has a target; rejects the batch", &[]),
    row("header.magic", &[Block], "a header is not ustar; rejects the batch", &[]),
    row("header.number", &[Block], "a field is no number; rejects the batch", &["TAR-24"]),
    row("header.size_conflict", &[Block], "header and PAX record disagree about the size; rejects the batch", &["TAR-17"]),
    row("header.size_nonfile", &[Block], "something other than a file has a size; rejects the batch", &["TAR-39"]),
    row("io.read", &[Block], "the stream can't be read", &[]),
    row("io.store", &[Block], "the quarantine can't be written", &["FLT-07"]),
    row("limit.list", &[Block], "a list from the other side is longer than allowed; rejects the batch", &[]),
    row("limit.meta", &[Block], "a PAX header is larger than allowed; rejects the batch", &["TAR-25"]),
    row("limit.names", &[Block], "the names alone are more than allowed; rejects the batch", &["TAR-48"]),
    row("link.control", &[Block], "the link's target has a control character", &["TAR-42"]),
    row("link.empty", &[Block], "a link without target", &[]),
    row("link.encoding", &[Block], "the link's target is not UTF-8", &["TAR-41"]),
    row("link.hard", &[Note], "a hard link becomes a file of its own", &["TAR-11"]),
    row("link.hard_forward", &[Block], "a hard link to nothing that came before; rejects the batch", &["TAR-12"]),
    row("link.hard_nonfile", &[Block], "a hard link to something that is no file; rejects the batch", &["TAR-13"]),
    row("link.hard_outside", &[Block], "a hard link to outside; rejects the batch", &["TAR-10"]),
    row("link.nul", &[Block], "the link's target has a NUL byte", &["TAR-23"]),
    row("link.too_long", &[Block], "the link's target is longer than allowed", &["TAR-40"]),
    row("list.damaged", &[Block], "a list from the other side is damaged; rejects the batch", &[]),
    row("list.magic", &[Block], "a list from the other side is none; rejects the batch", &[]),
    row("list.malformed", &[Block], "a list from the other side breaks its grammar; rejects the batch", &[]),
    row("list.trailing", &[Block], "data follows a list from the other side; rejects the batch", &[]),
    row("list.truncated", &[Block], "a list from the other side was cut; rejects the batch", &["FLT-03"]),
    row("mode.special", &[Note], "setuid, setgid and sticky bits are dropped", &["TAR-30"]),
    row("name.control", &[Block], "the name has a control character", &["TAR-42"]),
    row("name.encoding", &[Block], "the name is not UTF-8", &["TAR-41"]),
    row("name.nul", &[Block], "a name with a NUL byte; rejects the batch", &["TAR-23"]),
    row("path.absolute", &[Block], "an absolute name; rejects the batch", &["TAR-01"]),
    row("path.dotdot", &[Block], "a name with a `..` component; rejects the batch", &["TAR-02"]),
    row("path.noncanonical", &[Block], "not a canonical name; rejects the batch", &["TAR-46"]),
    row("path.through_link", &[Block], "a name that leads through a link; rejects the batch", &["TAR-03", "TAR-05"]),
    row("pax.duplicate", &[Block], "a PAX key given twice; rejects the batch", &[]),
    row("pax.key", &[Block], "a PAX key outside the grammar; rejects the batch", &["TAR-26"]),
    row("pax.malformed", &[Block], "a malformed PAX record; rejects the batch", &["TAR-21"]),
    row("pax.number", &[Block], "a PAX value that is no number; rejects the batch", &["TAR-22", "TAR-33"]),
    row("pax.orphan", &[Block], "a PAX header without its member; rejects the batch", &[]),
    row("pax.stacked", &[Block], "two PAX headers in a row; rejects the batch", &["TAR-18"]),
    row("pax.xattr", &[Note], "extended attributes are dropped", &["TAR-31"]),
    row("stream.compressed", &[Block], "a compressed stream; rejects the batch", &["TAR-50"]),
    row("stream.given_up", &[Block], "the stream was read on after its end; rejects the batch", &[]),
    row("stream.lone_zero_block", &[Block], "a single zero block is no end mark; rejects the batch", &["TAR-37"]),
    row("stream.mismatch", &[Block], "what arrived is not what was asked for; rejects the batch", &[]),
    row("stream.no_eof", &[Block], "the stream has no end mark; rejects the batch", &["TAR-35"]),
    row("stream.padding", &[Block], "the padding after a body is not zero; rejects the batch", &[]),
    row("stream.trailing", &[Block], "data follows the end of the stream; rejects the batch", &["TAR-36"]),
    row("stream.truncated", &[Block], "the stream was cut; rejects the batch", &["TAR-34"]),
    row("survey.contradiction", &[Block], "the survey contradicts itself; rejects the batch", &[]),
    row("survey.name", &[Block], "the survey names what can't be; rejects the batch", &[]),
    row("trailer.bytes", &[Block], "other bytes arrived than were sent; rejects the batch", &["FLT-03"]),
    row("trailer.entries", &[Block], "other entries arrived than were sent; rejects the batch", &["FLT-03"]),
    row("trailer.malformed", &[Block], "the stream has no trailer; rejects the batch", &["TAR-35"]),
    row("trailer.tree", &[Block], "what arrived is not what was sent; rejects the batch", &["FLT-03"]),
    row("type.device", &[Block], "a device; in a stream it rejects the batch", &["TAR-27"]),
    row("type.fifo", &[Block], "a FIFO has no contents to bring back", &["TAR-28"]),
    row("type.socket", &[Block], "a socket has no contents to bring back", &[]),
    row("type.unknown", &[Block], "a type of entry that lazaret does not know", &[]),
    row("typeflag", &[Block], "a type of tar entry outside the grammar; rejects the batch", &["TAR-19", "TAR-20", "TAR-26", "TAR-29"]),
];
