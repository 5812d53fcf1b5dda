//! `lazaret home review`.

use lazaret_gate::file_diff::FileDiff;
use lazaret_session::home::state::{HomeStore, PutBack, StoredFile};
use lazaret_session::store::Store;
use lazaret_tree::{PathError, RelPath, escape};
use lazaret_validator::home::{compared, home_rule};
use serde_json::{Value, json};

use super::home_of;
use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::session_access::named::{OneSession, Unnamed};
use crate::ui::{OutputFormat, TextTone, Ui, bytes};

/// The most lines of one difference.
const MOST_LINES: usize = 200;

/// Show what was put back in a kept home
///
/// For each path: what it was, the rule, and how the command's file differs from yours. Of files
/// that mix settings and history, such as ~/.claude.json, only the settings are compared.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
}

pub(super) fn run(args: &Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = args.session.find(Unnamed::Newest, &store, app)?;
    let home = home_of(&store, &id)?;
    let state = home.read()?;
    let waiting: Vec<Shown<'_>> = state.waiting().map(|one| Shown::of(one, &home)).collect();
    match app.ui.format() {
        OutputFormat::Json => {
            let allowed = state.allowed.iter();
            let allowed =
                allowed.map(|(path, file)| json!({ "path": path, "digest": file.digest }));
            app.ui.json(&json!({
                "session": id.as_str(),
                "put_back": waiting.iter().map(Shown::json).collect::<Vec<_>>(),
                "allowed": allowed.collect::<Vec<_>>(),
            }));
        }
        OutputFormat::Text => {
            for one in &waiting {
                one.print(&app.ui);
            }
            for path in state.allowed.keys() {
                app.ui
                    .status(&format!("allowed: ~/{}", escape(path.as_bytes())));
            }
            match waiting.is_empty() {
                true => app.ui.status("nothing was put back"),
                false => app.ui.hint(&format!(
                    "`lazaret home allow {id} PATH` lets the command's file stay."
                )),
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Something that was put back, with how it differs.
struct Shown<'a> {
    one: &'a PutBack,
    /// Why its rule is there.
    reason: &'static str,
    /// Lines of a unified diff, raw; `None` if there is no text.
    diff: Option<Vec<String>>,
    /// Bytes of the file that the command left.
    size: Option<usize>,
}

impl<'a> Shown<'a> {
    fn of(one: &'a PutBack, home: &HomeStore) -> Self {
        let path = RelPath::new(&one.path).ok();
        let found = contents(home, one.found.as_ref());
        let placed = contents(home, one.placed.as_ref());
        let reason = path.and_then(home_rule).map(|rule| rule.reason);
        Self {
            one,
            reason: reason.unwrap_or("the profile copies it from your home"),
            diff: match (path, &found, &placed) {
                (Some(path), Ok(found), Ok(placed)) => diff(path, placed, found),
                _ => None,
            },
            size: (one.found.as_ref()).and_then(|_| found.as_ref().ok().map(Vec::len)),
        }
    }

    fn json(&self) -> Value {
        let one = self.one;
        json!({
            "path": one.path,
            "what": one.what,
            "rule": one.rule,
            "reason": self.reason,
            "at": one.at,
            "digest": one.found.as_ref().map(|file| &file.digest),
            "bytes": self.size,
            "target": one.target.as_deref().map(String::from_utf8_lossy),
            "set_aside": one.set_aside,
            "diff": self.diff,
        })
    }

    fn print(&self, ui: &Ui) {
        let one = self.one;
        let head = format!("~/{}  {}", escape(one.path.as_bytes()), one.what);
        ui.result(&ui.paint_result(TextTone::Strong, &head));
        ui.result(&format!(
            "  {}: {}",
            escape(one.rule.as_bytes()),
            self.reason
        ));
        if let Some(target) = &one.target {
            ui.result(&format!("  it led to {}", escape(target)));
        }
        if let Some(name) = &one.set_aside {
            let name = escape(name.as_bytes());
            ui.result(&format!(
                "  it is in the home as ~/.lazaret-set-aside/{name}"
            ));
        }
        match (&self.diff, self.size) {
            (Some(lines), _) => {
                let shown = lines.iter().take(MOST_LINES);
                shown.for_each(|line| ui.result(&format!("  {}", escape(line.as_bytes()))));
                if let Some(more) = lines.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
                    ui.result(&format!("  … {more} more lines"));
                }
            }
            (None, Some(size)) => ui.result(&format!("  {} of binary data", bytes(size as u64))),
            (None, None) => {}
        }
    }
}

/// Reads a file; one that is none is empty.
fn contents(home: &HomeStore, file: Option<&StoredFile>) -> Result<Vec<u8>, PathError> {
    file.map_or(Ok(Vec::new()), |file| Ok(home.load(file)?.contents))
}

/// Compares what counts of two files; `None` if one of them is no text.
fn diff(path: &RelPath, before: &[u8], after: &[u8]) -> Option<Vec<String>> {
    let [before, after] = [before, after].map(|text| compared(path, text));
    let is_text = |bytes: &[u8]| !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok();
    if !is_text(&before) || !is_text(&after) {
        return None;
    }
    let diff = FileDiff::new(&before, &after);
    let mut lines = Vec::new();
    for hunk in diff.hunks() {
        lines.extend(hunk.lines.iter().map(|line| {
            let text = String::from_utf8_lossy(line.bytes);
            format!("{}{text}", line.kind.as_char())
        }));
    }
    Some(lines)
}
