//! What is taken for a secret, and what only looks like one.

use super::{SCANNER, SECRETS, compile, entropy, passes, rows_in, secret_of};
use std::collections::BTreeSet;

/// The codes that a text has, as `check` finds them in a file that is new.
fn codes(text: &str) -> Vec<&'static str> {
    let rows = rows_in(text.as_bytes());
    let found = rows.filter(|row| {
        let secret = &SECRETS[*row];
        let mut all = SCANNER.patterns[*row].captures_iter(text.as_bytes());
        all.any(|captures| passes(secret.test, secret_of(&captures).1))
    });
    let mut codes: Vec<_> = found.map(|row| SECRETS[row].code.id).collect();
    codes.dedup();
    codes
}

/// In pieces, so that no secret scanner reports these.
fn made(pieces: &[&str]) -> String {
    pieces.concat()
}

const ABC: &str = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA2cD4fG6hJ8kL0";
const HEX: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";
const CAPS: &str = "Q2ZRX7TVDW5S3JN6KHCE4MUA";

/// Code, what is one, and what nearly is.
fn table() -> Vec<(&'static str, String, String)> {
    let long = ABC.repeat(4);
    let (a20, a22, a27, a28) = (&ABC[..20], &ABC[..22], &ABC[..27], &ABC[..28]);
    let (a32, a33, a34, a35, a36, a40) = (
        &ABC[..32],
        &ABC[..33],
        &ABC[..34],
        &ABC[..35],
        &ABC[..36],
        &ABC[..40],
    );
    vec![
        (
            "secret.age_key",
            made(&[
                "AGE-SECRET-",
                "KEY-1",
                &"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".repeat(2)[..58],
            ]),
            made(&[
                "AGE-SECRET-",
                "KEY-1",
                &"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".repeat(2)[..57],
            ]),
        ),
        (
            "secret.anthropic_key",
            made(&["sk-", "ant-api03-", &long[..93]]),
            made(&["sk-", "ant-api03-", &long[..60]]),
        ),
        (
            "secret.aws_access_key",
            made(&["id = AK", "IA", &CAPS[..16]]),
            made(&["id = AK", "IAIOSFODNN7EXAMPLE"]),
        ),
        (
            "secret.aws_access_key",
            made(&["AS", "IA", &CAPS[..16]]),
            made(&["AS", "IA", &CAPS[..17]]),
        ),
        (
            "secret.aws_secret_key",
            made(&["aws_secret_access_key = ", a40]),
            made(&["aws_secret_access_key = ", &ABC[..39]]),
        ),
        (
            "secret.azure_storage_key",
            made(&["AccountName=x;Account", "Key=", &long[..86], "=="]),
            made(&["Account", "Key=", &long[..80], "=="]),
        ),
        (
            "secret.cargo_token",
            made(&["ci", "o", a32]),
            made(&["ci", "o", &ABC[..31]]),
        ),
        (
            "secret.databricks_token",
            made(&["dap", "i", &HEX[..32]]),
            made(&["dap", "i", &HEX[..30]]),
        ),
        (
            "secret.digitalocean_token",
            made(&["dop", "_v1_", HEX]),
            made(&["dop", "_v1_", &HEX[..60]]),
        ),
        (
            "secret.discord_webhook",
            made(&[
                "https://discord.com/api/web",
                "hooks/123456789012345678/",
                &long[..68],
            ]),
            "https://discord.com/api/webhooks/123456789012345678/short".to_owned(),
        ),
        (
            "secret.docker_token",
            made(&["dckr", "_pat_", a27]),
            made(&["dckr", "_pat_", a20]),
        ),
        (
            "secret.github_token",
            made(&["gh", "p_", a36]),
            made(&["gh", "p_", a35]),
        ),
        (
            "secret.github_token",
            made(&["github", "_pat_", a22, "_", &long[..59]]),
            made(&["github", "_pat_", a22]),
        ),
        (
            "secret.github_token",
            made(&["gh", "s_", a40]),
            made(&["gh", "s_", &"x".repeat(36)]),
        ),
        (
            "secret.gitlab_token",
            made(&["gl", "pat-", a20]),
            made(&["gl", "pat-", &ABC[..19]]),
        ),
        (
            "secret.google_api_key",
            made(&["AI", "za", a35]),
            made(&["AI", "za", a34]),
        ),
        (
            "secret.google_oauth",
            made(&["GOC", "SPX-", a28]),
            made(&["GOC", "SPX-", a27]),
        ),
        (
            "secret.grafana_token",
            made(&["gl", "sa_", a32, "_", &HEX[..8]]),
            made(&["gl", "sa_", a32, "_"]),
        ),
        (
            "secret.huggingface_token",
            made(&["h", "f_", a34]),
            made(&["h", "f_", a33]),
        ),
        (
            "secret.jwt",
            made(&["ey", "J", a20, ".ey", "J", a28, ".", a40]),
            made(&["ey", "J", a20, ".", a28, ".", a40]),
        ),
        (
            "secret.linear_key",
            made(&["lin", "_api_", a40]),
            made(&["lin", "_api_", a36]),
        ),
        (
            "secret.npm_token",
            made(&["np", "m_", a36]),
            made(&["np", "m_", a35]),
        ),
        (
            "secret.npm_token",
            made(&["//registry.example/:_auth", "Token=", a28]),
            "//registry.example/:_authToken=${NPM_TOKEN}".to_owned(),
        ),
        (
            "secret.openai_key",
            made(&["sk", "-proj-", a40, a20]),
            made(&["sk", "-proj-", a20]),
        ),
        (
            "secret.openai_key",
            made(&["sk", "-", a20, "T3Blbk", "FJ", a20]),
            made(&["sk", "-", a20, "T3Blbk", "FJ"]),
        ),
        (
            "secret.private_key",
            made(&["-----BEGIN RSA PRIVATE ", "KEY-----\n", a40, "\n"]),
            "-----BEGIN RSA PRIVATE KEY-----\n...\n".to_owned(),
        ),
        (
            "secret.private_key",
            made(&["\"-----BEGIN PRIVATE ", "KEY-----\\n", a40, "\\n\""]),
            "if (text.contains(\"-----BEGIN PRIVATE KEY-----\"))".to_owned(),
        ),
        (
            "secret.private_key",
            made(&[
                "-----BEGIN PGP PRIVATE ",
                "KEY BLOCK-----\nVersion: 1\n\n",
                a40,
            ]),
            "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A".to_owned(),
        ),
        (
            "secret.private_key",
            made(&["-----BEGIN OPENSSH PRIVATE ", "KEY-----\n", a40]),
            made(&["-----BEGIN CERTIFICATE-----\n", a40]),
        ),
        (
            "secret.pypi_token",
            made(&["pyp", "i-AgEIc", &long[..80]]),
            made(&["pyp", "i-AgEIc", a20]),
        ),
        (
            "secret.sendgrid_key",
            made(&["S", "G.", a22, ".", &ABC[..43]]),
            made(&["S", "G.", a22, ".", a40]),
        ),
        (
            "secret.shopify_token",
            made(&["shp", "at_", &HEX[..32]]),
            made(&["shp", "at_", &HEX[..30]]),
        ),
        (
            "secret.slack_token",
            made(&["xox", "b-123456789012-123456789012-", a22, "aB"]),
            made(&["xox", "b-not-a-real-one"]),
        ),
        (
            "secret.slack_token",
            made(&["xap", "p-1-A0123456789-123456789012-", HEX]),
            made(&["xap", "p-1-A0"]),
        ),
        (
            "secret.slack_webhook",
            made(&[
                "https://hooks.slack.com/ser",
                "vices/T0A1B2C3D/B0A1B2C3D/",
                &ABC[..24],
            ]),
            "https://hooks.slack.com/services/T00/B00/XXX".to_owned(),
        ),
        (
            "secret.stripe_key",
            made(&["s", "k_live_", &ABC[..24]]),
            made(&["s", "k_test_", &ABC[..24]]),
        ),
        (
            "secret.stripe_key",
            made(&["wh", "sec_", a32]),
            made(&["wh", "sec_", a20]),
        ),
        (
            "secret.telegram_token",
            made(&["123456789:A", "A", a33]),
            made(&["123456789:A", "A", a32]),
        ),
        (
            "secret.terraform_token",
            made(&[&ABC[..14], ".atlas", "v1.", &long[..67]]),
            made(&[&ABC[..14], ".atlas", "v1.", a40]),
        ),
        (
            "secret.twilio_key",
            made(&["TWILIO_AUTH=\"", &HEX[..32], "\""]),
            made(&["TWILIO_AUTH=\"", &HEX[..31], "\""]),
        ),
        (
            "secret.vault_token",
            made(&["hv", "s.", &ABC[..24]]),
            made(&["hv", "s.", a22]),
        ),
        (
            "secret.url_password",
            made(&["postgres://app:", "h7Rt9kQ2w", "@db.internal/x"]),
            "postgres://postgres:postgres@localhost/x".to_owned(),
        ),
        (
            "secret.url_password",
            made(&["https://bot:", "Zk4nP0qLx8", "@git.example"]),
            "https://user:${PASS}word1@git.example".to_owned(),
        ),
        (
            "secret.assigned",
            made(&["password = \"", "h7Rt9kQ2wZ", "\""]),
            "password = \"correct horse battery\"".to_owned(),
        ),
        (
            "secret.assigned",
            made(&["\"clientSecret\": \"", "Zk4nP0qLx8vB", "\""]),
            "\"clientSecret\": \"your-secret-1234\"".to_owned(),
        ),
        (
            "secret.assigned",
            made(&["api_key: '", "9f8e7d6c5b4a3f2e", "'"]),
            "api_key: '${API_KEY_2}-suffix'".to_owned(),
        ),
        (
            "secret.assigned",
            made(&["DB_PASSWORD=", "h7Rt9kQ2wZ", "\n"]),
            "DB_PASSWORD=changeme1234\n".to_owned(),
        ),
        (
            "secret.assigned",
            made(&["export X_TOKEN=", "h7Rt9kQ2wZ"]),
            "let token = next_token(1234567890);".to_owned(),
        ),
        (
            "secret.assigned",
            made(&["token := `", "h7Rt9kQ2wZ4x", "`"]),
            "token: \"aaaaaaaaaa12\"".to_owned(),
        ),
        (
            "secret.assigned",
            made(&["passwd = \"", "Zk4nP0qLx8", "\""]),
            "passwd = \"1:4.13+dfsg1-1+deb12u2\"".to_owned(),
        ),
    ]
}

