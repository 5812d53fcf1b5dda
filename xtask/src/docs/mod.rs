//! `cargo xtask docs`: the pages as a book, with links that lead somewhere and a tutorial whose
//! commands were run.
//!
//! The source of the book has the layout of the repository, so that a link works in both. Its
//! contents are those of `docs/README.md`.

mod book_links;
pub(crate) mod contents;
mod tutorial;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use xshell::{Shell, cmd};

use crate::dist::is_paper;
use crate::flags;
use crate::project::{self, Porter};
use crate::section::Section;
use tutorial::{Page, Reader};

/// The pinned version; another one may draw pages otherwise.
const MDBOOK: &str = "0.5.4";
/// The page whose commands are run.
const TUTORIAL: &str = "docs/tutorial/first-run.md";
/// Where the tutorial runs if no engine is named.
const ENGINE: &str = "docker";

impl flags::Docs {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        let folder = project::target_dir(sh).join("docs");
        let book = {
            let _section = Section::new(sh, "book");
            build(sh, &folder)?
        };
        {
            let _section = Section::new(sh, "links of the book");
            let findings = book_links::check(&book)?;
            for finding in &findings {
                println!("{finding}");
            }
            if !findings.is_empty() {
                bail!("{} link(s) lead nowhere", findings.len());
            }
        }
        if !self.no_run {
            let _section = Section::new(sh, "commands of the tutorial");
            let engine = self.engine.as_deref().unwrap_or(ENGINE);
            let lazaret = Porter::build(sh)?.build_tested_lazaret(sh)?;
            let text = fs::read_to_string(project::root().join(TUTORIAL))
                .with_context(|| TUTORIAL.to_owned())?;
            let page = Page {
                name: TUTORIAL,
                text: &text,
            };
            let reader = Reader {
                sh,
                home: std::env::temp_dir().join(format!("lazaret-docs-{}", std::process::id())),
                lazaret: &lazaret,
                engine,
            };
            reader.follow(&page)?;
        }
        println!("{}", book.join("index.html").display());
        Ok(())
    }
}

/// Builds the book and returns where it is.
fn build(sh: &Shell, folder: &Path) -> Result<PathBuf> {
    let source = folder.join("src");
    sh.remove_path(&source)?;
    let listed = cmd!(sh, "git ls-files --cached --others --exclude-standard");
    let listed = listed.quiet().read()?;
    for paper in listed.lines().filter(|path| is_paper(path)) {
        let target = source.join(paper);
        let parent = target.parent().context("a page in a folder")?;
        fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        fs::copy(project::root().join(paper), &target).with_context(|| paper.to_owned())?;
    }
    let map = fs::read_to_string(source.join(contents::MAP)).context("the map of the pages")?;
    fs::write(source.join("SUMMARY.md"), contents::summary(&map))?;
    fs::copy(source.join("docs/book.toml"), folder.join("book.toml"))?;

    let mdbook = mdbook(sh)?;
    let book = folder.join("book");
    cmd!(sh, "{mdbook} build --dest-dir {book} {folder}")
        .quiet()
        .run()?;
    Ok(book)
}

/// Installs the program where it is missing, and returns where it is.
fn mdbook(sh: &Shell) -> Result<PathBuf> {
    let tools = project::target_dir(sh).join("tools");
    let mdbook = tools.join("bin/mdbook");
    let version = cmd!(sh, "{mdbook} --version");
    let has_version = || version.quiet().ignore_stderr().read().ok();
    if mdbook.is_file() && has_version().is_some_and(|text| text.contains(MDBOOK)) {
        return Ok(mdbook);
    }
    cmd!(
        sh,
        "cargo install --quiet --locked --root {tools} mdbook --version {MDBOOK}
         --no-default-features --features search"
    )
    .run()
    .context("install mdbook")?;
    Ok(mdbook)
}
