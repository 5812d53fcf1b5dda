//! Which names look like secrets. The list is documented on [`FileSelector`](super::FileSelector).

use lazaret_tree::MAX_COMPONENT_BYTES;

use super::Kind;

/// What a name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretMatch {
    /// Nothing.
    None,
    /// A secret.
    Secret,
    /// A secret, unless the workspace says otherwise.
    Likely,
    /// A secret if the contents say so.
    Probe(ContentProbe),
}

/// How contents decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentProbe {
    /// A secret unless every PEM block is public.
    Pem,
    /// A secret when a token or password is set.
    Token,
    /// A secret when an address has a user, or a header is added to requests.
    Address,
}

/// How much of a file is looked at; what is longer is taken for a secret.
pub(crate) const PROBE_BYTES: usize = 64 << 10;

/// Judges an entry by its raw path.
pub(crate) fn secret_match(path: &[u8], kind: Kind) -> SecretMatch {
    let mut components = path.rsplit(|&byte| byte == b'/');
    let (mut name, mut parent) = ([0; MAX_COMPONENT_BYTES], [0; MAX_COMPONENT_BYTES]);
    let name = lower(components.next().unwrap_or_default(), &mut name);
    let parent = lower(components.next().unwrap_or_default(), &mut parent);
    let ends = |suffixes: &[&str]| suffixes.iter().any(|s| name.ends_with(s.as_bytes()));
    let yes = match kind {
        Kind::Dir => matches!(
            name,
            b".aws" | b".ssh" | b".gnupg" | b".azure" | b".kube" | b".password-store" | b".gcloud"
        ),
        Kind::Other => match name {
            b".env" | b".netrc" | b"_netrc" | b".git-credentials" | b".pgpass" | b".my.cnf"
            | b".htpasswd" | b".dockercfg" | b".vault-token" | b".boto" | b".s3cfg" | b"id_rsa"
            | b"id_dsa" | b"id_ecdsa" | b"id_ed25519" | b"id_ecdsa_sk" | b"id_ed25519_sk" => true,
            // Of a repository without files, which is a directory like any other here.
            b"config" | b"fetch_head" if is_bare_repository(parent) => {
                return SecretMatch::Probe(ContentProbe::Address);
            }
            b"config.json" => parent == b".docker",
            b"credentials" | b"credentials.toml" => parent == b".cargo",
            b"auth.json" => matches!(parent, b".codex" | b"opencode"),
            b"hosts.yml" => parent == b"gh",
            b".credentials.json" | b"oauth_creds.json" | b"kubeconfig" | b".dev.vars"
            | b"fish_history" | b".histfile" => true,
            b".npmrc" | b".yarnrc.yml" | b".pypirc" => {
                return SecretMatch::Probe(ContentProbe::Token);
            }
            _ if name.starts_with(b".env.") || name.starts_with(b".dev.vars.") => {
                !ends(&[".example", ".sample", ".template", ".dist"])
            }
            _ if name.starts_with(b".") && name.ends_with(b"_history") => true,
            _ if name.ends_with(b".pem") => return SecretMatch::Probe(ContentProbe::Pem),
            _ if is_likely(name) => return SecretMatch::Likely,
            _ => ends(&[
                ".kubeconfig",
                ".key",
                ".p12",
                ".pfx",
                ".jks",
                ".keystore",
                ".kdbx",
                ".ppk",
                ".tfstate",
                ".tfstate.backup",
            ]),
        },
    };
    match yes {
        true => SecretMatch::Secret,
        false => SecretMatch::None,
    }
}

/// Whether most projects keep secrets under this name, in lower case, and some an example.
fn is_likely(name: &[u8]) -> bool {
    let split = |at: usize| (&name[..at], &name[at + 1..]);
    let dot = name.iter().rposition(|&byte| byte == b'.');
    let Some((stem, extension)) = dot.map(split) else {
        return false;
    };
    let is_data = matches!(extension, b"yml" | b"yaml" | b"json" | b"toml");
    match (stem, extension) {
        (_, b"env") => !EXAMPLES.iter().any(|word| stem.ends_with(word.as_bytes())),
        (_, b"tfvars") => true,
        (b"secrets" | b"credentials", _) if is_data => true,
        (_, b"json") => {
            stem.ends_with(b".tfvars") || stem.ends_with(b"credentials") || is_service_account(stem)
        }
        _ => false,
    }
}

/// How the names of examples end.
const EXAMPLES: [&str; 5] = ["example", "sample", "template", "dist", "defaults"];

/// Google's names, with whatever parts their words.
fn is_service_account(stem: &[u8]) -> bool {
    let plain = stem.iter().filter(|byte| byte.is_ascii_alphanumeric());
    let plain: Vec<u8> = plain.copied().collect();
    plain.starts_with(b"clientsecret") || plain.starts_with(b"serviceaccount")
}

/// Returns a component in lower case, without an allocation.
fn lower<'b>(component: &[u8], buffer: &'b mut [u8; MAX_COMPONENT_BYTES]) -> &'b [u8] {
    // A longer one is no name of a file, and no secret's.
    let length = component.len().min(buffer.len());
    let buffer = &mut buffer[..length];
    buffer.copy_from_slice(&component[..length]);
    buffer.make_ascii_lowercase();
    buffer
}

fn is_bare_repository(name: &[u8]) -> bool {
    name.ends_with(b".git") || name == b".bare"
}

/// Whether there is an address with a user, `git` aside, whom everybody is.
fn has_user(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = rest.windows(3).position(|window| window == b"://") {
        rest = &rest[at + 3..];
        let end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'"' | b'\'');
        let host = rest.split(end).next().unwrap_or_default();
        if host.contains(&b'@') && !host.starts_with(b"git@") {
            return true;
        }
    }
    false
}

