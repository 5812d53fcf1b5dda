//! The units of profiles and options: sizes (`512m`), spans of time (`5m`).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, Visitor};

/// A number of bytes: `4096`, `64k`, `512m`, `8g`, `1t`, in powers of 1024.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

/// A span of time: `90s`, `5m`, `2h`, `1d`; at least a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

/// A text that is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found \"{text}\", expected {expected}")]
pub struct UnitError {
    text: String,
    expected: &'static str,
}

const SIZE: &str = "a size such as \"512m\" or \"8g\" (units: k, m, g, t)";
const SPAN: &str = "a span of time such as \"90s\", \"5m\" or \"2h\" (units: s, m, h, d)";

/// Splits `123x` into 123 and `x`. No sign, no fraction, no space.
fn split(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, unit))
}

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let parse = || {
            let (number, unit) = split(text)?;
            let shift = match unit {
                "" => 0,
                "k" | "K" => 10,
                "m" | "M" => 20,
                "g" | "G" => 30,
                "t" | "T" => 40,
                _ => return None,
            };
            Some(Self(number.checked_mul(1 << shift)?))
        };
        parse().ok_or_else(|| UnitError {
            text: text.to_owned(),
            expected: SIZE,
        })
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = [(40, "t"), (30, "g"), (20, "m"), (10, "k")]
            .into_iter()
            .find(|(shift, _)| self.0 > 0 && self.0.trailing_zeros() >= *shift);
        match unit {
            Some((shift, unit)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}", self.0),
        }
    }
}

impl FromStr for Span {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let parse = || {
            let (number, unit) = split(text)?;
            let seconds = match unit {
                "s" => 1,
                "m" => 60,
                "h" => 60 * 60,
                "d" => 24 * 60 * 60,
                _ => return None,
            };
            // A hundred years are enough, and no deadline overflows.
            let total = number
                .checked_mul(seconds)
                .filter(|total| (1..=36_525 * 86_400).contains(total))?;
            Some(Self(Duration::from_secs(total)))
        };
        parse().ok_or_else(|| UnitError {
            text: text.to_owned(),
            expected: SPAN,
        })
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let (unit, name) = [(86_400, "d"), (3600, "h"), (60, "m")]
            .into_iter()
            .find(|(unit, _)| seconds > 0 && seconds.is_multiple_of(*unit))
            .unwrap_or((1, "s"));
        write!(f, "{}{name}", seconds / unit)
    }
}

/// Reads a quantity from a string; anything else is told what is expected.
struct Quantity<T> {
    expected: &'static str,
    parse: fn(&str) -> Result<T, UnitError>,
}

impl<T> Visitor<'_> for Quantity<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Quantity {
            expected: SIZE,
            parse: str::parse,
        })
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Quantity {
            expected: SPAN,
            parse: str::parse,
        })
    }
}

/// A number of cores above 0, in hundredths at the finest: `2`, `0.5`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Cores(pub f64);

struct CoresVisitor;

impl Visitor<'_> for CoresVisitor {
    type Value = Cores;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of cores such as 2 or 0.5, from 0.01 to 4096")
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Cores, E> {
        self.visit_f64(number as f64)
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Cores, E> {
        if (0.01..=4096.0).contains(&number) {
            Ok(Cores(number))
        } else {
            Err(E::invalid_value(
                serde::de::Unexpected::Float(number),
                &self,
            ))
        }
    }
}

impl<'de> Deserialize<'de> for Cores {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CoresVisitor)
    }
}

/// Counts something from 1 up: `200_000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u32);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(deserializer)?;
        match u32::try_from(number) {
            Ok(number @ 1..) => Ok(Self(number)),
            _ => Err(D::Error::custom(format!(
                "found {number}, expected a count from 1 to {}",
                u32::MAX
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_they_are_read() {
        for (text, bytes, again) in [
            ("0", 0, "0"),
            ("4096", 4096, "4k"),
            ("512m", 512 << 20, "512m"),
            ("8G", 8 << 30, "8g"),
            ("1024m", 1 << 30, "1g"),
            ("1000", 1000, "1000"),
            ("16777215t", 16_777_215 << 40, "16777215t"),
        ] {
            let size: ByteSize = text.parse().unwrap();
            assert_eq!(size.0, bytes, "{text}");
            assert_eq!(size.to_string(), again, "{text}");
        }
        for text in [
            "",
            "m",
            "1 m",
            "+1",
            "-1",
            "1.5g",
            "1mb",
            "0x10",
            "16777216t",
            "٣m",
        ] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }

    #[test]
    fn spans_are_written_as_they_are_read() {
        for (text, seconds, again) in [
            ("1s", 1, "1s"),
            ("90s", 90, "90s"),
            ("120s", 120, "2m"),
            ("5m", 300, "5m"),
            ("2h", 7200, "2h"),
            ("48h", 172_800, "2d"),
        ] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.0.as_secs(), seconds, "{text}");
            assert_eq!(span.to_string(), again, "{text}");
        }
        for text in [
            "",
            "5",
            "0s",
            "1w",
            "5M",
            "1m30s",
            "36526d",
            "99999999999999999999s",
        ] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }
}
