//! What secrets look like, as data.
//!
//! A row has the words without which a text can't match, which are looked for first, in any
//! case and all rows at once; and the expression that decides. The secret is the group
//! `s`, or else the whole match. Expressions are over bytes and linear in time, as
//! all of the `regex` crate's are.

use lazaret_tree::FindingCode;

use crate::Severity::{Note, Warn};

/// What a match must be besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Test {
    /// Not the same few characters again and again, nor an `EXAMPLE` of a manual.
    Varied,
    /// Random enough to be a password, and no placeholder.
    Random,
}

/// What must follow a word for the expression to be worth a try: `token` is in any source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Anything.
    Nothing,
    /// `=` or `:` behind the rest of a name.
    Sign,
    /// `@` before a blank or a slash.
    At,
}

/// One kind of secret.
#[derive(Debug)]
pub(crate) struct Secret {
    /// The code of its findings; the reason says what it is, with an article.
    pub(crate) code: FindingCode,
    /// Words of which one is in every match, in lower case.
    pub(crate) words: &'static [&'static str],
    /// What follows them.
    pub(crate) context: Need,
    /// The expression.
    pub(crate) pattern: &'static str,
    pub(crate) test: Test,
}

const fn token(
    id: &'static str,
    what: &'static str,
    words: &'static [&'static str],
    pattern: &'static str,
) -> Secret {
    Secret {
        code: FindingCode {
            id,
            severities: &[Warn],
            reason: what,
            cases: &["SUS-28"],
        },
        words,
        context: Need::Nothing,
        pattern,
        test: Test::Varied,
    }
}

const fn random(
    id: &'static str,
    what: &'static str,
    (words, context): (&'static [&'static str], Need),
    pattern: &'static str,
) -> Secret {
    let secret = token(id, what, words, pattern);
    Secret {
        code: FindingCode {
            severities: &[Warn, Note],
            ..secret.code
        },
        context,
        test: Test::Random,
        ..secret
    }
}

