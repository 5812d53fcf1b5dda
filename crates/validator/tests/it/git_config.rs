//! `.git/config`: compared as bytes, so every key, and every way to write it, is the same to
//! us (GIT-02 to GIT-04). The tests say what the bytes would have done.

use crate::check;

const REPO: &str = "
    f .git/HEAD \"ref\"
    f .git/config \"[core]\\n\\tbare = false\\n\"
    d .git/refs/
    d .git/objects/
    f README \"r\"
";

/// Appends to the configuration, and changes something else as well.
#[track_caller]
fn blocked(line: &str) {
    let after = REPO
        .replace("bare = false\\n", &format!("bare = false\\n{line}\\n"))
        .replace("\"r\"", "\"r2\"");
    let found = check(REPO, &after);
    let expected = "block git.config .git/config: never applied: the configuration names \
                    programs that git runs\n= needs review\n~ README\nwithheld .git/config: git.config\n";
    assert_eq!(found, expected, "{line}");
}

/// One test for each key: the name, and the lines in the tree language.
macro_rules! keys {
    ($($name:ident: $line:literal,)*) => {
        $(
            #[test]
            fn $name() {
                blocked($line);
            }
        )*
    };
}

keys! {
    git_02_core_fsmonitor: r"\tfsmonitor = evil",
    git_02_core_ssh_command: r"\tsshCommand = evil",
    git_02_core_git_proxy: r"\tgitProxy = evil",
    git_02_core_pager: r"\tpager = evil",
    git_02_core_editor: r"\teditor = evil",
    git_02_core_ask_pass: r"\taskPass = evil",
    git_02_core_hooks_path: r"\thooksPath = ../h",
    git_02_core_alternate_refs_command: r"\talternateRefsCommand = evil",
    git_02_core_worktree: r"\tworktree = /",
    git_02_core_attributes_file: r"\tattributesFile = ../a",
    git_02_hook_command: r#"[hook \"x\"]\n\tcommand = evil\n\tevent = pre-commit"#,
    git_02_filter_clean: r#"[filter \"x\"]\n\tclean = evil"#,
    git_02_filter_smudge: r#"[filter \"x\"]\n\tsmudge = evil"#,
    git_02_filter_process: r#"[filter \"x\"]\n\tprocess = evil"#,
    git_02_diff_textconv: r#"[diff \"x\"]\n\ttextconv = evil"#,
    git_02_diff_command: r#"[diff \"x\"]\n\tcommand = evil"#,
    git_02_diff_external: r"[diff]\n\texternal = evil",
    git_02_merge_driver: r#"[merge \"x\"]\n\tdriver = evil"#,
    git_02_mergetool_cmd: r#"[mergetool \"x\"]\n\tcmd = evil"#,
    git_02_difftool_cmd: r#"[difftool \"x\"]\n\tcmd = evil"#,
    git_02_gpg_program: r"[gpg]\n\tprogram = evil",
    git_02_gpg_format_program: r#"[gpg \"ssh\"]\n\tprogram = evil"#,
    git_02_gpg_default_key_command: r#"[gpg \"ssh\"]\n\tdefaultKeyCommand = evil"#,
    git_02_credential_helper: r"[credential]\n\thelper = !evil",
    git_02_pager: r"[pager]\n\tlog = evil",
    git_02_alias: r"[alias]\n\tst = !evil",
    git_02_sequence_editor: r"[sequence]\n\teditor = evil",
    git_02_browser_cmd: r#"[browser \"x\"]\n\tcmd = evil"#,
    git_02_man_cmd: r#"[man \"x\"]\n\tcmd = evil"#,
    git_02_guitool_cmd: r#"[guitool \"x\"]\n\tcmd = evil"#,
    git_02_remote_uploadpack: r#"[remote \"o\"]\n\tuploadpack = evil"#,
    git_02_remote_receivepack: r#"[remote \"o\"]\n\treceivepack = evil"#,
    git_02_remote_proxy: r#"[remote \"o\"]\n\tproxy = http://evil.example"#,
    git_02_remote_vcs: r#"[remote \"o\"]\n\tvcs = evil"#,
    git_02_upload_pack_objects_hook: r"[uploadpack]\n\tpackObjectsHook = evil",
    git_02_gc_recent_objects_hook: r"[gc]\n\trecentObjectsHook = evil",
    git_02_url_instead_of: r#"[url \"http://evil.example\"]\n\tinsteadOf = https://"#,
    git_02_include_path: r"[include]\n\tpath = ../c",
    git_02_include_if: r#"[includeIf \"gitdir:/\"]\n\tpath = ../c"#,
    git_02_submodule_update: r#"[submodule \"x\"]\n\tupdate = !evil"#,
    git_02_trailer_command: r#"[trailer \"x\"]\n\tcommand = evil"#,
    git_02_sendemail: r"[sendemail]\n\tsmtpServer = /evil",
    git_02_interactive_diff_filter: r"[interactive]\n\tdiffFilter = evil",
    git_02_extensions_worktree_config: r"[extensions]\n\tworktreeConfig = true",
    git_03_case: r"\tCORE.FsMonitor = evil",
    git_03_key_in_other_case: r"[CORE]\n\tFsMonitor = evil",
    git_03_subsection: r#"[core \"x\"]\n\tfsmonitor = evil"#,
    git_03_continued: r"\tfsmon\\\nitor = ev\\\nil",
    git_03_crlf: r"\tfsmonitor = evil\r",
    git_03_one_line: r"[core] fsmonitor = evil",
    git_03_blank_at_the_end: r" ",
}

#[test]
fn git_03_byte_order_mark() {
    let after = REPO.replace("\"[core]", "\"\\xef\\xbb\\xbf[core]");
    assert!(check(REPO, &after).starts_with("block git.config .git/config"));
}

#[test]
fn git_04_long_section_line() {
    // CVE-2023-29007: renaming a section split lines over 1024 characters.
    blocked(&format!(r#"[submodule \"{}\"]"#, "x".repeat(1100)));
}

/// The file stays as it is on the host, whatever becomes of the rest.
#[test]
fn git_02_deleting_or_emptying_it_is_no_way_around() {
    let deleted = REPO.replace("f .git/config \"[core]\\n\\tbare = false\\n\"", "");
    let replaced = REPO.replace(
        "f .git/config \"[core]\\n\\tbare = false\\n\"",
        "l .git/config -> ../config",
    );
    let executable = REPO.replace("f .git/config", "x .git/config");
    for after in [deleted, replaced, executable] {
        let found = check(REPO, &after);
        assert!(found.starts_with("block git.config .git/config"), "{found}");
        assert!(
            found.ends_with("withheld .git/config: git.config\n"),
            "{found}"
        );
    }
}
