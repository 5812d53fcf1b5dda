//! `[[setup]]`: what runs before the command, such as the migrations of a database.

use std::time::Duration;

use lazaret_runtime::ServiceName;
use toml::Spanned;

use super::ServiceRule;
use super::raw::RawSetup;
use super::source::{ProfileError, Source};

/// The most steps.
const MOST: usize = 16;

/// How long a step may take, if a profile says nothing.
const WITHIN: Duration = Duration::from_secs(10 * 60);

/// A step before the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupRule {
    /// The program and its arguments.
    pub run: Vec<String>,
    /// The service in whose container it runs; `None` for the command's.
    pub service: Option<ServiceName>,
    /// How often it runs.
    pub repeat: SetupRepeat,
    /// How long it may take.
    pub within: Duration,
}

/// How often a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupRepeat {
    /// Once in a session.
    Once,
    /// Before each command.
    Always,
}

/// Reads `[[setup]]`, beside the services that a step can run in.
pub(super) fn setup(
    source: &Source<'_>,
    raw: &[Spanned<RawSetup>],
    services: &[ServiceRule],
) -> Result<Vec<SetupRule>, ProfileError> {
    if let Some(step) = raw.get(MOST) {
        let message = format!("`setup`: found {}, expected at most {MOST}", raw.len());
        return Err(source.error(&step.span(), &message));
    }
    let steps = raw.iter().map(Spanned::get_ref);
    steps.map(|raw| step(source, raw, services)).collect()
}

fn step(
    source: &Source<'_>,
    raw: &RawSetup,
    services: &[ServiceRule],
) -> Result<SetupRule, ProfileError> {
    let run = raw.run.get_ref();
    if run.first().is_none_or(String::is_empty) || run.iter().any(|word| word.contains('\0')) {
        let message = "`setup.run`: expected a program and its arguments, such as [\"sqlx\", \
                       \"migrate\", \"run\"]";
        return Err(source.error(&raw.run.span(), message));
    }
    let service = match &raw.place {
        None => None,
        Some(place) if place.get_ref() == "command" => None,
        Some(place) => {
            let name = place.get_ref();
            let found = services.iter().find(|rule| rule.name.as_str() == name);
            let found = found.ok_or_else(|| {
                let names = services.iter().map(|rule| format!("\"{}\"", rule.name));
                let known: Vec<_> = ["\"command\"".to_owned()]
                    .into_iter()
                    .chain(names)
                    .collect();
                let known = known.join(", ");
                let message = format!("`setup.in`: found \"{name}\", expected one of {known}");
                source.error(&place.span(), &message)
            })?;
            Some(found.name.clone())
        }
    };
    Ok(SetupRule {
        run: run.clone(),
        service,
        repeat: match raw.always {
            true => SetupRepeat::Always,
            false => SetupRepeat::Once,
        },
        within: raw.within.map_or(WITHIN, |within| within.0),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{error, parse};
    use super::*;

    #[test]
    fn a_step_runs_once_in_the_commands_container() {
        let profile = parse(
            "image = \"base\"\nservices.db = { image = \"postgres\" }\n\
             [[setup]]\nrun = [\"migrate\", \"up\"]\n\
             [[setup]]\nrun = [\"psql\"]\nin = \"db\"\nalways = true\nwithin = \"5s\"",
        )
        .unwrap();
        let [first, second] = &profile.setup[..] else {
            panic!("{:?}", profile.setup);
        };
        assert_eq!(first.run, ["migrate", "up"]);
        assert_eq!((&first.service, first.repeat), (&None, SetupRepeat::Once));
        assert_eq!(first.within, Duration::from_secs(600));
        assert_eq!(
            second.service.as_ref().map(|name| name.as_str()),
            Some("db")
        );
        assert_eq!(second.repeat, SetupRepeat::Always);
        assert_eq!(second.within, Duration::from_secs(5));
    }

    #[test]
    fn a_step_that_can_not_be_is_refused_where_it_is_written() {
        let said: Vec<String> = [
            "[[setup]]",
            "[[setup]]\nrun = []",
            "[[setup]]\nrun = [\"a\"]\nin = \"db\"",
            "services.db = { image = \"postgres\" }\n[[setup]]\nrun = [\"a\"]\nin = \"cache\"",
            "[[setup]]\nrun = [\"a\"]\nalways = 1",
            "[[setup]]\nrun = \"a\"",
        ]
        .iter()
        .map(|text| error(&format!("image = \"base\"\n{text}")))
        .map(|text| text.lines().next().unwrap_or_default().to_owned())
        .collect();
        insta::assert_snapshot!(said.join("\n"), @r#"
        p.toml:2:1: missing key `run`
        p.toml:3:7: `setup.run`: expected a program and its arguments, such as ["sqlx", "migrate", "run"]
        p.toml:4:6: `setup.in`: found "db", expected one of "command"
        p.toml:5:6: `setup.in`: found "cache", expected one of "command", "db"
        p.toml:4:10: found integer `1`, expected a boolean
        p.toml:3:7: found string "a", expected an array
        "#);
        let many = "[[setup]]\nrun = [\"a\"]\n".repeat(17);
        assert!(error(&format!("image = \"base\"\n{many}")).contains("found 17, expected at most"));
    }
}