#[test]
fn sus_28_each_kind_has_a_hit_and_a_near_miss() {
    let mut seen = BTreeSet::new();
    for (code, hit, near_miss) in table() {
        let found = codes(&hit);
        assert!(found.contains(&code), "{code}: {hit}: {found:?}");
        let found = codes(&near_miss);
        assert!(!found.contains(&code), "{code}: {near_miss}: {found:?}");
        seen.insert(code);
    }
    let all: BTreeSet<_> = SECRETS.iter().map(|secret| secret.code.id).collect();
    assert_eq!(seen, all);
}

/// A row whose words are not in its own matches would never be looked at.
#[test]
fn sus_28_rows_are_well_formed() {
    for secret in SECRETS {
        assert!(secret.code.id.starts_with("secret."), "{}", secret.code.id);
        assert!(
            secret
                .words
                .iter()
                .all(|word| *word == word.to_ascii_lowercase())
        );
        compile(secret.pattern);
    }
    for (code, hit, _) in table() {
        let row = SECRETS.iter().find(|secret| {
            secret.code.id == code && compile(secret.pattern).is_match(hit.as_bytes())
        });
        let row = row.unwrap_or_else(|| panic!("{code}: {hit}"));
        let lower = hit.to_ascii_lowercase();
        assert!(row.words.iter().any(|word| lower.contains(word)), "{code}");
    }
}

#[test]
fn entropy_tells_random_from_not() {
    assert!(entropy(b"aaaaaaaaaaaa") < 0.1);
    assert!((entropy(b"abcdefgh") - 3.0).abs() < 1e-9);
    assert!(entropy(b"h7Rt9kQ2wZ4x") > 3.0);
}
