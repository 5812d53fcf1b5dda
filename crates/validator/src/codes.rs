//! The codes of what the judge finds.
//!
//! What `protocol` and `transfer` report is in [`lazaret_tree::finding_code`]. The rows of the
//! suspect files and of the secrets hold codes of their own.

use lazaret_tree::finding_codes;

use crate::Severity::{Block, Note, Warn};

finding_codes! {
    /// What the judge says.
    pub(crate) JUDGE:
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
    DELETED_LEFT_OUT = "deleted.left_out", [Warn], "a commit deletes a file that stayed out of the copy, so that its author never had it", ["GIT-26"];
    DELETED_MANY = "deleted.many", [Warn], "more than a quarter of the files, and at least eight, are deleted or emptied", ["SUS-36"];
    DELETED_TEST = "deleted.test", [Warn, Note], "a test was deleted, and was not moved elsewhere; a note if the code that it tests went too, or if another test of such a name replaces it", ["AUD-03"];
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
    LIMIT_FINDINGS = "limit.findings", [Block], "more findings than a person can read; rejects the batch", ["P9"];
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
    MANIFEST_CHANGED = "manifest.changed", [Note], "nothing changed that runs or fetches something", ["SUS-13", "SUS-16", "SUS-18"];
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
    MANIFEST_SETTING = "manifest.setting", [Block, Warn], "configures what is installed or run; blocked in a `pnpm-workspace.yaml` and a `mise.toml`", ["SUS-13", "SUS-15", "SUS-16"];
    MANIFEST_UNREADABLE = "manifest.unreadable", [Block, Warn], "can't be read as a manifest; blocked if it could be before", ["SUS-15", "SUS-18"];
    MODE_EXECUTABLE = "mode.executable", [Warn, Note], "becomes executable, or is new and executable; a note for a script that has to be named to run", ["AUD-02", "SUS-26"];
    NAME_COLLISION = "name.collision", [Block, Warn], "where names fold, this is the same file as another; blocked if the destination folds", ["TAR-44", "TAR-45"];
    NAME_CONFUSABLE = "name.confusable", [Warn], "the name looks like another one: letters of several alphabets that look alike", ["AUD-07"];
    NAME_INVISIBLE = "name.invisible", [Block, Warn], "the name has characters that are not seen or reorder others", ["TAR-43"];
    NAME_PORTABILITY = "name.portability", [Block], "`\\` and `:` separate paths, drives or streams on other systems", ["TAR-47"];
    NAME_RESERVED = "name.reserved", [Warn], "the name can't be used on Windows", ["TAR-47"];
    PATH_PROTECTED = "path.protected", [Block], "the profile protects this path", [];
    PATH_RESERVED = "path.reserved", [Block], "lazaret keeps names that begin with `.lazaret-` in the workspace's root for itself", ["APP-29"];
    SECRET_LENT_LOGIN = "secret.lent_login", [Block], "has a token of a login that the session was lent", ["SUS-38"];
    SECRET_PLACEHOLDER = "secret.placeholder", [Block], "has the placeholder that the session had in the place of a key", ["SUS-38"];
    SUSPECT_NODE_MODULES = "suspect.node_modules", [Warn], "packages where no `package.json` is, which Node finds before installed ones", ["SUS-34"];
    UNCOMMITTED_DELETED = "uncommitted.deleted", [Warn], "git neither knows the deleted file nor ignores it, so it has no copy", ["SUS-36"];
    UNCOMMITTED_REVERTED = "uncommitted.reverted", [Warn], "what was changed and not committed is as in git's index again", ["SUS-36"];
}
