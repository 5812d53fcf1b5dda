//! `Catalog`: the images and components that are declared.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{devcontainer, embedded};
use crate::{
    Base, Component, ComponentName, ImageName, ImageSpec, ServiceSpec, SpecError, TakesPackages,
};

/// The images and components that are declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalog {
    images: Vec<ImageSpec>,
    components: Vec<Component>,
    /// Combined images that profiles name: they are listed as the declared ones.
    asked_for: BTreeSet<ImageName>,
}

/// Why declarations can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// One of them is wrong.
    #[error(transparent)]
    ImageSpec(#[from] SpecError),
    /// One of them can't be read.
    #[error("{path}: {source}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl Catalog {
    /// Returns what comes with lazaret.
    ///
    /// # Errors
    /// None in a released program: a test parses every declaration.
    pub fn embedded() -> Result<Self, CatalogError> {
        let mut catalog = Self {
            images: Vec::new(),
            components: Vec::new(),
            asked_for: BTreeSet::new(),
        };
        for (name, text) in embedded::COMPONENTS {
            catalog.add_component(name, &format!("images/components/{name}.toml"), text)?;
        }
        for (name, text) in embedded::IMAGES {
            catalog.add_image(name, &format!("images/{name}/image.toml"), text)?;
        }
        catalog.check()?;
        Ok(catalog)
    }

    /// Returns what comes with lazaret, and what the user declares in `dir`:
    /// `NAME/image.toml` and `components/NAME.toml`. A directory that is not there
    /// declares nothing.
    ///
    /// # Errors
    /// Shows the file and the line that is wrong. A name that lazaret has itself is taken.
    pub fn with_own(dir: &Path) -> Result<Self, CatalogError> {
        let mut catalog = Self::embedded()?;
        for path in listed(&dir.join("components"))? {
            let is_toml = path
                .extension()
                .is_some_and(|extension| extension == "toml");
            if let (true, Some(name)) = (is_toml, path.file_stem()) {
                let text = read(&path)?;
                let file = path.display().to_string();
                catalog.add_component(&name.to_string_lossy(), &file, &text)?;
            }
        }
        for path in listed(dir)? {
            let file = path.join("image.toml");
            if let (true, Some(name)) = (file.is_file(), path.file_name()) {
                let text = read(&file)?;
                catalog.add_image(&name.to_string_lossy(), &file.display().to_string(), &text)?;
                catalog.read_devcontainer(&path)?;
            }
        }
        catalog.check()?;
        Ok(catalog)
    }

    /// Returns the names of the images, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.images.iter().map(|image| image.name.as_str())
    }

    fn add_component(&mut self, name: &str, file: &str, text: &str) -> Result<(), SpecError> {
        let name = name.parse::<ComponentName>().map_err(named(file))?;
        if self.component(&name).is_some() {
            return Err(taken(file, "component", name.as_str()));
        }
        self.components.push(Component::parse(&name, file, text)?);
        Ok(())
    }

    fn add_image(&mut self, name: &str, file: &str, text: &str) -> Result<(), SpecError> {
        let name = name.parse::<ImageName>().map_err(named(file))?;
        if name.is_combined() {
            let message = format!("`{name}` is the name of a combined image; use no `+` here");
            return Err(named(file)(message));
        }
        if self.get(name.as_str()).is_some() {
            return Err(taken(file, "image", name.as_str()));
        }
        self.images.push(ImageSpec::parse(&name, file, text)?);
        Ok(())
    }

    /// Puts the image that a `devcontainer.json` in `dir` names in the place of the file, for
    /// the image that was declared last.
    fn read_devcontainer(&mut self, dir: &Path) -> Result<(), CatalogError> {
        if let Some(spec) = self.images.last_mut()
            && let Base::Devcontainer(file) = &spec.base
        {
            let path = dir.join(file);
            let reference = devcontainer::image(&path.display().to_string(), &read(&path)?)?;
            // Part of the inputs: another image in the file is another image.
            spec.source.push_str(&format!("\n# {reference}\n"));
            spec.base = Base::Registry(reference);
        }
        Ok(())
    }

    /// Looks up what the declarations name.
    fn check(&mut self) -> Result<(), SpecError> {
        self.images.sort_by(|one, other| one.name.cmp(&other.name));
        for spec in &self.images {
            self.check_base(spec)?;
            for choice in &spec.components {
                let refuse = |message: &str| Err(spec.refuse_line(choice.line, message));
                let Some(component) = self.component(&choice.component) else {
                    let known: Vec<_> = self
                        .components
                        .iter()
                        .map(|one| one.name.as_str())
                        .collect();
                    return refuse(&format!(
                        "there is no component `{}`; there are: {}",
                        choice.component,
                        known.join(", ")
                    ));
                };
                match (component.takes_packages, choice.packages.is_empty()) {
                    (TakesPackages::No, false) => {
                        return refuse(&format!("`{}` takes no `packages`", component.name));
                    }
                    (TakesPackages::Yes, true) => {
                        return refuse(&format!("`{}` needs `packages`", component.name));
                    }
                    _ => {}
                }
                if let Some(wanted) = &choice.source
                    && !component
                        .sources
                        .iter()
                        .any(|source| source.name == *wanted)
                {
                    let known: Vec<_> = component
                        .sources
                        .iter()
                        .map(|one| one.name.as_str())
                        .collect();
                    return refuse(&format!(
                        "`{}` has no source `{wanted}`; it has: {}",
                        component.name,
                        known.join(", ")
                    ));
                }
            }
        }
        for component in &self.components {
            self.check_tools(component, &mut Vec::new())?;
        }
        Ok(())
    }

    /// Follows the bases down: each must be there, and the chain must end.
    fn check_base(&self, spec: &ImageSpec) -> Result<(), SpecError> {
        let mut below = spec;
        for _ in 0..=self.images.len() {
            let Base::Image(name) = &below.base else {
                return Ok(());
            };
            let line = below.base_line;
            below = self
                .get(name.as_str())
                .ok_or_else(|| below.refuse_line(line, &format!("there is no image `{name}`")))?;
            if below.base == Base::Scratch {
                let reason = format!("`{name}` is made from scratch: nothing can be built on it");
                return Err(spec.refuse_line(spec.base_line, &reason));
            }
        }
        Err(spec.refuse_line(spec.base_line, "the bases go round in a circle"))
    }

    fn check_tools<'c>(
        &'c self,
        component: &'c Component,
        above: &mut Vec<&'c ComponentName>,
    ) -> Result<(), SpecError> {
        let refuse = |message: String| SpecError {
            file: component.file.clone(),
            line: 1,
            message,
        };
        if above.contains(&&component.name) {
            return Err(refuse(format!("`{}` is a tool of its own", component.name)));
        }
        above.push(&component.name);
        for tool in component.sources.iter().flat_map(|source| &source.tools) {
            let found = self
                .component(tool)
                .ok_or_else(|| refuse(format!("there is no component `{tool}`")))?;
            self.check_tools(found, above)?;
        }
        above.pop();
        Ok(())
    }

    /// Returns the declared image of that name; none for a combined one.
    pub fn get(&self, name: &str) -> Option<&ImageSpec> {
        self.images.iter().find(|spec| spec.name.as_str() == name)
    }

    /// Returns how an image runs as a server: as it says, or else the image that it starts from.
    ///
    /// A combined image runs as the one of its parts that says so.
    pub fn service_of(&self, name: &str) -> Option<&ServiceSpec> {
        if name.contains('+') {
            let mut services = name.split('+').filter_map(|part| self.service_of(part));
            let service = services.next();
            return service.filter(|_| services.next().is_none());
        }
        let mut spec = self.get(name)?;
        loop {
            match (&spec.service, &spec.base) {
                (Some(service), _) => return Some(service),
                (None, Base::Image(base)) => spec = self.get(base.as_str())?,
                (None, _) => return None,
            }
        }
    }

    /// Notes a combined image that a profile names, so that it is listed as the declared ones.
    /// The name of any other image changes nothing.
    pub fn ask_for(&mut self, name: &str) {
        let name = name.parse().ok().filter(ImageName::is_combined);
        self.asked_for.extend(name);
    }

    /// Returns the combined images that were asked for, sorted by name.
    pub fn asked_for(&self) -> &BTreeSet<ImageName> {
        &self.asked_for
    }

    /// Returns every spec, sorted by name.
    pub fn images(&self) -> &[ImageSpec] {
        &self.images
    }

    /// Returns the component of that name.
    pub fn component(&self, name: &ComponentName) -> Option<&Component> {
        self.components.iter().find(|one| one.name == *name)
    }
}

fn named<E: std::fmt::Display>(file: &str) -> impl Fn(E) -> SpecError {
    let file = file.to_owned();
    move |error| SpecError {
        file: file.clone(),
        line: 1,
        message: error.to_string(),
    }
}

fn taken(file: &str, what: &str, name: &str) -> SpecError {
    SpecError {
        file: file.to_owned(),
        line: 1,
        message: format!("lazaret has {what} `{name}` itself; give this one another name"),
    }
}

fn listed(dir: &Path) -> Result<Vec<PathBuf>, CatalogError> {
    let at = |source| CatalogError::Read {
        path: dir.to_owned(),
        source,
    };
    let mut paths = Vec::new();
    match fs::read_dir(dir) {
        Ok(entries) => {
            for entry in entries {
                paths.push(entry.map_err(at)?.path());
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(at(error)),
    }
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<String, CatalogError> {
    fs::read_to_string(path).map_err(|source| CatalogError::Read {
        path: path.to_owned(),
        source,
    })
}
