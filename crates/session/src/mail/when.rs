//! `When`: when a task is due.

use serde::{Deserialize, Serialize};

/// The most seconds between two runs: ten years.
const MOST_SECONDS: u64 = 10 * 366 * 86_400;

/// The most bytes of a cron expression.
const MOST_CRON: usize = 100;

/// Names of months, for the fourth field of cron.
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Names of days, for the fifth.
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// When a task is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum When {
    /// By the five fields of crontab(5).
    Cron(String),
    /// Each so many seconds.
    Every(u64),
    /// Once, at a time of RFC 3339.
    At(String),
}

impl When {
    /// Says what is wrong with it, if anything is.
    pub fn fault(&self) -> Option<&'static str> {
        match self {
            Self::Cron(text) if !is_cron(text) => Some("`cron` is not five fields of crontab(5)"),
            Self::Every(seconds) if !(1..=MOST_SECONDS).contains(seconds) => {
                Some("`every` is no number of seconds from 1 to ten years")
            }
            Self::At(text) if seconds_of(text).is_none() => Some("`at` is no time of RFC 3339"),
            _ => None,
        }
    }

    /// Whether it was due once, before a time in seconds since 1970, and never again.
    pub fn is_over(&self, now: u64) -> bool {
        match self {
            Self::At(text) => {
                let now = i64::try_from(now).unwrap_or(i64::MAX);
                seconds_of(text).is_none_or(|at| at < now)
            }
            Self::Cron(_) | Self::Every(_) => false,
        }
    }
}

fn is_cron(text: &str) -> bool {
    let fields: Vec<&str> = text.split(' ').collect();
    let ranges: [(u32, u32, &[&str]); 5] = [
        (0, 59, &[]),
        (0, 23, &[]),
        (1, 31, &[]),
        (1, 12, &MONTHS),
        (0, 7, &DAYS),
    ];
    text.len() <= MOST_CRON
        && fields.len() == ranges.len()
        && (fields.iter().zip(ranges)).all(|(field, (least, most, names))| {
            field.split(',').all(|item| {
                let (range, step) = item.split_once('/').unwrap_or((item, "1"));
                let is_step = number(step).is_some_and(|step| (1..=most).contains(&step));
                let value = |text: &str| {
                    let named = names.iter().any(|name| text.eq_ignore_ascii_case(name));
                    named || number(text).is_some_and(|value| (least..=most).contains(&value))
                };
                let is_range = match range.split_once('-') {
                    Some((from, to)) => value(from) && value(to),
                    None => range == "*" || value(range),
                };
                is_step && is_range
            })
        })
}

/// Reads digits without a sign.
fn number(text: &str) -> Option<u32> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits.then(|| text.parse().ok()).flatten()
}

/// Returns the seconds since 1970 of a time of RFC 3339.
fn seconds_of(text: &str) -> Option<i64> {
    let part = |from: usize, to: usize| number(text.get(from..to)?);
    let is_byte = |at: usize, of: &[u8]| text.as_bytes().get(at).is_some_and(|b| of.contains(b));
    let separated = is_byte(4, b"-")
        && is_byte(7, b"-")
        && is_byte(10, b"Tt")
        && is_byte(13, b":")
        && is_byte(16, b":");
    if !separated {
        return None;
    }
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    // A leap second is one more.
    if !(1..=length).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut rest = text.get(19..)?;
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        rest = fraction
            .get(digits..)
            .filter(|_| (1..=9).contains(&digits))?;
    }
    let offset = match rest {
        "Z" | "z" => 0,
        _ => {
            let (sign, zone) = match rest.split_at_checked(1)? {
                ("+", zone) => (1, zone),
                ("-", zone) => (-1, zone),
                _ => return None,
            };
            let (hours, minutes) = zone.split_once(':')?;
            let two =
                |text: &str, most| number(text).filter(|value| text.len() == 2 && *value <= most);
            sign * (i64::from(two(hours, 23)?) * 3600 + i64::from(two(minutes, 59)?) * 60)
        }
    };
    let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
    Some(days(year, month, day) * 86_400 + seconds - offset)
}

/// Returns the days from 1970-01-01, in the Gregorian calendar.
fn days(year: u32, month: u32, day: u32) -> i64 {
    // Years that begin in March, so that the leap day is their last.
    let (year, month) = match month {
        1 | 2 => (i64::from(year) - 1, i64::from(month) + 9),
        _ => (i64::from(year), i64::from(month) - 3),
    };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leaps + (153 * month + 2) / 5 + i64::from(day) - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_rfc_3339_says() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:00:00z", 951_825_600),
            ("2026-11-27T08:00:00.5+01:30", 1_795_761_000),
            ("1969-12-31t23:59:59-00:00", -1),
        ] {
            assert_eq!(seconds_of(text), Some(seconds), "{text}");
        }
        for text in [
            "",
            "2026-11-27",
            "2026-11-27T08:00:00",
            "2026-02-29T08:00:00Z",
            "2026-13-01T08:00:00Z",
            "2026-11-27T24:00:00Z",
            "2026-11-27T08:00:00.Z",
            "2026-11-27T08:00:00+1:00",
            "2026-11-27T08:00:00Zx",
            "+026-11-27T08:00:00Z",
            "2026-11-27T08:00:0éZ",
        ] {
            assert_eq!(seconds_of(text), None, "{text}");
        }
        let once = When::At("2026-11-27T08:00:00Z".to_owned());
        assert!(once.is_over(1_795_766_401) && !once.is_over(1_795_766_400));
    }

    #[test]
    fn cron_has_five_fields_in_their_ranges() {
        for text in ["* * * * *", "*/5 0-23/2 1,15 jan-mar MON", "59 23 31 12 7"] {
            assert_eq!(When::Cron(text.to_owned()).fault(), None, "{text}");
        }
        for text in [
            "",
            "* * * *",
            "60 * * * *",
            "* * 0 * *",
            "*/0 * * * *",
            "a * * * *",
            "*  * * * *",
            "1- * * * *",
            "@daily",
        ] {
            assert!(When::Cron(text.to_owned()).fault().is_some(), "{text}");
        }
        assert!(When::Every(0).fault().is_some());
        assert!(When::Every(u64::MAX).fault().is_some());
        assert_eq!(When::Every(60).fault(), None);
    }
}
