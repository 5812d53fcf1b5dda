//! Which file of a crate uses which other one: by `use` declarations and by paths in code.
//!
//! A name is followed to the file that defines it. A parent module that declares its children
//! and re-exports their names uses none of them by that. A file may use what the modules that it
//! lies in define (the vocabulary of its folder): that is no import here.

use std::collections::{BTreeMap, BTreeSet};

use super::Source;
use super::tokens::{Token, product_tokens};

/// Re-exports that are followed before a name counts as unknown.
const MAX_HOPS: usize = 16;

/// Words that come before the name of an item.
const ITEM_WORDS: [&str; 10] = [
    "fn",
    "struct",
    "enum",
    "trait",
    "type",
    "const",
    "static",
    "union",
    "macro_rules",
    "mod",
];

/// One use of a name that another file defines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Import {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) line: usize,
    /// The path as it is written.
    pub(super) path: String,
}

/// A path of segments: `crate::a::B`.
type Path<'a> = Vec<&'a str>;

/// A file of the crate, read once.
#[derive(Debug)]
struct Module<'a> {
    file: &'a str,
    /// Segments below the crate's root.
    path: Path<'a>,
    items: BTreeSet<&'a str>,
    bindings: Vec<Binding<'a>>,
    /// Paths outside of `use` declarations.
    uses: Vec<Use<'a>>,
    /// Single identifiers outside of `use` declarations.
    words: BTreeSet<&'a str>,
}

/// A name that a `use` declaration brings in.
#[derive(Debug)]
struct Binding<'a> {
    name: &'a str,
    is_public: bool,
    used: Use<'a>,
}

/// A path, and where it stands.
#[derive(Debug)]
struct Use<'a> {
    path: Path<'a>,
    line: usize,
    /// How many inline modules are around it.
    depth: usize,
}

/// Returns every import between two files below `folder/src`.
pub(super) fn imports(folder: &str, sources: &[Source]) -> Vec<Import> {
    let root = format!("{folder}/src/");
    let library = format!("{root}lib.rs");
    let has_library = sources.iter().any(|source| source.path == library);
    let files = sources.iter().filter_map(|source| {
        let inner = source.path.strip_prefix(&root)?.strip_suffix(".rs")?;
        // Beside a library, the program is a crate of its own.
        let is_other_crate = inner == "main" && has_library;
        (!is_other_crate).then_some((source, module_path(inner)?))
    });
    let mut tests = BTreeSet::new();
    let mut modules = BTreeMap::new();
    for (source, path) in files {
        for name in test_modules(&source.text) {
            let mut test = path.clone();
            test.push(name);
            tests.insert(test);
        }
        modules.insert(path.clone(), Module::read(source, path));
    }
    modules.retain(|path, _| {
        let is_test = |length| tests.contains(&path[..length]);
        !(0..=path.len()).any(is_test)
    });
    let mut found = BTreeSet::new();
    for module in modules.values() {
        module.collect(&modules, &mut found);
    }
    found.into_iter().collect()
}

/// Returns the segments of a file's module; none for a program beside the library.
fn module_path(inner: &str) -> Option<Path<'_>> {
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    match inner {
        "lib" | "main" => Some(Vec::new()),
        _ if inner.starts_with("bin/") => None,
        _ => Some(inner.split('/').collect()),
    }
}

/// Modules that are declared under `#[cfg(test)]`.
fn test_modules(text: &str) -> impl Iterator<Item = &str> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let pairs = lines.into_iter().scan("", |before, line| {
        Some((std::mem::replace(before, line), line))
    });
    pairs.filter_map(|(before, line)| {
        let is_test = before == "#[cfg(test)]" || before.starts_with("#[cfg(all(test,");
        let declaration = line.strip_suffix(';').filter(|_| is_test)?;
        declaration.rsplit_once("mod ").map(|(_, name)| name)
    })
}

impl<'a> Module<'a> {
    fn read(source: &'a Source, path: Path<'a>) -> Self {
        let mut module = Self {
            file: &source.path,
            path,
            items: BTreeSet::new(),
            bindings: Vec::new(),
            uses: Vec::new(),
            words: BTreeSet::new(),
        };
        module.read_tokens(&product_tokens(&source.text));
        module
    }

