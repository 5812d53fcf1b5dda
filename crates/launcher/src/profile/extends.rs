//! `extends`: a profile that says only what it changes of another one.

use toml::{Table, Value};

use super::source::{ProfileError, Source};

/// Joins a profile with the one that it extends, and returns the text of both together.
///
/// Tables merge key by key. Any other value replaces the other profile's: a list, and where
/// a secret is taken from, of which there is exactly one.
///
/// # Errors
/// What is wrong in one of the two; and a second step, since only one level is followed.
pub(super) fn merged(own: &Source<'_>, base: &Source<'_>) -> Result<String, ProfileError> {
    if let Some(extends) = base.parse()?.extends {
        let message = format!(
            "{} extends this profile, which extends another one; only one level is followed",
            own.file
        );
        return Err(base.error(&extends.span(), &message));
    }
    // Its own keys are checked where they are written.
    own.parse()?;
    let mut table = table(base)?;
    // They are the other profile's.
    table.remove("projects");
    overlay(&mut table, self::table(own)?);
    table.remove("extends");
    toml::to_string(&table).map_err(|error| {
        own.error(
            &(0..0),
            &format!("it can't be joined with {}: {error}", base.file),
        )
    })
}

fn table(source: &Source<'_>) -> Result<Table, ProfileError> {
    toml::from_str(source.text)
        .map_err(|error| ProfileError::of_toml(source.file, source.text, &error))
}

fn overlay(below: &mut Table, above: Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) if key != "from" => {
                overlay(below, above);
            }
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Origin, Profile, SecretSource, resolve};
    use super::*;

    const BASE: &str = "image = \"base\"\ncommand = [\"a\", \"b\"]\n[env]\nA = \"1\"\nB = \"1\"\n\
        [network]\nmode = \"allowlist\"\nallow = [\"a.test:443\"]\n[limits]\nmemory = \"1g\"\n\
        [secrets.KEY]\nfrom = { env = \"KEY\" }\n\
        broker = { host = \"k.test:443\", header = \"x-key\" }\n";

    fn joined(own: &str, base: &str) -> Result<Profile, String> {
        let own = Source {
            file: "own.toml",
            text: own,
        };
        let base = Source {
            file: "base.toml",
            text: base,
        };
        let text = merged(&own, &base).map_err(|error| error.to_string())?;
        let source = Source {
            file: "own.toml with base.toml",
            text: &text,
        };
        resolve::profile("own", Origin::BuiltIn, &source).map_err(|error| error.to_string())
    }

    #[test]
    fn tables_merge_and_lists_replace() {
        let own = "extends = \"base\"\n[env]\nB = \"2\"\nC = \"2\"\n[network]\n\
            allow = [\"b.test:443\"]\n[limits]\npids = 99\n\
            [secrets.KEY]\nfrom = { command = [\"pass\"] }\n";
        let profile = joined(own, BASE).unwrap();
        assert_eq!(profile.command, ["a", "b"]);
        let env: Vec<_> = profile
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(env, ["A=1", "B=2", "C=2"]);
        let allow: Vec<_> = (profile.network.allow.iter())
            .map(ToString::to_string)
            .collect();
        assert_eq!(allow, ["b.test:443"]);
        assert_eq!((profile.limits.memory, profile.limits.pids), (1 << 30, 99));
        let from = &profile.secrets[0].from;
        assert!(matches!(from, SecretSource::Command(_)), "{from:?}");
        assert_eq!(profile.secrets[0].broker.header, "x-key");
    }

    #[test]
    fn what_is_wrong_names_the_file_or_both() {
        let first = |own: &str, base: &str| {
            let error = joined(own, base).expect_err("it is wrong");
            error.lines().next().unwrap_or_default().to_owned()
        };
        let own = "extends = \"base\"\n";
        let said = first(&format!("{own}imagine = 1"), BASE);
        assert!(said.starts_with("own.toml:2:1: unknown key"), "{said}");
        let said = first(own, "image = 1");
        assert!(said.starts_with("base.toml:1:9: "), "{said}");
        let said = first(own, "extends = \"c\"\nimage = \"base\"");
        assert!(
            said.starts_with("base.toml:1:11: own.toml extends"),
            "{said}"
        );
        let said = first(&format!("{own}[limits]\ntmp = \"2g\""), BASE);
        assert!(said.starts_with("own.toml with base.toml:"), "{said}");
    }
}
