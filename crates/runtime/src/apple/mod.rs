//! Apple `container`, through its command line: there is no HTTP API.
//!
//! **Not run anywhere by us**: it needs macOS 26 on Apple silicon. What is said to it
//! ([`lower`]) and understood of it ([`parse`]) is pure and tested against its
//! documentation and source, 1.0 to 1.5. Every container is a virtual machine with a
//! kernel of its own, so some controls have no meaning there; [`parse::engine_info`]
//! names each with the reason.

mod lower;
mod parse;

use std::collections::BTreeMap;
use std::io::{self, PipeReader, Read, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::{
    ContainerInfo, ContainerName, ContainerState, Engine, EngineError, EngineInfo, ExecSpec,
    HardenedSpec, ImageInfo, ImageRef, Process, ProcessControl, Stdin, VolumeInfo, VolumeName,
};

/// The limit of a probe.
const PROBE_LIMIT: Duration = Duration::from_secs(5);

/// The limit of an ordinary command. A machine has to boot within it.
const CALL_LIMIT: Duration = Duration::from_secs(120);

/// The limit of a command that moves an image.
const LOAD_LIMIT: Duration = Duration::from_secs(3600);

/// Apple `container`.
#[derive(Debug)]
pub struct AppleEngine {
    program: PathBuf,
}

/// What a command is about, for its errors.
#[derive(Clone, Copy)]
struct CallContext<'a> {
    verb: &'static str,
    what: &'static str,
    name: &'a str,
}

impl AppleEngine {
    /// Takes the program `container` by its path.
    pub fn new(program: PathBuf) -> Self {
        Self { program }
    }

    fn command(&self, arguments: &lower::Arguments) -> duct::Expression {
        let mut command = duct::cmd(&self.program, &arguments.argv);
        for (name, value) in &arguments.inherited {
            command = command.env(name, value);
        }
        command
    }

    /// Runs a command to its end and returns what it printed.
    fn run(
        &self,
        limit: Duration,
        call: CallContext<'_>,
        arguments: &lower::Arguments,
    ) -> Result<Vec<u8>, EngineError> {
        let unreachable = |source| EngineError::Unreachable {
            endpoint: self.program.display().to_string(),
            source,
        };
        let child = self
            .command(arguments)
            .stdin_null()
            .stdout_capture()
            .stderr_capture()
            .unchecked()
            .start()
            .map_err(unreachable)?;
        let Some(output) = child.wait_timeout(limit).map_err(unreachable)? else {
            drop(child.kill());
            return Err(EngineError::Timeout {
                endpoint: self.program.display().to_string(),
                after: limit,
            });
        };
        if output.status.success() {
            return Ok(output.stdout.clone());
        }
        let code = output.status.code().unwrap_or_default();
        let said = String::from_utf8_lossy(&output.stderr);
        let CallContext { verb, what, name } = call;
        Err(parse::refusal(verb, what, name, code, said.trim()))
    }

    fn call(&self, call: CallContext<'_>, argv: &[&str]) -> Result<Vec<u8>, EngineError> {
        self.run(CALL_LIMIT, call, &lower::plain(argv))
    }

    fn list_volumes(&self) -> Result<Vec<VolumeInfo>, EngineError> {
        let call = CallContext {
            verb: "list volumes",
            what: "volume",
            name: "",
        };
        parse::volumes(&self.call(call, &["volume", "list", "--format", "json"])?)
    }

    fn list_containers(&self) -> Result<Vec<ContainerInfo>, EngineError> {
        let call = CallContext {
            verb: "list containers",
            what: "container",
            name: "",
        };
        parse::containers(&self.call(call, &["list", "--all", "--format", "json"])?)
    }

    fn unsupported<T>(verb: &'static str, reason: &'static str) -> Result<T, EngineError> {
        Err(EngineError::Unsupported { verb, reason })
    }
}

fn about<'a>(verb: &'static str, what: &'static str, name: &'a str) -> CallContext<'a> {
    CallContext { verb, what, name }
}

impl Engine for AppleEngine {
    fn probe(&self) -> Result<EngineInfo, EngineError> {
        let call = about("probe", "command", "container");
        let version = self.run(
            PROBE_LIMIT,
            call,
            &lower::plain(&["system", "version", "--format", "json"]),
        )?;
        // Exits with 1 where the service is not running.
        self.run(PROBE_LIMIT, call, &lower::plain(&["system", "status"]))
            .map_err(|error| match error {
                EngineError::Refused { .. } => EngineError::Unreachable {
                    endpoint: self.program.display().to_string(),
                    source: io::Error::other(
                        "its service is not running; try `container system start`",
                    ),
                },
                other => other,
            })?;
        parse::engine_info(&self.program.display().to_string(), &version)
    }

