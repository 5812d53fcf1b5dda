//! Lines of build files and tool settings that run, load or fetch something.
//!
//! A build file changes every day, so its name says nothing. What counts is a line that is
//! added and that names a command, a plugin, a hook, a source, or a place outside of the
//! workspace. The list errs on the side of a look too many: it knows words, not languages.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Words that say that a line runs, loads or fetches something.
#[derive(Debug)]
struct Row {
    /// What a line with one of them names.
    means: &'static str,
    /// In lower case. A word is found only where no letter stands before it; one that ends in a
    /// letter, only where none follows.
    words: &'static [&'static str],
    /// Lines that it is tried with.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "what the test of all rows reads")
    )]
    hit: &'static [&'static str],
    /// Lines that have no such word.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "what the test of all rows reads")
    )]
    miss: &'static [&'static str],
}

#[rustfmt::skip]
const WORDS: &[Row] = &[
    Row {
        means: "an address",
        words: &[
            "http://", "https://", "ftp://", "git+", "git://", "ssh://", "file://", "git@", "docker://", "oci://",
        ],
        hit: &["ADD https://x.example/a /", "x = git+ssh", "- oci://x"],
        miss: &["// see http-parser", "digit@home"],
    },
    Row {
        means: "a command that fetches",
        words: &[
            "curl", "wget", "invoke-webrequest", "iwr", "fetchcontent", "fetchcontent_declare", "externalproject_add", "http_archive",
            "git_repository", "fetchurl", "fetchtarball", "fetchgit", "fetchfromgithub", "urlopen", "urlretrieve", "urllib", "requests", "httpx",
            "reqwest", "ureq", "npx", "bunx", "pnpx", "dlx", "uvx", "pipx", "pip", "npm", "yarn", "pnpm", "cargo install", "go install", "go run",
            "gem install", "apt-get", "apk add", "brew", "git clone", "git submodule", "scp", "rsync", "netcat", "nc",
        ],
        hit: &["curl -sf x", "  npx tool", "cargo install x"],
        miss: &["libcurl-dev", "set(NPM_VERSION 3)", "scpi = 1"],
    },
    Row {
        means: "a command",
        words: &[
            "exec", "execsync", "execfile", "execfilesync", "execve", "execvp", "execl", "exec_command", "spawn", "spawnsync", "fork", "popen", "system", "os.system", "subprocess",
            "child_process", "execa", "zx", "shelljs", "command::new", "std::process", "process.binding", "processbuilder", "getruntime",
            "commandline", "exec.command", "shell_exec", "passthru", "proc_open", "eval", "instance_eval", "class_eval", "new function", "compile", "__import__",
            "importlib", "runpy", "ctypes", "cffi", "dlopen", "loadlibrary", "$(shell", "!=", "sh -c", "bash", "zsh", "/bin/sh", "/usr/bin/env",
            "powershell", "pwsh", "cmd /c", "cmd.exe", "osascript", "python -c", "python3 -c", "node -e", "perl -e", "ruby -e",
            "add_custom_command", "add_custom_target", "execute_process", "run_command", "custom_target", "genrule", "run_shell",
            "repository_rule", "dofirst", "dolast", "register", "run", "entrypoint", "cmd", "onbuild", "healthcheck", "command", "commands", "cmds", "script", "scripts", "sh",
            "shellhook", "shell_hook", "local-exec", "remote-exec", "provisioner", "external", "program", "user_data", "custom_data", "startup_script", "startup-script", "sudo", "chmod", "crontab", "systemctl", "launchctl", "rm -rf", "eval_rst",
        ],
        hit: &["const { execSync } = 1", "execute_process(COMMAND id)", "X != id", "shellHook = ''"],
        miss: &["executor = x", "evaluate(x)", "EXPOSE 8080"],
    },
    Row {
        means: "a plugin, a hook or another source",
        words: &[
            "plugin", "plugins", "hook", "hooks", "before", "after", "pre", "post", "preset", "presets", "extends", "loader", "loaders", "require", "import_module",
            "plugindir", "apply from", "include", "includes", "load", "load_plugin", "extensions", "registry", "registries", "repository", "repositories", "maven",
            "mirror", "mirrors", "provider", "providers", "required_providers", "backend", "source", "sources", "index-url", "extra-index-url", "find-links", "trusted-host", "replace", "patch", "resolved", "url", "urls",
            "from", "image", "builder", "builders", "formatter", "parser", "processor", "transform", "transforms", "runner", "reporter", "reporters", "setupfiles", "globalsetup",
            "setupfilesaftereach", "setupfilesafterenv", "testenvironment", "cmdclass", "entry_points", "ext_modules", "pytest_plugins", "addopts", "pythonpath", "syntax=",
        ],
        hit: &["plugins: [x]", "apply from: 'x.gradle'", "# syntax=evil/frontend"],
        miss: &["set(SOURCES_DIR_NAME x)", "reloaded = 1"],
    },
    Row {
        means: "a setting of the compiler, the linker or the shell",
        words: &[
            "rustc_wrapper", "rustc-wrapper", "rustflags", "rustc-link-arg", "link-arg", "linker", "ld_preload", "ld_library_path", "dyld_insert_libraries",
            "node_options", "pythonstartup", "rubyopt", "perl5opt", "java_tool_options", "bash_env", "compose_file", "docker_host", "git_ssh_command", "shell", "path", "cc", "cxx", "ldflags", "cflags", "cxxflags", "-fplugin", "-wl", "-specs", "cmake_c_compiler",
            "cmake_cxx_compiler", "cmake_toolchain_file", "c_compiler_launcher", "toolchain",
        ],
        hit: &["println!(\"cargo:rustc-link-arg=x\");", "LD_PRELOAD=x make", "export PATH=x"],
        miss: &["max_width = 100", "pathological = 1", "success = 2"],
    },
    Row {
        means: "a place outside of the workspace",
        words: &[
            "~/", "$home", "${home}", "%userprofile%", "%appdata%", "/etc/", "/tmp/", "/dev/tcp", "/var/run", "/root/", "/proc/", "../..", ".ssh", ".aws", ".netrc", ".npmrc",
            ".git/", "id_rsa", "docker.sock", "privileged", "cap_add", "devices", "volumes", "network_mode", "pid", "ipc", "security_opt", "mount", "userns_mode",
        ],
        hit: &["  - ~/.ssh:/keys", "    privileged: true", "cat /etc/passwd"],
        miss: &["underprivileged = 1", "amount = 2"],
    },
    Row {
        means: "text that is decoded",
        words: &["base64", "b64decode", "atob", "fromcharcode", "unhexlify", "fromhex", "xxd", "decompress", "marshal", "pickle", "loads", "unpickle", "openssl"],
        hit: &["echo eA== | base64 -d", "pickle.load(f)"],
        miss: &["mybase64x = 1", "downloads = 3"],
    },
    Row {
        means: "a connection or the environment",
        words: &["socket", "net.connect", "createconnection", "xmlhttprequest", "fetch", "dns", "process.env", "os.environ", "getenv", "env::var", "secrets"],
        hit: &["s = socket.socket()", "process.env.X"],
        miss: &["websockets = 1", "prefetch = 2"],
    },
];

