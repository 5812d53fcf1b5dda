//! Suspect files: each pattern of the table alone is tested beside the table;
//! here are the ways around a pattern.

use insta::assert_snapshot;

use crate::{check, codes_of_new};

#[test]
fn any_depth_case_normalisation_and_invisible_characters() {
    for path in [
        ".vscode/tasks.json",
        "deep/er/.vscode/tasks.json",
        ".VSCode/Tasks.JSON",
        ".vscode/tas\u{212a}s.json",
        ".v\u{17f}code/tasks.json",
    ] {
        assert_eq!(codes_of_new(path), "block suspect.vscode", "{path:?}");
    }
    for path in [".vsc\u{200c}ode/tasks.json", ".vscode/tasks.json\u{feff}"] {
        assert!(
            codes_of_new(path).contains("block suspect.vscode"),
            "{path:?}"
        );
    }
    assert!(codes_of_new(".vscode/tasks.json.").contains("block suspect.vscode"));
    for path in ["src/vscode/tasks.json", "xMakefile.md", "src/xmakefile.rs"] {
        assert_eq!(codes_of_new(path), "", "{path:?}");
    }
    for path in [".vscode/tasks.json5", ".vscode/x/tasks.json"] {
        assert_eq!(codes_of_new(path), "warn suspect.dot_directory", "{path:?}");
    }
}

#[test]
fn aud_01_rename_is_judged_by_the_new_path() {
    assert_snapshot!(check("f x \"1\"", "f .vscode/tasks.json \"1\""), @r"
    block suspect.vscode .vscode/tasks.json: tasks and settings take effect when the folder is opened
    = needs review
    + .vscode
    withheld .vscode/tasks.json: suspect.vscode
    withheld x: moved to .vscode/tasks.json
    ");
}

#[test]
fn a_link_in_place_of_a_suspect_directory() {
    assert_snapshot!(check("", "f tools/tasks.json \"1\"\nl .vscode -> tools\nl .husky -> tools"), @"
    block suspect.git_hooks .husky: hooks and submodules run at commit, checkout or update
    block suspect.vscode .vscode: tasks and settings take effect when the folder is opened
    block suspect.git_hooks tools/tasks.json: as `.husky/tasks.json`, by the link `.husky`: hooks and submodules run at commit, checkout or update
    block suspect.vscode tools/tasks.json: as `.vscode/tasks.json`, by the link `.vscode`: tasks and settings take effect when the folder is opened
    note suspect.vscode_extensions .vscode: recommends extensions
    = needs review
    + tools
    withheld .husky: suspect.git_hooks
    withheld .vscode: suspect.vscode
    withheld tools/tasks.json: suspect.git_hooks suspect.vscode
    ");
}

#[test]
fn modification_and_mode_count() {
    assert_snapshot!(check("f .envrc \"1\"\nf Makefile \"1\"", "x .envrc \"1\"\nf Makefile \"2\""), @"
    block suspect.directory_env .envrc: runs when a shell enters the directory
    warn mode.executable .envrc: becomes executable
    warn suspect.secret .envrc: may hold a secret
    note suspect.entry_point Makefile: holds commands that `make` and its like run
    = needs review
    ~ Makefile
    withheld .envrc: suspect.directory_env
    ");
}

#[test]
fn sus_29_own_policy() {
    assert_eq!(codes_of_new("lazaret.toml"), "block suspect.own_policy");
}