impl ContentProbe {
    /// Whether the contents, all of them, are a secret.
    pub(crate) fn is_secret(self, contents: &[u8]) -> bool {
        let text = contents.to_ascii_lowercase();
        let has = |word: &str| {
            text.windows(word.len())
                .any(|window| window == word.as_bytes())
        };
        match self {
            // Fail closed: a `.pem` without any block is no certificate either.
            Self::Pem => {
                has("private key")
                    || !(has("-----begin certificate")
                        || has("-----begin trusted certificate")
                        || has("-----begin public key")
                        || has("-----begin rsa public key")
                        || has("-----begin x509 crl"))
            }
            Self::Address => has("extraheader") || has_user(&text),
            Self::Token => [
                "_authtoken",
                "_auth",
                "_password",
                "password",
                "authtoken",
                "authident",
            ]
            .iter()
            .any(|word| has(word)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for path in [
            ".env",
            "a/.env",
            ".env.local",
            ".ENV",
            ".env.production",
            "id_rsa",
            "x/id_ed25519",
            "tls/server.key",
            "a.p12",
            ".netrc",
            ".docker/config.json",
            ".cargo/credentials.toml",
            "infra/terraform.tfstate",
        ] {
            assert_eq!(
                secret_match(path.as_bytes(), Kind::Other),
                SecretMatch::Secret,
                "{path}"
            );
        }
        for path in [
            ".env.example",
            ".env.sample",
            ".env.template",
            ".envrc",
            "env",
            "id_rsa.pub",
            "config.json",
            "credentials.toml",
            "keys.rs",
            "key",
            "src/.environment",
        ] {
            assert_eq!(
                secret_match(path.as_bytes(), Kind::Other),
                SecretMatch::None,
                "{path}"
            );
        }
        assert_eq!(secret_match(b"home/.ssh", Kind::Dir), SecretMatch::Secret);
        assert_eq!(secret_match(b".env", Kind::Dir), SecretMatch::None);
    }

    #[test]
    fn sec_01_names_of_secrets_that_go_in() {
        use SecretMatch::{Likely, None, Secret};
        for (path, expected) in [
            (".dev.vars", Secret),
            (".dev.vars.staging", Secret),
            (".dev.vars.example", None),
            (".codex/auth.json", Secret),
            ("home/.codex/auth.json", Secret),
            ("src/auth.json", None),
            (".claude/.credentials.json", Secret),
            (".gemini/oauth_creds.json", Secret),
            (".config/gh/hosts.yml", Secret),
            ("ansible/hosts.yml", None),
            ("kubeconfig", Secret),
            ("prod.kubeconfig", Secret),
            (".bash_history", Secret),
            (".zsh_history", Secret),
            (".psql_history", Secret),
            (".local/share/fish/fish_history", Secret),
            ("docs/history", None),
            ("src/order_history", None),
            ("prod.env", Likely),
            ("deploy/PROD.ENV", Likely),
            ("example.env", None),
            ("config.sample.env", None),
            ("prod.env.example", None),
            ("src/env.rs", None),
            ("environment", None),
            ("secrets.yml", Likely),
            ("config/secrets.json", Likely),
            (".streamlit/secrets.toml", Likely),
            ("secrets.rs", None),
            ("secrets.yml.enc", None),
            ("terraform.tfvars", Likely),
            ("prod.auto.tfvars", Likely),
            ("prod.tfvars.json", Likely),
            ("terraform.tfvars.example", None),
            ("variables.tf", None),
            ("credentials.json", Likely),
            ("application_default_credentials.json", Likely),
            ("client_secret_123.apps.googleusercontent.com.json", Likely),
            ("client-secret.json", Likely),
            ("service-account.json", Likely),
            ("service_account_key.json", Likely),
            ("serviceAccount-prod.json", Likely),
            ("client.json", None),
            ("package.json", None),
        ] {
            let found = secret_match(path.as_bytes(), Kind::Other);
            assert_eq!(found, expected, "{path}");
        }
        assert_eq!(secret_match(b"prod.env", Kind::Dir), None);
    }

    #[test]
    fn contents() {
        let pem = |text: &str| ContentProbe::Pem.is_secret(text.as_bytes());
        assert!(pem("-----BEGIN RSA PRIVATE KEY-----\n"));
        assert!(pem(
            "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n"
        ));
        assert!(pem("anything"));
        assert!(!pem("-----BEGIN CERTIFICATE-----\nMII\n"));
        assert!(ContentProbe::Token.is_secret(b"//r.example.org/:_authToken=abc\n"));
        assert!(!ContentProbe::Token.is_secret(b"save-exact=true\n"));
    }

    #[test]
    fn git_25_addresses_with_a_user_in_repositories_without_files() {
        for path in ["x.git/config", ".bare/config", "a/b.git/FETCH_HEAD"] {
            let looked = secret_match(path.as_bytes(), Kind::Other);
            assert_eq!(looked, SecretMatch::Probe(ContentProbe::Address), "{path}");
        }
        for path in ["config", "x/config", "x.git/HEAD", "x.git/config/y"] {
            assert_eq!(
                secret_match(path.as_bytes(), Kind::Other),
                SecretMatch::None,
                "{path}"
            );
        }
        let secret = |text: &str| ContentProbe::Address.is_secret(text.as_bytes());
        assert!(secret("url = https://token@example.org/x"));
        assert!(secret("url = http://a.org/x\nurl = \"HTTPS://u:p@h\""));
        assert!(secret("[http]\n\textraHeader = Bearer x"));
        assert!(!secret("url = https://example.org/x@y\nemail = a@b"));
        assert!(!secret("url = git@example.org:x"));
        assert!(!secret("url = ssh://git@example.org/x"));
    }
}