struct Words {
    automaton: AhoCorasick,
    /// For each word, what it is.
    means: Vec<&'static str>,
}

static ALL: LazyLock<Words> = LazyLock::new(|| {
    let rows = WORDS.iter();
    let words = rows.flat_map(|row| row.words.iter().map(|word| (row.means, *word)));
    let (means, words): (Vec<_>, Vec<_>) = words.unzip();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(words)
        .unwrap_or_else(|error| unreachable!("the words are tested: {error}"));
    Words { automaton, means }
});

/// Says what a line names that runs, loads or fetches something.
pub(in crate::rules) fn of_line(line: &[u8]) -> Option<&'static str> {
    let text = line.trim_ascii();
    if text.is_empty() || is_comment(text) {
        return None;
    }
    let found = ALL.automaton.find_overlapping_iter(text).find(|found| {
        let letter = |byte: Option<&u8>| {
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        };
        let (start, end) = (found.start(), found.end());
        let before = start.checked_sub(1).and_then(|at| text.get(at));
        let starts_in_word = letter(text.get(start)) && letter(before);
        let ends_in_word = letter(text.get(end.saturating_sub(1))) && letter(text.get(end));
        !starts_in_word && !ends_in_word
    })?;
    ALL.means.get(found.pattern().as_usize()).copied()
}

