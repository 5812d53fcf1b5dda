//! `[services.NAME]`: servers beside the command.

use std::collections::BTreeMap;
use std::time::Duration;

use lazaret_image_builder::{DataPath, Readiness, StopSignal};
use lazaret_runtime::{EnvName, ServiceName};

use super::raw::{RawService, RawServiceKeep};
use super::source::{ProfileError, Source};
use super::units::ByteSize;
use super::values::{LEAST_MEMORY, LEAST_PIDS, image_name, variables};

/// The most services of a session.
const MOST: usize = 8;

/// How long a service may take until it is ready, if a profile says nothing.
const WITHIN: Duration = Duration::from_secs(60);

/// A server beside the command. What is `None` or empty is as its image says.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceRule {
    /// Its name.
    pub name: ServiceName,
    /// The name of its image.
    pub image: String,
    /// The server and its arguments.
    pub command: Vec<String>,
    /// Its variables, beside those of its image.
    pub env: BTreeMap<EnvName, String>,
    /// Where its volume is mounted.
    pub data: Option<DataPath>,
    /// By what it is known to be ready.
    pub ready: Option<Readiness>,
    /// How long it may take until then.
    pub within: Duration,
    /// What asks it to end.
    pub stop_signal: Option<StopSignal>,
    /// How long its volume lasts.
    pub keep: ServiceKeep,
    /// Whether the session is stopped when it is down.
    pub required: bool,
    /// Bytes of memory.
    pub memory: u64,
    /// Cores.
    pub cpus: f64,
    /// Processes and threads.
    pub pids: u32,
}

/// How long the volume of a service lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceKeep {
    /// As long as the session.
    Session,
    /// As long as the services run.
    Run,
}

impl ServiceKeep {
    /// Returns the word of profiles.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Run => "run",
        }
    }
}

/// Reads `[services]`.
pub(super) fn services(
    source: &Source<'_>,
    raw: &BTreeMap<toml::Spanned<String>, RawService>,
) -> Result<Vec<ServiceRule>, ProfileError> {
    if let Some((name, _)) = raw.iter().nth(MOST) {
        let message = format!("`services`: found {}, expected at most {MOST}", raw.len());
        return Err(source.error(&name.span(), &message));
    }
    raw.iter()
        .map(|(name, raw)| service(source, name, raw))
        .collect()
}

