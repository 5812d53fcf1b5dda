//! Lets the user edit the text of a request.

use std::fs;
use std::path::{Path, PathBuf};

use lazaret_tree::AtPath as _;

use super::text::RequestText;
use crate::app::App;
use crate::environment::StreamKind;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::user_programs::UserPrograms;

/// Opens `$VISUAL`, `$EDITOR` or `vi` on a file of the title, an empty line and the body, and reads
/// it again. The file lies in a directory of its own, so no configuration that lies in the workspace
/// is read by the editor.
///
/// # Errors
/// When the editor fails, the title is empty, or the text breaks a rule; then the file stays.
pub(crate) fn edit(
    text: RequestText,
    programs: &UserPrograms<'_>,
    app: &App,
) -> Result<RequestText, Failure> {
    if app.ui.is_unasked() {
        let text = "--edit opens an editor, and --no-input was given";
        return Err(Failure::message(FailureKind::Usage, text)
            .hinted("Name the title with --title, and leave --edit out."));
    }
    let cannot = "cannot make a file to edit";
    let dir = tempfile::Builder::new().prefix("lazaret-pr-").tempdir();
    let dir = dir.or_fail(FailureKind::State, cannot)?;
    let path = dir.path().join("pull-request.md");
    let before = format!("{}\n\n{}\n", text.title, text.body);
    fs::write(&path, before)
        .at(&path)
        .or_fail(FailureKind::State, cannot)?;
    run_editor(&path, programs, app)?;
    let edited = read(&path);
    if edited.is_err() {
        // What the user wrote is not thrown away.
        let _kept: PathBuf = dir.keep();
    }
    let edited = edited?;
    Ok(RequestText {
        title: edited.title,
        body: edited.body,
        ..text
    })
}

fn run_editor(path: &Path, programs: &UserPrograms<'_>, app: &App) -> Result<(), Failure> {
    let named = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| app.env.text(name));
    let editor = named.unwrap_or("vi");
    // As git does it: the variable holds words for the shell.
    let script = format!("{editor} \"$@\"");
    let words = [
        "-c".into(),
        script.into(),
        editor.into(),
        path.as_os_str().to_owned(),
    ];
    let dir = path.parent().unwrap_or(path);
    let shell = programs.expression("/bin/sh".as_ref(), words, dir);
    let shell = match app.env.streams.stdout {
        StreamKind::Terminal => shell,
        StreamKind::Other => shell.stdout_to_stderr(),
    };
    let output = shell
        .run()
        .or_fail(FailureKind::State, "cannot run the editor")?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let text = format!("the editor `{editor}` failed ({})", output.status);
            Err(Failure::message(FailureKind::Refused, text).hinted("Set VISUAL or EDITOR."))
        }
    }
}

/// Reads the title, which is the first line, and the body.
fn read(path: &Path) -> Result<RequestText, Failure> {
    let edited = fs::read_to_string(path).at(path);
    let edited = edited.or_fail(FailureKind::Refused, "cannot read the edited text")?;
    let (title, body) = edited.split_once('\n').unwrap_or((&edited, ""));
    if title.trim().is_empty() {
        let text = "no request is opened: the title, which is the first line, is empty";
        return Err(Failure::message(FailureKind::Refused, text));
    }
    let body = body.trim_start_matches(['\n', '\r']);
    let text = RequestText::new(title, body);
    text.or_fail(FailureKind::Refused, "cannot use the edited text")
        .map_err(|failure| failure.hinted(format!("Your text is in {}.", path.display())))
}
