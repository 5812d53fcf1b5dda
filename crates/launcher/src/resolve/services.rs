//! The services of a profile, with what their images say of them.

use std::collections::BTreeMap;

use lazaret_image_builder::ServiceSpec;
use lazaret_runtime::{Detected, EnvName, Limits};
use lazaret_session::services::{DataKeep, Need, Service};
use lazaret_session::setup_steps::{Repeat, SetupStep, StepPlace};

use crate::app::App;
use crate::failure::{Failure, FailureKind};
use crate::image::{self, ImageBuildContext};
use crate::profile::{ServiceKeep, ServiceRule, SetupRepeat, SetupRule};

/// Bytes of a service's `/dev/shm`, where servers share memory.
const SHM: u64 = 64 << 20;

/// The most bytes of a service's `/tmp`.
const TMP: u64 = 256 << 20;

/// Bytes of a service's home.
const HOME: u64 = 16 << 20;

/// The most bytes of one file: as much as any disk has.
const LARGEST_FILE: u64 = 1 << 43;

/// Makes sure that the image of each service is in the engine's store, and fills in what the
/// profile leaves to it.
///
/// # Errors
/// An image can't be built, or says no more than the profile how it is started.
pub fn resolve(
    rules: &[ServiceRule],
    app: &App,
    detected: &Detected,
) -> Result<Vec<Service>, Failure> {
    if rules.is_empty() {
        return Ok(Vec::new());
    }
    let images = ImageBuildContext::open(app)?;
    rules
        .iter()
        .map(|rule| {
            let own = images.catalog.service_of(&rule.image);
            let own = own.cloned().unwrap_or_default();
            let image = image::ensure(app, detected, &rule.image)?;
            Ok(Service {
                image: image.pinned,
                argv: command(rule, &own)?,
                env: variables(rule, &own)?,
                name: rule.name.clone(),
                data: (rule.data.as_ref().or(own.data.as_ref()))
                    .map(|path| path.as_str().to_owned()),
                ready: rule.ready.clone().or(own.ready),
                within: rule.within,
                stop_signal: rule.stop_signal.or(own.stop_signal).unwrap_or_default(),
                keep: match rule.keep {
                    ServiceKeep::Session => DataKeep::Session,
                    ServiceKeep::Run => DataKeep::Run,
                },
                need: match rule.required {
                    true => Need::Required,
                    false => Need::Optional,
                },
                limits: limits(rule),
            })
        })
        .collect()
}

/// Returns the steps before the command.
pub fn setup(rules: &[SetupRule]) -> Vec<SetupStep> {
    let step = |rule: &SetupRule| SetupStep {
        argv: rule.run.clone(),
        place: match &rule.service {
            Some(name) => StepPlace::Service(name.clone()),
            None => StepPlace::Command,
        },
        repeat: match rule.repeat {
            SetupRepeat::Once => Repeat::Once,
            SetupRepeat::Always => Repeat::Always,
        },
        within: rule.within,
    };
    rules.iter().map(step).collect()
}

fn command(rule: &ServiceRule, own: &ServiceSpec) -> Result<Vec<String>, Failure> {
    let commands = [&rule.command, &own.command];
    let command = commands.into_iter().find(|command| !command.is_empty());
    command.cloned().ok_or_else(|| {
        let (name, image) = (&rule.name, &rule.image);
        let text = format!("service {name} has no command, and image {image} says none");
        Failure::message(FailureKind::Profile, text).hinted(format!(
            "Set `services.{name}.command`, or `command` in the `[service]` table of the image."
        ))
    })
}

fn variables(rule: &ServiceRule, own: &ServiceSpec) -> Result<BTreeMap<EnvName, String>, Failure> {
    let mut variables = BTreeMap::new();
    for (name, value) in &own.env {
        let name: EnvName = name.parse().map_err(|error| {
            Failure::new(FailureKind::Image, error)
                .context(format!("image {}: `service.env`", rule.image))
        })?;
        variables.insert(name, value.clone());
    }
    variables.extend(rule.env.clone());
    Ok(variables)
}

fn limits(rule: &ServiceRule) -> Limits {
    Limits {
        memory: rule.memory,
        cpus: rule.cpus,
        pids: rule.pids,
        tmp: TMP.min(rule.memory / 2),
        shm: SHM.min(rule.memory / 2),
        home: HOME,
        nofile: 65_536,
        fsize: LARGEST_FILE,
    }
}