fn service(
    source: &Source<'_>,
    name: &toml::Spanned<String>,
    raw: &RawService,
) -> Result<ServiceRule, ProfileError> {
    let parsed: Result<ServiceName, _> = name.get_ref().parse();
    let parsed =
        parsed.map_err(|error| source.error(&name.span(), &format!("`services`: {error}")))?;
    let image = image_name(source, &raw.image)?;
    if let Some(command) = &raw.command
        && (command.get_ref().first().is_none_or(String::is_empty)
            || command.get_ref().iter().any(|word| word.contains('\0')))
    {
        let message = "`command`: expected a server that stays in the foreground and its \
                       arguments, such as [\"redis-server\", \"--dir\", \"/data\"]; leave it out \
                       for the image's own";
        return Err(source.error(&command.span(), message));
    }
    let memory = raw.memory.as_ref();
    if let Some(memory) = memory.filter(|memory| memory.get_ref().0 < LEAST_MEMORY) {
        let message = format!(
            "`memory`: found {}, expected at least {}",
            memory.get_ref(),
            ByteSize(LEAST_MEMORY)
        );
        return Err(source.error(&memory.span(), &message));
    }
    let pids = raw.pids.as_ref();
    if let Some(pids) = pids.filter(|pids| pids.get_ref().0 < LEAST_PIDS) {
        let found = pids.get_ref().0;
        let message = format!("`pids`: found {found}, expected at least {LEAST_PIDS}");
        return Err(source.error(&pids.span(), &message));
    }
    Ok(ServiceRule {
        name: parsed,
        image,
        command: (raw.command.as_ref())
            .map(|command| command.get_ref().clone())
            .unwrap_or_default(),
        env: variables(source, &raw.env)?,
        data: raw.data.clone(),
        ready: raw.ready.clone(),
        within: raw.within.map_or(WITHIN, |within| within.0),
        stop_signal: raw.stop_signal,
        keep: match raw.keep {
            Some(RawServiceKeep::Run) => ServiceKeep::Run,
            Some(RawServiceKeep::Session) | None => ServiceKeep::Session,
        },
        required: raw.required,
        memory: memory.map_or(1 << 30, |memory| memory.get_ref().0),
        cpus: raw.cpus.map_or(2.0, |cpus| cpus.0),
        pids: pids.map_or(512, |pids| pids.get_ref().0),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{error, parse};
    use super::*;

    #[test]
    fn a_service_is_an_image_and_what_its_image_does_not_say() {
        let profile = parse(
            "image = \"base\"\nservices.db = { image = \"postgres\" }\n[services.cache]\n\
             image = \"redis\"\ncommand = [\"serve\"]\ndata = \"/data\"\nwithin = \"5s\"\n\
             ready = { tcp = 6379 }\nstop_signal = \"SIGINT\"\nmemory = \"64m\"\ncpus = 0.5\n\
             pids = 20\nenv = { A = \"b\" }\n\
             keep = \"run\"\nrequired = true",
        )
        .unwrap();
        let [cache, db] = &profile.services[..] else {
            panic!("{:?}", profile.services);
        };
        assert_eq!((db.name.as_str(), &*db.image), ("db", "postgres"));
        assert!(db.command.is_empty() && db.data.is_none() && db.ready.is_none());
        assert_eq!((db.within, db.memory), (Duration::from_secs(60), 1 << 30));
        assert_eq!(cache.command, ["serve"]);
        assert_eq!(cache.stop_signal, Some(StopSignal::Interrupt));
        assert_eq!((db.keep, db.required), (ServiceKeep::Session, false));
        assert_eq!((cache.keep, cache.required), (ServiceKeep::Run, true));
        assert_eq!(
            (cache.memory, cache.pids, cache.within.as_secs()),
            (64 << 20, 20, 5)
        );
    }

    #[test]
    fn a_service_that_can_not_be_is_refused_where_it_is_written() {
        let refused = |text: &str| error(&format!("image = \"base\"\n{text}"));
        let said: Vec<String> = [
            "services.Db = { image = \"postgres\" }",
            "services.databases1 = { image = \"postgres\" }",
            "services.db = { image = \"porter\" }",
            "services.db = { image = \"postgres\", command = [] }",
            "services.db = { image = \"postgres\", data = \"/workspace/db\" }",
            "services.db = { image = \"postgres\", ready = { tcp = 0 } }",
            "services.db = { image = \"postgres\", stop_signal = \"SIGKILL\" }",
            "services.db = { image = \"postgres\", memory = \"1m\" }",
            "services.db = { image = \"postgres\", pids = 1 }",
            "services.db = { image = \"postgres\", env = { LAZARET_X = \"\" } }",
            "services.db = { image = \"postgres\", user = 70 }",
            "services.db = {}",
        ]
        .iter()
        .map(|text| refused(text).lines().next().unwrap_or_default().to_owned())
        .collect();
        insta::assert_snapshot!(said.join("\n"), @r#"
        p.toml:2:10: `services`: "Db" is not a valid service name: expected a lower-case letter, then those and digits, at most 9 in all
        p.toml:2:10: `services`: "databases1" is not a valid service name: expected a lower-case letter, then those and digits, at most 9 in all
        p.toml:2:25: found image "porter", expected one that comes with lazaret (base, claude, claude-acp, codex, dev, go, node, postgres, python, redis, rust) or one of your own
        p.toml:2:47: `command`: expected a server that stays in the foreground and its arguments, such as ["redis-server", "--dir", "/data"]; leave it out for the image's own
        p.toml:2:44: found "/workspace/db", where something else is mounted or lies; expected an absolute path such as "/data"
        p.toml:2:53: found integer `0`, expected a nonzero u16
        p.toml:2:51: found `SIGKILL`, expected one of `SIGHUP`, `SIGINT`, `SIGQUIT`, `SIGTERM`
        p.toml:2:46: `memory`: found 1m, expected at least 32m
        p.toml:2:44: `pids`: found 1, expected at least 16
        p.toml:2:45: `env`: names that start with LAZARET are set by lazaret itself
        p.toml:2:37: unknown key `user`, expected one of `image`, `command`, `env`, `data`, `ready`, `within`, `stop_signal`, `memory`, `cpus`, `pids`, `keep`, `required`
        p.toml:2:15: missing key `image`
        "#);
        let many: String = (0..9)
            .map(|number| format!("services.s{number} = {{ image = \"base\" }}\n"))
            .collect();
        assert!(refused(&many).contains("`services`: found 9, expected at most 8"));
    }
}
