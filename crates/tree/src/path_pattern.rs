//! `PathPattern`: which paths a row of a table is about.

use crate::RelPath;

/// A pattern of paths: `.config/git/**`, `.local/lib/*/site-packages/*.pth`.
///
/// `*` stands for any characters of one component; a last `**` for everything below. Nothing is
/// folded: a pattern is for a file system that tells upper from lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    components: Vec<String>,
    reach: Reach,
}

/// How far a pattern reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// To the entry of that path.
    Entry,
    /// To everything below it.
    Below,
}

impl PathPattern {
    /// Reads a pattern; `None` for one that is empty or leads out.
    pub fn parse(text: &str) -> Option<Self> {
        let (path, reach) = match text.strip_suffix("/**") {
            Some(path) => (path, Reach::Below),
            None => (text, Reach::Entry),
        };
        let path = RelPath::new(path).ok()?;
        Some(Self {
            components: path.components().map(str::to_owned).collect(),
            reach,
        })
    }

    /// Returns its components, without a last `**`.
    pub fn components(&self) -> &[String] {
        &self.components
    }

    /// Returns how far it reaches.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Whether it names a path: with a last `**`, one below.
    pub fn matches(&self, path: &RelPath) -> bool {
        let names = path.components().count();
        let has_length = match self.reach {
            Reach::Entry => names == self.components.len(),
            Reach::Below => names > self.components.len(),
        };
        has_length && self.begins(path)
    }

    /// Whether what it names lies below a path.
    pub fn leads_through(&self, path: &RelPath) -> bool {
        let names = path.components().count();
        let is_above = match self.reach {
            Reach::Entry => names < self.components.len(),
            Reach::Below => names <= self.components.len(),
        };
        is_above && self.begins(path)
    }

    /// Whether a path has the same beginning, as far as both go.
    fn begins(&self, path: &RelPath) -> bool {
        let mut both = self.components.iter().zip(path.components());
        both.all(|(component, name)| is_like(component, name))
    }
}

impl std::fmt::Display for PathPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.components.join("/"))?;
        match self.reach {
            Reach::Entry => Ok(()),
            Reach::Below => f.write_str("/**"),
        }
    }
}

/// Whether a name fits a component of a pattern.
pub fn is_like(component: &str, name: &str) -> bool {
    let mut parts = component.split('*');
    let Some(rest) = name.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    let Some(mut rest) = rest.strip_suffix(last) else {
        return false;
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        let pattern = PathPattern::parse(pattern).unwrap();
        pattern.matches(RelPath::new(path).unwrap())
    }

    fn leads_through(pattern: &str, path: &str) -> bool {
        let pattern = PathPattern::parse(pattern).unwrap();
        pattern.leads_through(RelPath::new(path).unwrap())
    }

    #[test]
    fn a_star_stands_for_characters_of_one_component() {
        for (pattern, path, expected) in [
            (".bashrc", ".bashrc", true),
            (".bashrc", ".bashrc2", false),
            (".bashrc", ".bashrc/a", false),
            (".claude/settings*.json", ".claude/settings.json", true),
            (
                ".claude/settings*.json",
                ".claude/settings.local.json",
                true,
            ),
            (".claude/settings*.json", ".claude/settings.jsonx", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "axbxbxc", true),
            ("a*b*c", "acb", false),
            ("lib/*/x", "lib/a/x", true),
            ("lib/*/x", "lib/a/b/x", false),
            ("aa*a", "aa", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn two_stars_reach_below_and_each_pattern_knows_its_way() {
        for (pattern, path, expected) in [
            ("bin/**", "bin/a", true),
            ("bin/**", "bin/a/b", true),
            ("bin/**", "bin", false),
            ("bin/**", "bind/a", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
        for (pattern, path, expected) in [
            ("bin/**", "bin", true),
            ("bin/**", "bin/a", false),
            ("bin/a", "bin", true),
            ("bin/a", "bin/a", false),
            (".config/git/**", ".config", true),
            (".config/git/**", ".config/git", true),
            (".config/git/**", ".config/x", false),
        ] {
            assert_eq!(leads_through(pattern, path), expected, "{pattern} {path}");
        }
        for text in ["", "/a", "../a", "a/../b", "a//b"] {
            assert_eq!(PathPattern::parse(text), None, "{text}");
        }
        let shown = PathPattern::parse(".config/git/**").unwrap().to_string();
        assert_eq!(shown, ".config/git/**");
    }
}
