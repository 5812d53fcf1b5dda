//! Combined images: `claude+rust` has what `claude` has and what `rust` has.
//!
//! The combined declaration is made of those of its parts, so it depends on their names and texts
//! alone. Components that build on everything below them come first: they then build on the base
//! as they do in their own image, and its layer is found in the cache.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::spec::combine_error::CombineError;
use crate::spec::image::{ComponentRequest, User};
use crate::{Base, BuildError, Catalog, ImageName, ImageSpec, Trust};

/// An image that is to be combined with others.
struct Part<'c> {
    spec: &'c ImageSpec,
    /// It and the images below it, lowest first, without [`Self::root`].
    chain: Vec<&'c ImageSpec>,
    /// What it starts from in the end: an image that has no other one for its base.
    root: &'c ImageSpec,
}

impl Catalog {
    /// Returns the declaration of the image `name`: the one that is written down, or that which
    /// a name such as `claude+rust` stands for.
    ///
    /// # Errors
    /// [`BuildError::Unknown`], and [`BuildError::Combine`] with the two images that do not fit.
    pub fn find(&self, name: &str) -> Result<Cow<'_, ImageSpec>, BuildError> {
        match name.parse::<ImageName>() {
            Ok(name) if name.is_combined() => Ok(Cow::Owned(self.combine(&name)?)),
            Ok(name) => self.declared(name.as_str()).map(Cow::Borrowed),
            Err(_) => self.declared(name).map(Cow::Borrowed),
        }
    }

    /// Returns the components of one part of a combined image, those of its bases too.
    pub(crate) fn components_of(&self, part: &str) -> BTreeSet<&str> {
        let part = self.part(part).ok();
        let requests = part.iter().flat_map(Part::components);
        requests.map(|choice| choice.component.as_str()).collect()
    }

    fn declared(&self, name: &str) -> Result<&ImageSpec, BuildError> {
        self.get(name).ok_or_else(|| BuildError::Unknown {
            name: name.to_owned(),
            known: (self.images().iter().map(|spec| spec.name.as_str()))
                .collect::<Vec<_>>()
                .join(", "),
        })
    }

    fn part(&self, name: &str) -> Result<Part<'_>, BuildError> {
        let spec = self.declared(name)?;
        let (mut chain, mut root) = (Vec::new(), spec);
        while let Base::Image(below) = &root.base {
            chain.push(root);
            root = self.declared(below.as_str())?;
        }
        chain.reverse();
        Ok(Part { spec, chain, root })
    }

    fn combine(&self, name: &ImageName) -> Result<ImageSpec, BuildError> {
        let mut parts = Vec::new();
        for part in name.parts() {
            parts.push(self.part(part)?);
        }
        let root = same_root(&parts)?;
        let mut source = String::new();
        let mut verify = Vec::new();
        let mut seen = BTreeSet::new();
        for spec in parts.iter().flat_map(|part| &part.chain) {
            if seen.insert(&spec.name) {
                source.push_str(&format!("# {}\n{}\n", spec.name, spec.source));
                verify.extend(spec.verify.iter().cloned());
            }
        }
        let specs = || parts.iter().map(|part| part.spec);
        let descriptions: Vec<_> = specs().map(|spec| spec.description.as_str()).collect();
        Ok(ImageSpec {
            name: name.clone(),
            description: descriptions.join("; "),
            base: Base::Image(root.name.clone()),
            base_line: 1,
            components: self.merge(&parts)?,
            trust: match specs().any(|spec| spec.trust == Trust::Host) {
                true => Trust::Host,
                false => Trust::Image,
            },
            verify,
            user: same_user(&parts)?,
            service: self.service_of(name.as_str()).cloned(),
            max_age: specs()
                .filter_map(|spec| spec.max_age)
                .min_by_key(|age| age.0),
            file: name.to_string(),
            source,
        })
    }

    /// Puts the components of all parts into one order, which keeps that of each part.
    fn merge(&self, parts: &[Part<'_>]) -> Result<Vec<ComponentRequest>, CombineError> {
        let mut lists: Vec<_> = parts
            .iter()
            .map(|part| part.components().peekable())
            .collect();
        let builds_on_all = |choice: &ComponentRequest| {
            let component = self.component(&choice.component);
            component.is_some_and(|component| component.paths.is_empty())
        };
        let mut merged: Vec<ComponentRequest> = Vec::new();
        loop {
            let heads = lists.iter_mut().map(|list| list.peek().copied());
            let heads: Vec<_> = heads.collect();
            let first = heads
                .iter()
                .position(|head| head.is_some_and(builds_on_all));
            let next = first.or_else(|| heads.iter().position(Option::is_some));
            let Some(choice) = next.and_then(|next| lists.get_mut(next)?.next()) else {
                return Ok(merged);
            };
            let same = |have: &&mut ComponentRequest| have.component == choice.component;
            match merged.iter_mut().find(same) {
                None => merged.push(choice.clone()),
                Some(have) => self.join(have, choice)?,
            }
        }
    }

    /// Joins two requests for one component: packages add up, all else is the same.
    fn join(
        &self,
        have: &mut ComponentRequest,
        other: &ComponentRequest,
    ) -> Result<(), CombineError> {
        let component = self.component(&have.component);
        let default = component.and_then(|component| component.version.as_ref());
        let way = |choice: &ComponentRequest| {
            let version = choice.version.as_ref().or(default).cloned();
            (version, choice.source.clone())
        };
        if way(have) != way(other) {
            return Err(CombineError::Component {
                one: have.image.to_string(),
                other: other.image.to_string(),
                component: have.component.to_string(),
            });
        }
        have.packages.extend(other.packages.iter().cloned());
        have.packages.sort();
        have.packages.dedup();
        Ok(())
    }
}

impl<'c> Part<'c> {
    fn components(&self) -> impl Iterator<Item = &'c ComponentRequest> + use<'c> {
        let chain = self.chain.clone();
        chain.into_iter().flat_map(|spec| &spec.components)
    }
}

/// Returns what all parts start from.
fn same_root<'c>(parts: &[Part<'c>]) -> Result<&'c ImageSpec, BuildError> {
    let Some((first, others)) = parts.split_first() else {
        return Err(BuildError::Unknown {
            name: String::new(),
            known: String::new(),
        });
    };
    match others.iter().find(|part| part.root.name != first.root.name) {
        None => Ok(first.root),
        Some(other) => Err(BuildError::Combine(CombineError::Base {
            one: first.spec.name.to_string(),
            one_base: first.root.name.to_string(),
            other: other.spec.name.to_string(),
            other_base: other.root.name.to_string(),
        })),
    }
}

/// Returns the user that parts declare; one without `[user]` takes any.
fn same_user(parts: &[Part<'_>]) -> Result<User, CombineError> {
    let default = User::default();
    let mut declared = parts.iter().filter(|part| part.spec.user != default);
    let Some(first) = declared.next() else {
        return Ok(default);
    };
    match declared.find(|part| part.spec.user != first.spec.user) {
        None => Ok(first.spec.user.clone()),
        Some(other) => Err(CombineError::User {
            one: first.spec.name.to_string(),
            other: other.spec.name.to_string(),
        }),
    }
}
