//! What the command and its services have in common: images, variables, least limits.

use std::collections::BTreeMap;

use lazaret_image_builder::{Catalog, ImageName};
use lazaret_runtime::EnvName;

use super::source::{ProfileError, Source};

/// A shell and the porter need about this much to say that they ran out of memory.
pub(super) const LEAST_MEMORY: u64 = 32 << 20;
/// The porter, a shell, and a pipeline of the command.
pub(super) const LEAST_PIDS: u32 = 16;

/// The image of the exporter: no shell, no user, nothing to run.
const PORTER_IMAGE: &str = "porter";

/// Reads the name of an image: of lazaret's own, one that the user's own may have, or several of
/// them, joined by `+`. Whether there is one is found out when it is built.
pub(super) fn image_name(
    source: &Source<'_>,
    image: &toml::Spanned<String>,
) -> Result<String, ProfileError> {
    let catalog = Catalog::embedded()
        .map_err(|error| source.error(&image.span(), &format!("`image`: {error}")))?;
    let name = image.get_ref();
    if let Ok(name) = name.parse::<ImageName>()
        && name.parts().all(|part| part != PORTER_IMAGE)
    {
        return Ok(name.to_string());
    }
    let known: Vec<_> = catalog
        .images()
        .iter()
        .map(|recipe| recipe.name.as_str())
        .filter(|name| *name != PORTER_IMAGE)
        .collect();
    Err(source.error(
        &image.span(),
        &format!(
            "found image \"{name}\", expected one that comes with lazaret ({}) or one of your own",
            known.join(", ")
        ),
    ))
}

/// Reads `env`.
pub(super) fn variables(
    source: &Source<'_>,
    raw: &BTreeMap<toml::Spanned<String>, toml::Spanned<String>>,
) -> Result<BTreeMap<EnvName, String>, ProfileError> {
    let mut variables = BTreeMap::new();
    for (name, value) in raw {
        let parsed: EnvName = name
            .get_ref()
            .parse()
            .map_err(|error| source.error(&name.span(), &format!("`env`: {error}")))?;
        if parsed.as_str() == "LAZARET" || parsed.as_str().starts_with("LAZARET_") {
            return Err(source.error(
                &name.span(),
                "`env`: names that start with LAZARET are set by lazaret itself",
            ));
        }
        if value.get_ref().contains('\0') {
            return Err(source.error(&value.span(), "`env`: a value holds a NUL character"));
        }
        variables.insert(parsed, value.get_ref().clone());
    }
    Ok(variables)
}