/// As [`of_line`], and counts any indented line: in a `Makefile`, a `justfile` or a task in
/// Python it is what is run.
pub(in crate::rules) fn of_recipe(line: &[u8]) -> Option<&'static str> {
    let text = line.trim_ascii();
    let is_indented = line
        .first()
        .is_some_and(|byte| matches!(byte, b' ' | b'\t'));
    if is_indented && !text.is_empty() && !is_comment(text) {
        return Some("a line of what is run");
    }
    of_line(line)
}

/// Whether a line is a comment in the language of most build files. `# syntax=` is none: it
/// names the program that reads a `Dockerfile`.
fn is_comment(text: &[u8]) -> bool {
    let (mark, rest) = match text {
        [b'#', rest @ ..] => (b'#', rest),
        [b'/', b'/', rest @ ..] => (b'/', rest),
        _ => return false,
    };
    let starts = rest.first();
    let directive = rest.trim_ascii_start();
    let names_a_program = [&b"syntax"[..], b"escape", b"check", b"cython", b"distutils"]
        .iter()
        .any(|word| {
            let head = directive.get(..word.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(word))
        });
    starts.is_none_or(|byte| *byte == b' ' || *byte == mark) && !names_a_program
}

/// Whether a `conftest.py` holds fixtures, and no line of it runs or fetches something.
pub(in crate::rules) fn is_fixtures(bytes: &[u8]) -> bool {
    let mut fixtures = false;
    for line in bytes.split(|&byte| byte == b'\n') {
        let text = line.trim_ascii();
        if text.starts_with(b"@pytest.fixture") || text.starts_with(b"@fixture") {
            fixtures = true;
        } else if of_test(text).is_some() {
            return false;
        }
    }
    fixtures
}

/// As [`of_line`], in tests in Python, where `from … import` and such names are everyday.
pub(in crate::rules) fn of_test(line: &[u8]) -> Option<&'static str> {
    /// Hooks that pytest calls by itself.
    const HOOK: &[u8] = b"def pytest_";
    let text = line.trim_ascii();
    if text.starts_with(HOOK) {
        return Some("a hook of pytest");
    }
    let found = of_line(text)?;
    let everyday = [
        "a plugin, a hook or another source",
        "a setting of the compiler, the linker or the shell",
    ];
    let names_plugins = text.starts_with(b"pytest_plugins");
    (names_plugins || !everyday.contains(&found)).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::{WORDS, is_fixtures, of_line, of_recipe};

    #[test]
    fn sus_31_each_row_hits_and_misses() {
        for row in WORDS {
            for word in row.words {
                assert!(of_line(word.as_bytes()).is_some(), "{word}");
            }
            assert!(!row.hit.is_empty() && !row.miss.is_empty(), "{}", row.means);
            for line in row.hit {
                assert_eq!(of_line(line.as_bytes()), Some(row.means), "{line}");
            }
            for line in row.miss {
                assert_eq!(of_line(line.as_bytes()), None, "{line}");
            }
        }
    }

    #[test]
    fn sus_31_comments_and_settings_run_nothing() {
        for line in [
            "",
            "# see https://example.org",
            "// run it by hand",
            "add_executable(x main.c util.c)",
            "cmake_minimum_required(VERSION 3.20)",
            "    indent: 2",
        ] {
            assert_eq!(of_line(line.as_bytes()), None, "{line}");
        }
        assert!(of_recipe(b"\techo hi").is_some());
        assert_eq!(of_line(b"\techo hi"), None);
        assert_eq!(of_recipe(b"VERSION = 2"), None);
    }

    #[test]
    fn sus_39_a_conftest_of_fixtures() {
        let fixtures =
            b"import pytest\nfrom app import db\n\n\n@pytest.fixture\ndef conn():\n    return db.open(\"x\")\n";
        assert!(is_fixtures(fixtures));
        for more in [
            "import subprocess\n",
            "os.system('id')\n",
            "def pytest_configure(config):\n    pass\n",
            "pytest_plugins = ['x']\n",
        ] {
            let text = [fixtures, more.as_bytes()].concat();
            assert!(!is_fixtures(&text), "{more}");
        }
        assert!(!is_fixtures(b""));
        assert!(!is_fixtures(b"x"));
    }
}
