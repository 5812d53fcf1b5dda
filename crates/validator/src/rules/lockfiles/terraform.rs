//! `.terraform.lock.hcl`: blocks of providers, each with a version and hashes, in the form
//! that Terraform itself writes.

use std::borrow::Cow;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::quoted;
use super::source::{Address, Source};
use crate::rules::structured::{Unreadable, offset};

const ODD: &str = "is not written as Terraform writes it";

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let mut locked_packages = LockedPackages::default();
    let mut block: Option<Block<'_>> = None;
    let mut start = 0;
    for line in text.split('\n') {
        let at = offset(start);
        start += line.len() + 1;
        let odd = || Unreadable::at(at, ODD);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with("//") {
            continue;
        }
        let Some(open) = &mut block else {
            let address = line.strip_prefix("provider ").ok_or_else(odd)?;
            let address = quoted(address.strip_suffix('{').ok_or_else(odd)?).ok_or_else(odd)?;
            block = Some(Block {
                at,
                address,
                version: "",
                hashes: Vec::new(),
                in_hashes: false,
            });
            continue;
        };
        match (open.in_hashes, line) {
            (true, "]") => open.in_hashes = false,
            (true, hash) => {
                let hash = quoted(hash.strip_suffix(',').unwrap_or(hash)).ok_or_else(odd)?;
                open.hashes.push((at, hash));
            }
            (false, "}") => block.take().ok_or_else(odd)?.push(&mut locked_packages)?,
            (false, line) => {
                let (key, value) = line.split_once('=').ok_or_else(odd)?;
                let value = value.trim();
                match (key.trim(), value) {
                    ("hashes", "[") => open.in_hashes = true,
                    ("hashes", value) => {
                        let one = value
                            .strip_prefix('[')
                            .and_then(|one| one.strip_suffix(']'));
                        let hash = one.and_then(quoted).ok_or_else(odd)?;
                        open.hashes.push((at, hash));
                    }
                    ("version", value) => open.version = quoted(value).ok_or_else(odd)?,
                    ("constraints", value) => drop(quoted(value).ok_or_else(odd)?),
                    _ => return Err(odd()),
                }
            }
        }
    }
    match block {
        Some(block) => Err(Unreadable::at(block.at, "has a block without an end")),
        None => Ok(Lock {
            locked_packages: locked_packages.into_vec(),
            repetition: Repetition::Odd,
            repeated: Vec::new(),
            trusted: Vec::new(),
        }),
    }
}

struct Block<'a> {
    at: u32,
    address: &'a str,
    version: &'a str,
    hashes: Vec<(u32, &'a str)>,
    in_hashes: bool,
}

impl<'a> Block<'a> {
    fn push(self, locked_packages: &mut LockedPackages<'a>) -> Result<(), Unreadable> {
        let (host, _) = self.address.split_once('/').unwrap_or((self.address, ""));
        let source = Source::Web(Address {
            scheme: Cow::Borrowed("https"),
            host: Cow::Owned(host.to_lowercase()),
            rest: Cow::Borrowed(""),
        });
        let locked_package = LockedPackage::new(self.at, self.address, self.version, source);
        for (at, hash) in self.hashes {
            locked_packages.push(LockedPackage {
                at,
                file: Cow::Borrowed(hash),
                ..locked_package.clone().hashed(Some(Cow::Borrowed(hash)))
            })?;
        }
        locked_packages.push(locked_package)
    }
}
