//! `[gate]`: what becomes of changes, and what a batch is held to.

use lazaret_gate::ignored::IgnoredFiles;

use super::raw::{RawApply, RawGate};
use super::source::{ProfileError, Source};
use super::units::ByteSize;
use super::{ApplyMode, GateRules};

impl GateRules {
    /// What holds when a profile says nothing (docs/design/threats.md, "Limits").
    pub(super) const DEFAULT: Self = Self {
        apply: ApplyMode::Ask,
        ignored: IgnoredFiles::Stay,
        max_entries: 200_000,
        max_bytes: 4 << 30,
        max_file_bytes: 512 << 20,
    };
}

/// Reads `[gate]` over `base`.
pub(super) fn gate(
    source: &Source<'_>,
    raw: &RawGate,
    base: &GateRules,
) -> Result<GateRules, ProfileError> {
    let size = |value: &Option<toml::Spanned<ByteSize>>, default: u64| {
        value.as_ref().map_or(default, |value| value.get_ref().0)
    };
    let max_bytes = size(&raw.max_bytes, base.max_bytes);
    let rules = GateRules {
        apply: raw
            .apply
            .as_ref()
            .map_or(base.apply, |apply| (*apply.get_ref()).into()),
        ignored: raw
            .ignored
            .as_ref()
            .map_or(base.ignored, |ignored| *ignored.get_ref()),
        max_entries: raw
            .max_entries
            .as_ref()
            .map_or(base.max_entries, |count| count.get_ref().0),
        max_bytes,
        max_file_bytes: size(&raw.max_file_bytes, base.max_file_bytes.min(max_bytes)),
    };
    if let Some(file) = &raw.max_file_bytes
        && rules.max_file_bytes > rules.max_bytes
    {
        return Err(source.error(
            &file.span(),
            &format!(
                "`gate.max_file_bytes` ({}) is more than `gate.max_bytes` ({}), which holds for \
                 all files together",
                ByteSize(rules.max_file_bytes),
                ByteSize(rules.max_bytes)
            ),
        ));
    }
    Ok(rules)
}

impl From<RawApply> for ApplyMode {
    fn from(raw: RawApply) -> Self {
        match raw {
            RawApply::Ask => Self::Ask,
            RawApply::Auto => Self::Auto,
            RawApply::Never => Self::Never,
        }
    }
}