    fn read_tokens(&mut self, tokens: &[Token<'a>]) {
        let text = |at: usize| tokens.get(at).map_or("", |token: &Token<'a>| token.text);
        // The depth in braces at which each inline module was opened.
        let mut inline = Vec::new();
        let (mut at, mut braces) = (0, 0_usize);
        while at < tokens.len() {
            match text(at) {
                "use" => {
                    let is_public = at > 0 && ["pub", ")"].contains(&text(at - 1));
                    at = self.read_use(tokens, at + 1, is_public, inline.len());
                    continue;
                }
                "{" => braces += 1,
                "}" => {
                    braces = braces.saturating_sub(1);
                    inline.pop_if(|depth| *depth == braces);
                }
                word if ITEM_WORDS.contains(&word) => {
                    let name = at + 1 + usize::from(text(at + 1) == "!");
                    self.items.insert(text(name));
                    if word == "mod" && text(at + 2) == "{" {
                        inline.push(braces);
                    }
                }
                word if word.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                    let start = at;
                    let mut path = vec![word];
                    while text(at + 1) == "::" && text(at + 2).starts_with(char::is_alphabetic) {
                        path.push(text(at + 2));
                        at += 2;
                    }
                    let is_start = start == 0 || text(start - 1) != "::";
                    if is_start && path.len() > 1 {
                        self.uses.push(Use {
                            path,
                            line: tokens[start].line,
                            depth: inline.len(),
                        });
                    } else {
                        self.words.insert(word);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        for used in &self.uses {
            self.words.insert(used.path[0]);
        }
    }

    /// Reads the tree of one `use` declaration and returns where it ends.
    fn read_use(
        &mut self,
        tokens: &[Token<'a>],
        start: usize,
        is_public: bool,
        depth: usize,
    ) -> usize {
        let mut at = start;
        let mut prefixes: Vec<Path<'a>> = Vec::new();
        let mut path: Path<'a> = Vec::new();
        let mut alias = None;
        while at < tokens.len() {
            let Token { text, line } = tokens[at];
            match text {
                "::" => {}
                "{" => prefixes.push(path.clone()),
                "as" => {
                    at += 1;
                    alias = tokens.get(at).map(|token| token.text);
                }
                "," | "}" | ";" => {
                    let prefix = prefixes.last().cloned().unwrap_or_default();
                    if path.len() > prefix.len() {
                        if path.last() == Some(&"self") {
                            path.pop();
                        }
                        let name = alias.take().or_else(|| path.last().copied());
                        self.bindings.push(Binding {
                            name: name.unwrap_or_default(),
                            is_public,
                            used: Use { path, line, depth },
                        });
                    }
                    path = prefix;
                    match text {
                        // What is left is the prefix itself, which names nothing more.
                        "}" => drop(prefixes.pop()),
                        ";" => return at + 1,
                        _ => {}
                    }
                }
                word => path.push(word),
            }
            at += 1;
        }
        at
    }

    fn collect(&self, modules: &Modules<'a>, found: &mut BTreeSet<Import>) {
        let imports = self.bindings.iter().filter_map(|binding| {
            let is_used = !binding.is_public || self.words.contains(binding.name);
            let to = self.resolve(modules, &binding.used, MAX_HOPS)?;
            is_used.then_some((&binding.used, to))
        });
        // `Name::new` adds nothing to the declaration that brings `Name` in.
        let is_brought_in = |used: &&Use<'a>| {
            let binding = self.binding(used.path[0]);
            binding.is_some_and(|found| self.resolve(modules, &found.used, MAX_HOPS).is_some())
        };
        let paths = self.uses.iter().filter(|used| !is_brought_in(used));
        let paths = paths.filter_map(|used| Some((used, self.resolve(modules, used, MAX_HOPS)?)));
        for (used, to) in imports.chain(paths) {
            if !self.path.starts_with(&to.path) {
                found.insert(Import {
                    from: self.file.to_owned(),
                    to: to.file.to_owned(),
                    line: used.line,
                    path: used.path.join("::"),
                });
            }
        }
    }

    /// Returns the file that defines what a path names; none if it is a module, or of another
    /// crate.
    fn resolve<'m>(
        &'m self,
        modules: &'m Modules<'a>,
        used: &Use<'a>,
        hops: usize,
    ) -> Option<&'m Self> {
        let mut path = used.path.as_slice();
        let mut module = self;
        // `super` in an inline module is this file.
        let mut inline = used.depth;
        let mut is_relative = true;
        while let Some((first, rest)) = path.split_first() {
            match *first {
                "crate" => module = modules.get(&[][..])?,
                "self" => {}
                "super" if inline > 0 => inline -= 1,
                "super" => {
                    let (_, parent) = module.path.split_last()?;
                    module = modules.get(parent)?;
                }
                _ => break,
            }
            is_relative = false;
            path = rest;
        }
        // A relative path begins with a child module or with a name that a `use` brought in.
        if is_relative && !module.knows(modules, path.first()?) {
            return None;
        }
        module.lookup(modules, path, hops)
    }

    fn knows(&self, modules: &Modules<'a>, name: &'a str) -> bool {
        self.child(modules, name).is_some() || self.binding(name).is_some()
    }

    fn child<'m>(&self, modules: &'m Modules<'a>, name: &'a str) -> Option<&'m Self> {
        let path: Path<'a> = self.path.iter().copied().chain([name]).collect();
        modules.get(path.as_slice())
    }

    fn binding(&self, name: &str) -> Option<&Binding<'a>> {
        self.bindings.iter().find(|binding| binding.name == name)
    }

