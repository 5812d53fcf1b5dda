//! `Catalog`: the images that are declared.

use crate::{ImageName, Recipe, RecipeError};

/// The declarations under `images/`, built into the program.
const EMBEDDED: &[(&str, &str)] = &[
    ("base", include_str!("../../../images/base/image.toml")),
    ("porter", include_str!("../../../images/porter/image.toml")),
];

/// The images that are declared, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalog {
    recipes: Vec<Recipe>,
}

impl Catalog {
    /// Returns the images that come with lazaret.
    ///
    /// # Errors
    /// None in a released program: a test parses every declaration.
    pub fn embedded() -> Result<Self, RecipeError> {
        let mut recipes = Vec::new();
        for (name, source) in EMBEDDED {
            let name = ImageName::try_from((*name).to_owned()).map_err(|error| RecipeError {
                file: format!("images/{name}"),
                line: 1,
                message: error.to_string(),
            })?;
            recipes.push(Recipe::parse(&name, source)?);
        }
        Ok(Self { recipes })
    }

    /// Returns the recipe of that name.
    pub fn get(&self, name: &str) -> Option<&Recipe> {
        self.recipes
            .iter()
            .find(|recipe| recipe.name.as_str() == name)
    }

    /// Returns every recipe, sorted by name.
    pub fn recipes(&self) -> &[Recipe] {
        &self.recipes
    }
}
