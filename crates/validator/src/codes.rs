//! The codes of findings, each with its severities, reason and cases.
//!
//! A rule names a constant, so a code that is not here does not compile. The rows of the
//! suspect files and of the secrets hold codes of their own.

use crate::Severity::{self, Block, Note, Warn};

/// One code.
#[derive(Debug)]
pub(crate) struct Code {
    /// The stable id, such as `git.hook`.
    pub(crate) id: &'static str,
    /// Each severity that a finding with this code can have.
    pub(crate) severities: &'static [Severity],
    /// Why it matters, a sentence fragment.
    pub(crate) reason: &'static str,
    /// The cases of `docs/design/threats.md`.
    pub(crate) cases: &'static [&'static str],
}

/// Defines constants, and a list of all of them.
macro_rules! codes {
    (
        $(#[$doc:meta])* $list:ident:
        $($name:ident = $id:literal, [$($severity:ident),+], $reason:literal, [$($case:literal),*];)+
    ) => {
        $(pub(crate) const $name: &Code = &Code {
            id: $id,
            severities: &[$($severity),+],
            reason: $reason,
            cases: &[$($case),*],
        };)+

        $(#[$doc])*
        pub(crate) const $list: &[&Code] = &[$($name),+];
    };
}

codes! {
    /// What the judge says.
    JUDGE:
    AUDIT_FAILED = "audit.failed", [Block], "a rule failed over it, so it is not taken for clean", ["AUD-09"];
    CONTENT_BECAME_BINARY = "content.became_binary", [Warn], "was text, and a review can't read it any more", ["AUD-05"];
    CONTENT_CONTROL = "content.control", [Warn], "a line that is added has bytes that a terminal obeys: escape sequences, carriage returns, backspaces", ["AUD-06"];
    CONTENT_ENCODING = "content.encoding", [Warn], "the program that reads it reads other text than a review shows", ["SUS-37"];
    CONTENT_ESCAPE = "content.escape", [Warn], "an escape that ends a comment or a string before it is read", ["SUS-37"];
    CONTENT_FAR_RIGHT = "content.far_right", [Warn], "code stands so far to the right that it is not seen", ["SUS-37"];
    CONTENT_INVISIBLE = "content.invisible", [Warn], "a line that is added has characters that are not seen or reorder others", ["AUD-06"];
    CONTENT_MACHINE_CODE = "content.machine_code", [Warn], "starts like a program or library, which a review can't read", ["SUS-26"];
    CONTENT_SHEBANG = "content.shebang", [Warn, Note], "the first line names a program to run the file with", ["SUS-26"];
    CONTENT_UNEXAMINED = "content.unexamined", [Warn], "more bytes than rules look into", ["AUD-04", "AUD-09"];
    CONTENT_UNREADABLE = "content.unreadable", [Block], "the contents that were collected can't be read any more; rejects the batch", ["AUD-09", "APP-27"];
    DELETED_IGNORE_FILE = "deleted.ignore_file", [Warn], "git will show, and `git add` take, what the deleted file hid", ["AUD-03"];
    DELETED_MANY = "deleted.many", [Warn], "more than a quarter of the files, and at least eight, are deleted or emptied", ["SUS-36"];
    DELETED_TEST = "deleted.test", [Warn, Note], "a test was deleted, and was not moved elsewhere; a note if the code that it tests went too", ["AUD-03"];
    GIT_ALIAS = "git.alias", [Block], "some file system takes this name for `.git`", ["GIT-07", "GIT-08"];
    GIT_ALTERNATES = "git.alternates", [Block], "objects would come from elsewhere", ["GIT-10"];
    GIT_ATTRIBUTES = "git.attributes", [Block, Warn], "a line that is added chooses a program, or another form of the contents; blocked if your git configuration has that program", ["GIT-11"];
    GIT_BARE = "git.bare", [Block], "git takes this directory for a repository, with its configuration and hooks", ["GIT-09"];
    GIT_CONFIG = "git.config", [Block], "the configuration names programs that git runs", ["GIT-02", "GIT-03", "GIT-04", "GIT-10"];
    GIT_CONFIG_UNKNOWN = "git.config_unknown", [Warn], "your git configuration could not be read, or git stops at a mistake in it", ["GIT-27"];
    GIT_CREATED = "git.created", [Note], "a repository was made in the copy; it stays there", [];
    GIT_DELETED = "git.deleted", [Warn], "the copy's repository was deleted; the workspace's own stays", [];
    GIT_HOOK = "git.hook", [Block], "hooks run by themselves", ["GIT-01"];
    GIT_IGNORE_HIDES = "git.ignore_hides", [Warn], "hides files of the same batch from `git status`", ["GIT-14"];
    GIT_IGNORED = "git.ignored", [Warn, Note], "git ignores a new file, so `git status` does not show it; a warning if it is loaded by being there", ["SUS-34"];
    GIT_INFO = "git.info", [Block], "attributes and grafts choose filters and history", ["GIT-10"];
    GIT_MODULES = "git.modules", [Block], "a submodule's repository has hooks and configuration", [];
    GIT_NESTED = "git.nested", [Block], "a repository in a subdirectory brings its own hooks and configuration", ["GIT-06"];
    GIT_REDIRECT = "git.redirect", [Block], "`.git` was replaced by something that leads elsewhere; rejects the batch", ["GIT-05"];
    GIT_RUNS = "git.runs", [Block, Warn], "your git configuration has git run it, or read from it; a warning where nothing is run", ["GIT-27"];
    GIT_SHALLOW = "git.shallow", [Block], "the history would end elsewhere", ["GIT-10"];
    GIT_SUBMODULE = "git.submodule", [Block], "a line of `.gitmodules` that runs something or leads elsewhere", ["GIT-12"];
    GIT_SYMLINK = "git.symlink", [Block], "git reads this file and would follow the link", ["GIT-13"];
    GIT_WORKTREE = "git.worktree", [Block], "git would read another repository or directory", ["GIT-10"];
    LIMIT_ENTRIES = "limit.entries", [Block], "more changes than allowed; rejects the batch", ["TAR-48"];
    LIMIT_FILE_BYTES = "limit.file_bytes", [Block], "a file with more bytes than allowed; rejects the batch", ["TAR-49"];
    LIMIT_FINDINGS = "limit.findings", [Block], "more findings than a person can read; rejects the batch", ["P9"];
    LIMIT_TOTAL_BYTES = "limit.total_bytes", [Block], "more bytes than allowed in all; rejects the batch", ["TAR-49"];
    LINK_ABSOLUTE = "link.absolute", [Block], "a link leads to an absolute path", ["TAR-06"];
    LINK_ESCAPE = "link.escape", [Block], "a link leads out of the workspace", ["TAR-07"];
    LINK_GIT = "link.git", [Block], "a link leads into `.git`", ["GIT-13"];
    LINK_LEFT_OUT = "link.left_out", [Warn], "a link leads to what stayed out of the copy, so it comes alive in the workspace", ["SUS-35"];
    LINK_LOOP = "link.loop", [Block], "a link leads in circles", ["TAR-09"];
    LINK_NAMES = "link.names", [Block], "links give it more names than are judged", ["SUS-30"];
    LINK_REDIRECT = "link.redirect", [Block], "makes a link that was there lead out of the workspace or in circles", ["TAR-07"];
    LOCKFILE_ALIAS = "lockfile.alias", [Block, Warn], "the contents of another package are installed under this name; blocked for a version that was there before", ["SUS-23"];
    LOCKFILE_CHANGED = "lockfile.changed", [Note], "how many packages were added, removed or updated", ["SUS-23"];
    LOCKFILE_CONFLICT = "lockfile.conflict", [Block], "two hashes for the same contents, so two readers install different things", ["SUS-23"];
    LOCKFILE_DELETED = "lockfile.deleted", [Note], "without a lockfile the next install takes what it finds", ["SUS-23"];
    LOCKFILE_GIT = "lockfile.git", [Warn], "something new comes from a repository, not from a registry", ["SUS-23"];
    LOCKFILE_GIT_REVISION = "lockfile.git_revision", [Block], "a version that was there before is at another revision of its repository", ["SUS-23"];
    LOCKFILE_INSECURE = "lockfile.insecure", [Block, Warn], "others on the way can change what comes from there; blocked for a version that was there before", ["SUS-23"];
    LOCKFILE_INTEGRITY = "lockfile.integrity", [Block], "a version that was there before has another hash, or none any more", ["SUS-23"];
    LOCKFILE_LINE = "lockfile.line", [Warn], "a line that was there before names another address or hash, in a lockfile whose format is not read", ["SUS-33"];
    LOCKFILE_LINK = "lockfile.link", [Warn], "a link stands where a lockfile is looked for", ["SUS-23"];
    LOCKFILE_MISNAMED = "lockfile.misnamed", [Block], "the address is of the archive of another package", ["SUS-23"];
    LOCKFILE_MIXED_SOURCES = "lockfile.mixed_sources", [Warn], "a new lockfile names more than one host", ["SUS-23"];
    LOCKFILE_MOVED = "lockfile.moved", [Block, Warn], "a package that came from a registry comes from a repository or a path; blocked without another version", ["SUS-23"];
    LOCKFILE_NEW_FILE = "lockfile.new_file", [Warn], "a version that was there before has one more file", ["SUS-23"];
    LOCKFILE_NEW_SOURCE = "lockfile.new_source", [Warn], "nothing came from this host before", ["SUS-23"];
    LOCKFILE_NO_BASELINE = "lockfile.no_baseline", [Warn], "what was there before is not known, so nothing could be compared", ["SUS-23"];
    LOCKFILE_REPEATED_KEY = "lockfile.repeated_key", [Block, Warn], "a key stands twice, and readers differ in which they take; blocked unless it did before", ["SUS-23"];
    LOCKFILE_REPEATED_PACKAGE = "lockfile.repeated_package", [Block], "a package stands twice, and readers differ in which they take", ["SUS-23"];
    LOCKFILE_SOURCE = "lockfile.source", [Block], "a version that was there before comes from elsewhere", ["SUS-23"];
    LOCKFILE_TRUSTED = "lockfile.trusted", [Warn], "says what is not checked: a file without a hash, a key, a certificate", ["SUS-33"];
    LOCKFILE_UNREADABLE = "lockfile.unreadable", [Block, Warn], "can't be read as a lockfile; blocked if it could be before", ["SUS-23"];
    MANIFEST_BUILD = "manifest.build", [Warn], "chooses the code that builds the package, or that says its version", ["SUS-18", "SUS-32"];
    MANIFEST_CARGO_BUILD = "manifest.cargo_build", [Warn], "has something run or passed on at build", ["SUS-17", "SUS-32"];
    MANIFEST_CARGO_PATCH = "manifest.cargo_patch", [Warn], "replaces a dependency by another", ["SUS-17"];
    MANIFEST_CARGO_SOURCE = "manifest.cargo_source", [Warn], "a dependency comes from elsewhere", ["SUS-17", "SUS-32"];
    MANIFEST_CHANGED = "manifest.changed", [Note], "nothing changed that runs or fetches something", ["SUS-18"];
    MANIFEST_DELETED = "manifest.deleted", [Note], "a manifest was deleted", ["AUD-03"];
    MANIFEST_DEPENDENCY = "manifest.dependency", [Warn], "a dependency comes from elsewhere than the registry, or is another than its name says", ["SUS-15", "SUS-18"];
    MANIFEST_GO = "manifest.go", [Warn, Note], "takes a Go module, a toolchain or a tool from elsewhere", ["SUS-32"];
    MANIFEST_INSTALL_HOOK = "manifest.install_hook", [Block, Warn], "a script that runs by itself at install; a warning inside of `node_modules`", ["SUS-15"];
    MANIFEST_LINK = "manifest.link", [Warn], "a link stands where a manifest is looked for", ["SUS-15", "SUS-18"];
    MANIFEST_NO_BASELINE = "manifest.no_baseline", [Warn], "what was there before is not known, so nothing could be compared", ["SUS-15", "SUS-18"];
    MANIFEST_REGISTRY = "manifest.registry", [Block], "chooses where packages come from", ["SUS-18"];
    MANIFEST_REPEATED_KEY = "manifest.repeated_key", [Block, Warn], "a key stands twice, and readers differ in which they take; blocked unless it did before", ["SUS-15", "SUS-18"];
    MANIFEST_REQUIREMENT = "manifest.requirement", [Warn], "a requirement of pip comes from elsewhere, or has other hashes", ["SUS-32"];
    MANIFEST_SCRIPT = "manifest.script", [Warn], "something that is run by name, or that a tool runs or loads", ["SUS-15", "SUS-18"];
    MANIFEST_SETTING = "manifest.setting", [Warn], "configures what is installed or run", ["SUS-15"];
    MANIFEST_UNREADABLE = "manifest.unreadable", [Block, Warn], "can't be read as a manifest; blocked if it could be before", ["SUS-15", "SUS-18"];
    MODE_EXECUTABLE = "mode.executable", [Warn, Note], "becomes executable, or is new and executable; a note for a script among others", ["AUD-02", "SUS-26"];
    NAME_COLLISION = "name.collision", [Block, Warn], "where names fold, this is the same file as another; blocked if the destination folds", ["TAR-44", "TAR-45"];
    NAME_CONFUSABLE = "name.confusable", [Warn], "the name looks like another one: letters of several alphabets that look alike", ["AUD-07"];
    NAME_INVISIBLE = "name.invisible", [Block, Warn], "the name has characters that are not seen or reorder others", ["TAR-43"];
    NAME_PORTABILITY = "name.portability", [Block], "`\\` and `:` separate paths, drives or streams on other systems", ["TAR-47"];
    NAME_RESERVED = "name.reserved", [Warn], "the name can't be used on Windows", ["TAR-47"];
    PATH_PROTECTED = "path.protected", [Block], "the profile protects this path", [];
    PATH_RESERVED = "path.reserved", [Block], "lazaret keeps names that begin with `.lazaret-` in the workspace's root for itself", ["APP-29"];
    PATH_TOO_DEEP = "path.too_deep", [Block], "the path has more components than allowed", ["TAR-40"];
    PATH_TOO_LONG = "path.too_long", [Block], "the path, or a component of it, is longer than allowed", ["TAR-40"];
    SECRET_LENT_LOGIN = "secret.lent_login", [Block], "has a token of a login that the session was lent", ["SUS-38"];
    SECRET_PLACEHOLDER = "secret.placeholder", [Block], "has the placeholder that the session had in the place of a key", ["SUS-38"];
    SUSPECT_NODE_MODULES = "suspect.node_modules", [Warn], "packages where no `package.json` is, which Node finds before installed ones", ["SUS-34"];
    UNCOMMITTED_DELETED = "uncommitted.deleted", [Warn], "git neither knows the deleted file nor ignores it, so it has no copy", ["SUS-36"];
    UNCOMMITTED_REVERTED = "uncommitted.reverted", [Warn], "what was changed and not committed is as in git's index again", ["SUS-36"];
}

codes! {
    /// What the transfer says of an entry that was not carried or was made safe, and why it
    /// throws a whole stream away.
    TRANSPORT:
    ENTRY_DUPLICATE = "entry.duplicate", [Block], "the same name twice; rejects the batch", ["TAR-14"];
    ENTRY_TYPE_CONFLICT = "entry.type_conflict", [Block], "two members disagree about the type; rejects the batch", ["TAR-04", "TAR-15"];
    HEADER_CHECKSUM = "header.checksum", [Block], "a header's checksum is wrong; rejects the batch", ["TAR-38"];
    HEADER_HIDDEN_BYTES = "header.hidden_bytes", [Block], "a header holds bytes that no reader uses; rejects the batch", [];
    HEADER_LINKNAME_NONLINK = "header.linkname_nonlink", [Block], "something other than a link has a target; rejects the batch", [];
    HEADER_MAGIC = "header.magic", [Block], "a header is not ustar; rejects the batch", [];
    HEADER_NUMBER = "header.number", [Block], "a field is no number; rejects the batch", ["TAR-24"];
    HEADER_SIZE_CONFLICT = "header.size_conflict", [Block], "header and PAX record disagree about the size; rejects the batch", ["TAR-17"];
    HEADER_SIZE_NONFILE = "header.size_nonfile", [Block], "something other than a file has a size; rejects the batch", ["TAR-39"];
    IO_READ = "io.read", [Block], "the stream can't be read", [];
    IO_STORE = "io.store", [Block], "the quarantine can't be written", ["FLT-07"];
    LIMIT_LIST = "limit.list", [Block], "a list from the other side is longer than allowed; rejects the batch", [];
    LIMIT_META = "limit.meta", [Block], "a PAX header is larger than allowed; rejects the batch", ["TAR-25"];
    LIMIT_NAMES = "limit.names", [Block], "the names alone are more than allowed; rejects the batch", ["TAR-48"];
    LINK_CONTROL = "link.control", [Block], "the link's target has a control character", ["TAR-42"];
    LINK_EMPTY = "link.empty", [Block], "a link without target", [];
    LINK_ENCODING = "link.encoding", [Block], "the link's target is not UTF-8", ["TAR-41"];
    LINK_HARD = "link.hard", [Note], "a hard link becomes a file of its own", ["TAR-11"];
    LINK_HARD_FORWARD = "link.hard_forward", [Block], "a hard link to nothing that came before; rejects the batch", ["TAR-12"];
    LINK_HARD_NONFILE = "link.hard_nonfile", [Block], "a hard link to something that is no file; rejects the batch", ["TAR-13"];
    LINK_HARD_OUTSIDE = "link.hard_outside", [Block], "a hard link to outside; rejects the batch", ["TAR-10"];
    LINK_NUL = "link.nul", [Block], "the link's target has a NUL byte", ["TAR-23"];
    LINK_TOO_LONG = "link.too_long", [Block], "the link's target is longer than allowed", ["TAR-40"];
    LIST_DAMAGED = "list.damaged", [Block], "a list from the other side is damaged; rejects the batch", [];
    LIST_MAGIC = "list.magic", [Block], "a list from the other side is none; rejects the batch", [];
    LIST_MALFORMED = "list.malformed", [Block], "a list from the other side breaks its grammar; rejects the batch", [];
    LIST_TRAILING = "list.trailing", [Block], "data follows a list from the other side; rejects the batch", [];
    LIST_TRUNCATED = "list.truncated", [Block], "a list from the other side was cut; rejects the batch", ["FLT-03"];
    MODE_SPECIAL = "mode.special", [Note], "setuid, setgid and sticky bits are dropped", ["TAR-30"];
    NAME_CONTROL = "name.control", [Block], "the name has a control character", ["TAR-42"];
    NAME_ENCODING = "name.encoding", [Block], "the name is not UTF-8", ["TAR-41"];
    NAME_NUL = "name.nul", [Block], "a name with a NUL byte; rejects the batch", ["TAR-23"];
    PATH_ABSOLUTE = "path.absolute", [Block], "an absolute name; rejects the batch", ["TAR-01"];
    PATH_DOTDOT = "path.dotdot", [Block], "a name with a `..` component; rejects the batch", ["TAR-02"];
    PATH_NONCANONICAL = "path.noncanonical", [Block], "not a canonical name; rejects the batch", ["TAR-46"];
    PATH_THROUGH_LINK = "path.through_link", [Block], "a name that leads through a link; rejects the batch", ["TAR-03", "TAR-05"];
    PAX_DUPLICATE = "pax.duplicate", [Block], "a PAX key given twice; rejects the batch", [];
    PAX_KEY = "pax.key", [Block], "a PAX key outside the grammar; rejects the batch", ["TAR-26"];
    PAX_LINE_FEED = "pax.line_feed", [Block], "a PAX record with a line feed in it, where some readers end it; rejects the batch", ["TAR-21"];
    PAX_MALFORMED = "pax.malformed", [Block], "a malformed PAX record; rejects the batch", ["TAR-21"];
    PAX_NUMBER = "pax.number", [Block], "a PAX value that is no number; rejects the batch", ["TAR-22", "TAR-33"];
    PAX_ORPHAN = "pax.orphan", [Block], "a PAX header without its member; rejects the batch", [];
    PAX_STACKED = "pax.stacked", [Block], "two PAX headers in a row; rejects the batch", ["TAR-18"];
    PAX_XATTR = "pax.xattr", [Note], "extended attributes are dropped", ["TAR-31"];
    STREAM_COMPRESSED = "stream.compressed", [Block], "a compressed stream; rejects the batch", ["TAR-50"];
    STREAM_GIVEN_UP = "stream.given_up", [Block], "the stream was read on after its end; rejects the batch", [];
    STREAM_LONE_ZERO_BLOCK = "stream.lone_zero_block", [Block], "a single zero block is no end mark; rejects the batch", ["TAR-37"];
    STREAM_MISMATCH = "stream.mismatch", [Block], "what arrived is not what was asked for; rejects the batch", [];
    STREAM_NO_EOF = "stream.no_eof", [Block], "the stream has no end mark; rejects the batch", ["TAR-35"];
    STREAM_PADDING = "stream.padding", [Block], "the padding after a body is not zero; rejects the batch", [];
    STREAM_TRAILING = "stream.trailing", [Block], "data follows the end of the stream; rejects the batch", ["TAR-36"];
    STREAM_TRUNCATED = "stream.truncated", [Block], "the stream was cut; rejects the batch", ["TAR-34"];
    SURVEY_CONTRADICTION = "survey.contradiction", [Block], "the survey contradicts itself; rejects the batch", [];
    SURVEY_NAME = "survey.name", [Block], "the survey names what can't be; rejects the batch", [];
    TRAILER_BYTES = "trailer.bytes", [Block], "other bytes arrived than were sent; rejects the batch", ["FLT-03"];
    TRAILER_ENTRIES = "trailer.entries", [Block], "other entries arrived than were sent; rejects the batch", ["FLT-03"];
    TRAILER_MALFORMED = "trailer.malformed", [Block], "the stream has no trailer; rejects the batch", ["TAR-35"];
    TRAILER_STREAM = "trailer.stream", [Block], "what arrived is not what was sent; rejects the batch", ["FLT-03"];
    TYPE_DEVICE = "type.device", [Block], "a device; in a stream it rejects the batch", ["TAR-27"];
    TYPE_FIFO = "type.fifo", [Block], "a FIFO has no contents to bring back", ["TAR-28"];
    TYPE_MOUNT = "type.mount", [Block], "another file system, which nothing is read of", [];
    TYPE_SOCKET = "type.socket", [Block], "a socket has no contents to bring back", [];
    TYPE_UNKNOWN = "type.unknown", [Block], "a type of entry that lazaret does not know", [];
    TYPEFLAG = "typeflag", [Block], "a type of tar entry outside the grammar; rejects the batch", ["TAR-19", "TAR-20", "TAR-26", "TAR-29"];
}

/// Returns true if one of the constants has this id and severity.
pub(crate) fn has(id: &str, severity: Severity) -> bool {
    let mut all = JUDGE.iter().chain(TRANSPORT);
    all.any(|code| code.id == id && code.severities.contains(&severity))
}
