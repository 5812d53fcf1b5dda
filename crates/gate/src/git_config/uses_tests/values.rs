//! Each form of a key, and each way to write a path.

use super::World;

/// Each key, as a file has it: the path that is run, and how the finding names the key.
#[test]
fn git_27_each_key() {
    for (text, path, named) in [
        (
            "[core]\nhooksPath = .githooks",
            ".githooks/pre-commit",
            "core.hooksPath",
        ),
        ("[core]\nhooksPath = .", "pre-push", "core.hooksPath"),
        (
            "[CORE]\n\tFsMonitor = tools/watch",
            "tools/watch",
            "core.fsmonitor",
        ),
        ("[core]\nsshCommand = ./ssh -v", "ssh", "core.sshCommand"),
        ("[core]\npager = sh ./page", "page", "core.pager"),
        (
            "[core]\neditor = 'my tools/edit' -w",
            "my tools/edit",
            "core.editor",
        ),
        ("[core]\naskPass = tools/ask", "tools/ask", "core.askPass"),
        (
            "[core]\ngitProxy = ./proxy for example.org",
            "proxy",
            "core.gitProxy",
        ),
        (
            "[core]\nalternateRefsCommand = ./refs",
            "refs",
            "core.alternateRefsCommand",
        ),
        (
            "[core]\nattributesFile = conf/attributes",
            "conf/attributes",
            "core.attributesFile",
        ),
        ("[sequence]\neditor = ./todo", "todo", "sequence.editor"),
        ("[filter \"x.y\"]\nclean = ./c %f", "c", "filter.x.y.clean"),
        ("[filter \"x\"]\nsmudge = ./s", "s", "filter.x.smudge"),
        ("[filter \"x\"]\nprocess = ./p", "p", "filter.x.process"),
        (
            "[diff \"x\"]\ntextconv = tools/conv",
            "tools/conv",
            "diff.x.textconv",
        ),
        (
            "[diff \"x\"]\ncommand = tools/diff",
            "tools/diff",
            "diff.x.command",
        ),
        (
            "[diff]\nexternal = tools/diff",
            "tools/diff",
            "diff.external",
        ),
        (
            "[merge \"x\"]\ndriver = tools/m %O %A %B",
            "tools/m",
            "merge.x.driver",
        ),
        (
            "[mergetool \"x\"]\ncmd = tools/m $BASE",
            "tools/m",
            "mergetool.x.cmd",
        ),
        (
            "[mergetool \"x\"]\npath = tools/m",
            "tools/m",
            "mergetool.x.path",
        ),
        (
            "[difftool \"x\"]\ncmd = tools/m",
            "tools/m",
            "difftool.x.cmd",
        ),
        ("[guitool \"x\"]\ncmd = tools/m", "tools/m", "guitool.x.cmd"),
        ("[browser \"x\"]\ncmd = tools/m", "tools/m", "browser.x.cmd"),
        ("[man \"x\"]\npath = tools/m", "tools/m", "man.x.path"),
        ("[alias]\nx = !./x", "x", "alias.x"),
        (
            "[alias]\nx = \"!f() { tools/run \\\"$@\\\"; }; f\"",
            "tools/run",
            "alias.x",
        ),
        ("[alias]\nx = rebase -x tools/test", "tools/test", "alias.x"),
        (
            "[alias]\nx = -c core.pager=tools/page log",
            "tools/page",
            "alias.x",
        ),
        (
            "[credential]\nhelper = !./help",
            "help",
            "credential.helper",
        ),
        (
            "[credential]\nhelper = ~/work/help --x",
            "help",
            "credential.helper",
        ),
        (
            "[credential \"https://example.org\"]\nhelper = !./help",
            "help",
            "credential.https://example.org.helper",
        ),
        ("[gpg]\nprogram = tools/gpg", "tools/gpg", "gpg.program"),
        (
            "[gpg \"ssh\"]\nprogram = tools/gpg",
            "tools/gpg",
            "gpg.ssh.program",
        ),
        (
            "[gpg \"ssh\"]\ndefaultKeyCommand = ./key",
            "key",
            "gpg.ssh.defaultKeyCommand",
        ),
        ("[hook \"x\"]\ncommand = ./hook", "hook", "hook.x.command"),
        ("[pager]\nlog = ./page", "page", "pager.log"),
        (
            "[interactive]\ndiffFilter = ./f",
            "f",
            "interactive.diffFilter",
        ),
        (
            "[uploadpack]\npackObjectsHook = ./f",
            "f",
            "uploadpack.packObjectsHook",
        ),
        ("[gc]\nrecentObjectsHook = ./f", "f", "gc.recentObjectsHook"),
        (
            "[remote \"o\"]\nuploadpack = ./f",
            "f",
            "remote.o.uploadpack",
        ),
        (
            "[remote \"o\"]\nreceivepack = ./f",
            "f",
            "remote.o.receivepack",
        ),
        ("[remote \"o\"]\nvcs = ./f", "f", "remote.o.vcs"),
        ("[remote \"o\"]\nurl = ext::./f %S", "f", "remote.o.url"),
        (
            "[url \"ext::./f\"]\ninsteadOf = x:",
            "f",
            "url.ext::./f.insteadof",
        ),
        (
            "[submodule \"x\"]\nupdate = !./f",
            "f",
            "submodule.x.update",
        ),
        ("[trailer \"x\"]\ncommand = ./f", "f", "trailer.x.command"),
        ("[trailer \"x\"]\ncmd = ./f", "f", "trailer.x.cmd"),
        (
            "[sendemail]\nsendmailCmd = ./f",
            "f",
            "sendemail.sendmailCmd",
        ),
        ("[sendemail \"x\"]\ntoCmd = ./f", "f", "sendemail.x.toCmd"),
        ("[imap]\ntunnel = ./f", "f", "imap.tunnel"),
        ("[tar \"x\"]\ncommand = ./f", "f", "tar.x.command"),
        (
            "[init]\ntemplateDir = conf/template",
            "conf/template/hooks/pre-commit",
            "init.templateDir",
        ),
        (
            "[lfs \"customtransfer.x\"]\npath = tools/f",
            "tools/f",
            "lfs.customtransfer.x.path",
        ),
        (
            "[lfs \"extension.x\"]\nclean = tools/f",
            "tools/f",
            "lfs.extension.x.clean",
        ),
        ("[later]\nnewHook = tools/f", "tools/f", "later.newhook"),
        (
            "[include]\npath = work/conf/git",
            "conf/git",
            "include.path",
        ),
        (
            "[includeIf \"onbranch:x\"]\npath = ~/work/conf/git",
            "conf/git",
            "includeif.onbranch:x.path",
        ),
        (
            "[includeIf \"gitdir/i:~/x/\"]\npath = ~/work/conf/git",
            "conf/git",
            "includeif.gitdir/i:~/x/.path",
        ),
        (
            "[includeIf \"hasconfig:remote.*.url:x\"]\npath = ~/work/conf/git",
            "conf/git",
            "includeif.hasconfig:remote.*.url:x.path",
        ),
    ] {
        let world = World::new();
        world.write(".gitconfig", text);
        let said = world.said(path);
        let expected = format!("block `{named}` of ~/.gitconfig ");
        assert!(said.contains(&expected), "{text}\n{path}: {said}");
        assert_eq!(world.said("src/main.c"), "", "{text}");
        // From the repository's own file as well, in which includes start elsewhere.
        if !text.contains("path = work/") {
            let world = World::new();
            world.write("work/.git/config", text);
            let said = world.said(path);
            let expected = format!("block `{named}` of .git/config ");
            assert!(said.contains(&expected), "{text}\n{path}: {said}");
        }
    }
}

