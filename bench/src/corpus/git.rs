//! One commit of everything, packed from the beginning: objects that are packed later leave
//! as many deleted files behind, and the file system is slow after that.

use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use xshell::{Shell, cmd};

use super::{TREE, list};

pub(super) fn commit(sh: &Shell, repository: &Path) -> Result<()> {
    let files = list(&repository.join(TREE))?;
    // An empty template: no hooks, which would stay out of a copy.
    cmd!(
        sh,
        "git init --quiet --template= --initial-branch=main {repository}"
    )
    .quiet()
    .run()
    .context("git is needed to make a corpus: install it")?;
    let import = cmd!(
        sh,
        "git -C {repository} -c pack.compression=1 fast-import --quiet --depth=0"
    );
    let mut import = Command::from(import).stdin(Stdio::piped()).spawn()?;
    let mut out = BufWriter::new(import.stdin.take().context("git's stdin")?);
    write!(
        out,
        "commit refs/heads/main\ncommitter lazaret <bench@localhost> 1700000000 +0000\ndata 7\nCorpus\n"
    )?;
    for file in files {
        let name = file.strip_prefix(repository)?.display().to_string();
        let contents = fs::read(&file)?;
        writeln!(out, "M 100644 inline {}", quoted(&name))?;
        writeln!(out, "data {}", contents.len())?;
        out.write_all(&contents)?;
        writeln!(out)?;
    }
    out.flush()?;
    drop(out);
    if !import.wait()?.success() {
        bail!("git fast-import failed in {}", repository.display());
    }
    cmd!(sh, "git -C {repository} read-tree HEAD")
        .quiet()
        .run()?;
    Ok(())
}

/// As C quotes strings, which is how fast-import wants odd paths.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}