    fn load_image(&self, archive: &mut (dyn Read + Send)) -> Result<String, EngineError> {
        const VERB: &str = "load image";
        let stream = |source| EngineError::Stream { verb: VERB, source };
        // It takes a file only.
        let mut file = tempfile::NamedTempFile::new().map_err(stream)?;
        io::copy(archive, &mut file).map_err(stream)?;
        file.flush().map_err(stream)?;
        let path = file.path().to_string_lossy();
        let arguments = lower::plain(&["image", "load", "--input", &path]);
        let said = self.run(
            LOAD_LIMIT,
            about(VERB, "image", "in the archive"),
            &arguments,
        )?;
        let name = parse::loaded_image(&String::from_utf8_lossy(&said))?;
        match self.image(&name)? {
            Some(image) => Ok(image.id),
            None => Err(EngineError::NotFound {
                what: "image",
                name: name.as_str().to_owned(),
            }),
        }
    }

    fn image(&self, image: &ImageRef) -> Result<Option<ImageInfo>, EngineError> {
        let call = about("inspect image", "image", image.as_str());
        match self.call(call, &["image", "inspect", image.as_str()]) {
            Ok(json) => Ok(parse::images(&json)?.into_iter().next()),
            Err(EngineError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn images(&self, label_key: &str) -> Result<Vec<ImageInfo>, EngineError> {
        let call = about("list images", "image", "");
        let json = self.call(call, &["image", "list", "--format", "json"])?;
        let mut images = Vec::new();
        for name in parse::image_names(&json)? {
            // One that is gone meanwhile is not there.
            images.extend(self.image(&name)?);
        }
        images.retain(|image| image.labels.contains_key(label_key));
        Ok(images)
    }

    fn remove_image(&self, image: &ImageRef) -> Result<(), EngineError> {
        let call = about("remove image", "image", image.as_str());
        self.call(call, &["image", "delete", image.as_str()])
            .map(drop)
    }

    fn create_volume(
        &self,
        name: &VolumeName,
        labels: &BTreeMap<String, String>,
    ) -> Result<(), EngineError> {
        // Unlike Docker it refuses a name that is taken.
        let call = about("create volume", "volume", name.as_str());
        self.run(CALL_LIMIT, call, &lower::create_volume(name, labels))
            .map(drop)
    }

    fn remove_volume(&self, name: &VolumeName) -> Result<(), EngineError> {
        let call = about("remove volume", "volume", name.as_str());
        self.call(call, &["volume", "delete", name.as_str()])
            .map(drop)
    }

    fn volumes(&self, label_key: &str) -> Result<Vec<VolumeInfo>, EngineError> {
        let mut volumes = self.list_volumes()?;
        volumes.retain(|volume| volume.labels.contains_key(label_key));
        Ok(volumes)
    }

    fn create_container(&self, spec: &HardenedSpec) -> Result<(), EngineError> {
        let wanted = spec.spec();
        let Some(image) = self.image(&wanted.image)? else {
            return Err(EngineError::NotFound {
                what: "image",
                name: wanted.image.as_str().to_owned(),
            });
        };
        let asked = |target: &&String| wanted.volumes.iter().any(|mount| mount.target == **target);
        if let Some(target) = image.volumes.iter().find(|target| !asked(target)) {
            return Err(EngineError::SurpriseVolume {
                image: wanted.image.as_str().to_owned(),
                target: target.clone(),
            });
        }
        // A mount of a missing one would create it, without labels.
        let volumes = self.list_volumes()?;
        for mount in &wanted.volumes {
            if !volumes.iter().any(|volume| volume.name == mount.volume) {
                return Err(EngineError::NotFound {
                    what: "volume",
                    name: mount.volume.as_str().to_owned(),
                });
            }
        }
        let call = about("create container", "container", wanted.name.as_str());
        self.run(CALL_LIMIT, call, &lower::create_container(spec))
            .map(drop)
    }

    fn start_container(&self, name: &ContainerName) -> Result<(), EngineError> {
        let call = about("start container", "container", name.as_str());
        self.call(call, &["start", name.as_str()]).map(drop)
    }

    fn stop_container(&self, name: &ContainerName, grace: Duration) -> Result<(), EngineError> {
        let seconds = grace.as_secs() + u64::from(grace.subsec_nanos() > 0);
        let call = about("stop container", "container", name.as_str());
        let seconds = seconds.to_string();
        let arguments = lower::plain(&["stop", "--time", &seconds, name.as_str()]);
        self.run(CALL_LIMIT + grace, call, &arguments).map(drop)
    }

    fn signal_container(&self, name: &ContainerName, signal: i32) -> Result<(), EngineError> {
        let call = about("signal container", "container", name.as_str());
        let signal = signal.to_string();
        self.call(call, &["kill", "--signal", &signal, name.as_str()])
            .map(drop)
    }

    fn pause_container(&self, _name: &ContainerName) -> Result<(), EngineError> {
        Self::unsupported("pause container", "Apple container can't pause")
    }

    fn unpause_container(&self, _name: &ContainerName) -> Result<(), EngineError> {
        Self::unsupported("unpause container", "Apple container can't pause")
    }

    fn container(&self, name: &ContainerName) -> Result<Option<ContainerInfo>, EngineError> {
        let containers = self.list_containers()?;
        Ok(containers
            .into_iter()
            .find(|container| container.name == *name))
    }

    fn containers(&self, label_key: &str) -> Result<Vec<ContainerInfo>, EngineError> {
        let mut containers = self.list_containers()?;
        containers.retain(|container| container.labels.contains_key(label_key));
        Ok(containers)
    }

    fn remove_container(&self, name: &ContainerName) -> Result<(), EngineError> {
        let call = about("remove container", "container", name.as_str());
        match self.call(call, &["delete", "--force", name.as_str()]) {
            Ok(_) | Err(EngineError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn exec(&self, name: &ContainerName, spec: &ExecSpec) -> Result<Process, EngineError> {
        const VERB: &str = "exec";
        match self.container(name)? {
            None => {
                return Err(EngineError::NotFound {
                    what: "container",
                    name: name.as_str().to_owned(),
                });
            }
            Some(container) if container.state != ContainerState::Running => {
                return Err(EngineError::Refused {
                    verb: VERB,
                    status: 1,
                    message: format!("container {name} is not running"),
                });
            }
            Some(_) => {}
        }
        let stream = |source| EngineError::Stream { verb: VERB, source };
        let (stdin, to_stdin) = io::pipe().map_err(stream)?;
        let (from_stdout, stdout) = io::pipe().map_err(stream)?;
        let (from_stderr, stderr) = io::pipe().map_err(stream)?;
        let child = self
            .command(&lower::exec(name, spec))
            .stdin_file(stdin)
            .stdout_file(stdout)
            .stderr_file(stderr)
            .unchecked()
            .start()
            .map_err(stream)?;
        let child = Arc::new(child);
        let reader = |pipe| {
            Box::new(CommandReader {
                pipe,
                child: Arc::clone(&child),
            })
        };
        Ok(Process {
            stdin: match spec.stdin {
                Stdin::Piped => Some(Box::new(to_stdin)),
                Stdin::Closed => None,
            },
            stdout: reader(from_stdout),
            stderr: reader(from_stderr),
            control: Box::new(Control(child)),
        })
    }
}

/// Reads what the command passes on; an end that the command's own death made is an error.
struct CommandReader {
    pipe: PipeReader,
    child: Arc<duct::Handle>,
}

impl Read for CommandReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.pipe.read(buffer)?;
        if length == 0
            && !buffer.is_empty()
            && let Some(signal) = self.child.wait()?.status.signal()
        {
            let message = format!("the command was ended by signal {signal}");
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, message));
        }
        Ok(length)
    }
}

struct Control(Arc<duct::Handle>);

impl ProcessControl for Control {
    /// The command returns the process's own code, and 1 for its own failures: the two
    /// can't be told apart.
    fn wait(&self) -> Result<i32, EngineError> {
        const VERB: &str = "wait for process";
        let output = self
            .0
            .wait()
            .map_err(|source| EngineError::Stream { verb: VERB, source })?;
        output.status.code().ok_or_else(|| EngineError::Lost {
            verb: VERB,
            message: "the command was ended by a signal".to_owned(),
        })
    }
}