    /// Follows the rest of a path from this module on.
    fn lookup<'m>(
        &'m self,
        modules: &'m Modules<'a>,
        path: &[&'a str],
        hops: usize,
    ) -> Option<&'m Self> {
        let (first, rest) = path.split_first()?;
        let hops = hops.checked_sub(1)?;
        if let Some(child) = self.child(modules, first) {
            return child.lookup(modules, rest, hops);
        }
        if self.items.contains(first) {
            return Some(self);
        }
        match self.binding(first) {
            Some(binding) => {
                let mut path = binding.used.path.clone();
                path.extend(rest);
                let used = Use {
                    path,
                    ..binding.used
                };
                self.resolve(modules, &used, hops)
            }
            // Macros make items, too.
            None => Some(self),
        }
    }
}

type Modules<'a> = BTreeMap<Path<'a>, Module<'a>>;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `from -> to:line path` of each import in a crate of these files.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let source = |(name, text): &(&str, &str)| Source {
            path: format!("crates/a/src/{name}"),
            text: (*text).to_owned(),
        };
        let sources: Vec<Source> = files.iter().map(source).collect();
        let inner = |file: &str| file.trim_start_matches("crates/a/src/").to_owned();
        let found = imports("crates/a", &sources).into_iter();
        let found = found.map(|import| {
            let Import { line, path, .. } = &import;
            format!(
                "{} -> {}:{line} {path}",
                inner(&import.from),
                inner(&import.to)
            )
        });
        found.collect()
    }

    #[test]
    fn uses_and_paths_are_followed_to_the_file() {
        let files = [
            ("lib.rs", "mod one; mod two;"),
            (
                "one.rs",
                "use std::fs;\nuse crate::two::{Two, inner::Deep as D};\npub fn f() {}",
            ),
            (
                "two/mod.rs",
                "pub mod inner; pub struct Two;\nfn g() { crate::one::f() }",
            ),
            (
                "two/inner.rs",
                "pub struct Deep;\nfn h() { super::g(); fs::read() }",
            ),
        ];
        assert_eq!(
            found(&files),
            [
                "one.rs -> two/inner.rs:2 crate::two::inner::Deep",
                "one.rs -> two/mod.rs:2 crate::two::Two",
                "two/mod.rs -> one.rs:2 crate::one::f",
            ]
        );
    }

    #[test]
    fn a_module_that_is_brought_in_is_used_by_its_names() {
        let files = [
            ("lib.rs", "mod one; mod two;"),
            ("one.rs", "use crate::two;\n\nfn f() { two::g() }"),
            ("two/mod.rs", "mod inner;\npub use self::inner::g;"),
            ("two/inner.rs", "pub fn g() {}"),
        ];
        assert_eq!(found(&files), ["one.rs -> two/inner.rs:3 two::g"]);
    }

    #[test]
    fn a_re_export_is_no_import_until_it_is_used() {
        let inner = ("inner.rs", "use crate::Other;\npub struct Inner;");
        let other = ("other.rs", "pub struct Other;");
        let root = "mod inner; mod other;\npub use inner::Inner;\npub use other::Other;";
        let import = "inner.rs -> other.rs:1 crate::Other";
        let program = ("main.rs", "use a::Other;");
        assert_eq!(found(&[inner, other, program, ("lib.rs", root)]), [import]);
        let used = format!("{root}\nfn f(_: Inner) {{}}");
        assert_eq!(
            found(&[inner, other, ("lib.rs", &used)]),
            [import, "lib.rs -> inner.rs:2 inner::Inner"]
        );
    }

    #[test]
    fn tests_and_inline_modules_are_of_their_file() {
        let files = [
            ("lib.rs", "mod one;\n#[cfg(test)]\nmod tests;\nmod two;"),
            (
                "one.rs",
                "struct B;\nmod inline { use super::B; use super::super::two::A; }",
            ),
            ("tests.rs", "use crate::one::B;"),
            ("two.rs", "pub struct A;"),
        ];
        assert_eq!(found(&files), ["one.rs -> two.rs:2 super::super::two::A"]);
    }
}
