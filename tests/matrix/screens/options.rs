//! The command line of the pictures.

use std::path::PathBuf;

use crate::engine::EngineName;

#[derive(Debug)]
pub(super) struct Options {
    pub(super) engine: EngineName,
    pub(super) into: PathBuf,
}

impl Options {
    /// # Errors
    /// An argument that is unknown, or a value that is missing or wrong.
    pub(super) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut engine = EngineName::Docker;
        let mut into = None;
        while let Some(argument) = arguments.next() {
            let value = arguments.next();
            let value = value.ok_or_else(|| format!("`{argument}` needs a value"))?;
            match argument.as_str() {
                "--engine" => engine = value.parse()?,
                "--into" => into = Some(PathBuf::from(value)),
                other => return Err(format!("unknown argument `{other}`")),
            }
        }
        let into = into.ok_or_else(|| "`--into` is missing".to_owned())?;
        Ok(Self { engine, into })
    }
}