/// Each way to write a path into the workspace.
#[test]
fn git_27_each_way_to_write_a_path() {
    let world = World::new();
    world.link("short", "work").write("work/tools/x", "");
    let work = world.work();
    let work = work.to_str().unwrap();
    for line in [
        "tools/run",
        "./tools/run",
        "tools//./run",
        "lib/../tools/run",
        "~/work/tools/run",
        "$HOME/work/tools/run",
        "${HOME}/work/tools/run",
        &format!("{work}/tools/run"),
        &format!("{work}/../work/tools/run --fast"),
        "~/short/tools/run",
        "sh tools/run",
        "sh -c 'tools/run \\\"$@\\\"' -",
        "sh -c \\\"exec ./tools/run\\\"",
        "$PWD/tools/run",
        "\\\"$(git rev-parse --show-toplevel)/tools/run\\\"",
        "`pwd`/tools/run",
        "cd tools && ./run",
        "cd lib; ../tools/run",
        "env X=1 tools/run",
        "X=$PWD/tools/run; $X",
        "cat | tools/run",
        "python3 tools",
        "for f in tools/*; do $f; done",
        "tools/$NAME",
        "../tools/run",
    ] {
        world.write(".gitconfig", &format!("[alias]\n\tx = \"!{line}\"\n"));
        let said = world.said("tools/run");
        assert!(
            said.contains("`alias.x` of ~/.gitconfig runs it"),
            "{line}: {said}"
        );
        assert_eq!(world.said("other/run"), "", "{line}");
        assert_eq!(world.said("tools2/run"), "", "{line}");
    }
    for (line, path) in [
        ("python3 -m tools.fmt", "tools/fmt.py"),
        ("python3 -m tools.fmt", "tools/__init__.py"),
        ("python3 -m tools", "tools/__main__.py"),
        ("node tools/fmt", "tools/fmt.mjs"),
        ("node tools", "tools/index.js"),
    ] {
        world.write(".gitconfig", &format!("[alias]\n\tx = !{line}\n"));
        assert!(world.said(path).contains("alias.x"), "{line}: {path}");
    }
    // Words that are none, and programs that are not here.
    for (line, path) in [
        ("git log .", "src/x"),
        ("code --wait", "code/x"),
        ("less -R | cat", "cat/x"),
        ("/usr/bin/tools/run", "tools/run"),
        ("~/tools/run", "tools/run"),
    ] {
        world.write(".gitconfig", &format!("[alias]\n\tx = !{line}\n"));
        assert_eq!(world.said(path), "", "{line}: {path}");
    }
    for text in [
        "[core]\nfsmonitor = true\n",
        "[pager]\nlog = false\n",
        "[credential]\nhelper = store --file x\n",
        "[alias]\nst = status -sb\n",
        "[submodule \"x\"]\nupdate = rebase\n",
        "[remote \"o\"]\nurl = ../true\nfetch = +refs/heads/*:refs/remotes/o/*\n",
        "[user]\nname = true\n[commit]\ntemplate = store\n",
    ] {
        world.write(".gitconfig", text);
        for path in ["true", "false", "store", "status", "rebase"] {
            assert_eq!(world.said(path), "", "{text}");
        }
    }
}