/// All kinds. Those that any string may be come last: a line that is named for what it
/// certainly is, is not named again for what it may be.
#[rustfmt::skip]
pub(crate) const SECRETS: &[Secret] = &[
    token("secret.age_key", "an age identity", &["age-secret-key-1"],
        r"\bAGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}\b"),
    token("secret.anthropic_key", "an Anthropic key", &["sk-ant-"],
        r"\bsk-ant-[a-z]{2,6}[0-9]{2}-[A-Za-z0-9_-]{80,}"),
    token("secret.aws_access_key", "an AWS access key id", &["akia", "asia", "abia", "acca"],
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    token("secret.aws_secret_key", "an AWS secret access key", &["aws"],
        r#"(?i)aws_?(?:secret)?_?(?:access)?_?(?:secret|key)[a-z_]{0,10}["']?\s{0,4}(?:=>|:=|=|:)\s{0,4}["']?(?P<s>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#),
    token("secret.azure_storage_key", "an Azure storage key", &["accountkey="],
        r"(?i)\bAccountKey=(?P<s>[A-Za-z0-9+/]{86}==)"),
    token("secret.cargo_token", "a token of the Rust registry", &["cio"],
        r"\bcio[A-Za-z0-9]{32}\b"),
    token("secret.databricks_token", "a Databricks token", &["dapi"],
        r"\bdapi[0-9a-f]{32}(?:-[0-9])?\b"),
    token("secret.digitalocean_token", "a DigitalOcean token", &["_v1_"],
        r"\bdo[opr]_v1_[0-9a-f]{64}\b"),
    token("secret.discord_webhook", "a Discord webhook", &["/api/webhooks/"],
        r"(?i)\bdiscord(?:app)?\.com/api/webhooks/[0-9]{17,20}/(?P<s>[A-Za-z0-9_-]{60,80})"),
    token("secret.docker_token", "a Docker access token", &["dckr_"],
        r"\bdckr_[po]at_[A-Za-z0-9_-]{27,}"),
    token("secret.github_token", "a GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})\b"),
    token("secret.gitlab_token", "a GitLab token", &["glpat-", "gldt-", "glrt-", "glptt-", "gloas-", "glcbt-", "glft-", "glimt-", "glagent-", "glsoat-"],
        r"\bgl(?:pat|dt|rt|ptt|oas|cbt|ft|imt|agent|soat)-[A-Za-z0-9_.-]{20,}"),
    token("secret.google_api_key", "a Google API key", &["aiza"],
        r"\bAIza[A-Za-z0-9_-]{35}\b"),
    token("secret.google_oauth", "a Google OAuth client secret", &["gocspx-"],
        r"\bGOCSPX-[A-Za-z0-9_-]{28}\b"),
    token("secret.grafana_token", "a Grafana token", &["glsa_"],
        r"\bglsa_[A-Za-z0-9]{32}_[0-9a-f]{8}\b"),
    token("secret.huggingface_token", "a Hugging Face token", &["hf_"],
        r"\bhf_[A-Za-z0-9]{34}\b"),
    token("secret.jwt", "a JSON web token", &["eyj"],
        r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}"),
    token("secret.linear_key", "a Linear key", &["lin_api_"],
        r"\blin_api_[A-Za-z0-9]{40}\b"),
    token("secret.npm_token", "an npm token", &["npm_", "_authtoken", "_auth", "_password"],
        r#"(?m)\bnpm_[A-Za-z0-9]{36}\b|^[^#;\s]{0,200}:_(?:authToken|auth|password)\s{0,4}=\s{0,4}"?(?P<s>[A-Za-z0-9+/=_.-]{8,})"#),
    token("secret.openai_key", "an OpenAI key", &["sk-"],
        r"\bsk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20})"),
    token("secret.private_key", "a private key", &["private key"],
        r#"-----BEGIN (?:[A-Z0-9]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr]|["',+#*/]){1,40}(?:[A-Za-z-]{3,20}: [^\n]{1,100}\s{1,4}){0,4}(?P<s>[A-Za-z0-9+/]{32,})"#),
    token("secret.pypi_token", "a token of the Python registry", &["pypi-ageic"],
        r"\bpypi-AgEIc[A-Za-z0-9_-]{60,}"),
    token("secret.sendgrid_key", "a SendGrid key", &["sg."],
        r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b"),
    token("secret.shopify_token", "a Shopify token", &["shpat_", "shpca_", "shppa_", "shpss_"],
        r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b"),
    token("secret.slack_token", "a Slack token", &["xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"],
        r"\b(?:xox[abeoprs]-(?:[0-9]{1,14}-){1,3}[A-Za-z0-9-]{16,}|xoxe\.xox[bp]-[0-9]-[A-Za-z0-9]{100,}|xapp-[0-9]-[A-Z0-9]{8,}-[0-9]{8,}-[a-f0-9]{32,})"),
    token("secret.slack_webhook", "a Slack webhook", &["hooks.slack.com"],
        r"(?i)\bhooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Z0-9]{8,}/[A-Z0-9]{8,}/[A-Za-z0-9]{20,})"),
    token("secret.stripe_key", "a Stripe key", &["_live_", "whsec_"],
        r"\b(?:[sr]k_live_[A-Za-z0-9]{20,}|whsec_[A-Za-z0-9]{32,})\b"),
    token("secret.telegram_token", "a Telegram bot token", &[":aa"],
        r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b"),
    token("secret.terraform_token", "a Terraform token", &[".atlasv1."],
        r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}"),
    token("secret.twilio_key", "a Twilio key", &["twilio"],
        r"(?i)twilio[^\n]{0,60}\b(?P<s>(?:SK|AC)?[0-9a-f]{32})\b"),
    token("secret.vault_token", "a Vault token", &["hvs.", "hvb.", "hvr."],
        r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}"),
    random("secret.url_password", "a password in a URL", (&["://"], Need::At),
        r#"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s:/@'"<>]{0,64}:(?P<s>[^\s:/@'"<>]{8,128})@[A-Za-z0-9\[]"#),
    random("secret.assigned", "a password, a key or a token that is written out",
        (&["passw", "pwd", "secret", "token", "api_key", "apikey", "api-key", "access_key", "accesskey", "private_key", "credential"], Need::Sign),
        r#"(?i)(?:passw(?:or)?d|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)[a-z0-9_-]{0,20}["'\]]{0,2}\s{0,8}(?:=>|:=|=|:)\s{0,8}(?:[a-z]{0,2}["'`](?P<s>[^\s"'`\\]{10,200})["'`])"#),
    random("secret.assigned", "a password, a key or a token that is written out",
        (&["passw", "pwd", "secret", "token", "api_key", "apikey", "access_key", "private_key", "credential"], Need::Sign),
        r"(?m)^\s{0,8}(?:export )?[A-Z0-9_]{0,60}(?:PASSW(?:OR)?D|PWD|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?)[A-Z0-9_]{0,30}=(?P<s>[A-Za-z0-9+/=_.~!@#%^&*-]{10,200})\s{0,4}$"),
];
