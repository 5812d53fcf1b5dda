//! The numbers of headers and PAX records.

use crate::FileTime;

/// In a second.
const NANOS: u32 = 1_000_000_000;

/// Reads an octal header field: digits, then at least one NUL or space, then
/// nothing but NUL and space.
///
/// Leading blanks and a field full of digits are left to older formats; the GNU
/// base-256 form is not octal either. One spelling less is one disagreement
/// between readers less (TAR-24).
pub(super) fn octal(field: &[u8]) -> Option<u64> {
    let digits = field.iter().take_while(|byte| matches!(byte, b'0'..=b'7'));
    let (length, value) = digits.fold((0, 0u64), |(length, value), digit| {
        (length + 1, value << 3 | u64::from(digit - b'0'))
    });
    let end = field.get(length..)?;
    let ended = !end.is_empty() && end.iter().all(|byte| matches!(byte, 0 | b' '));
    (length > 0 && ended).then_some(value)
}

/// Reads a time field: octal, or base-256 as GNU writes it for negative and far
/// times: the first bit set, the rest a two's complement, big endian.
pub(super) fn time(field: &[u8; 12]) -> Option<i64> {
    if field[0] & 0x80 == 0 {
        return i64::try_from(octal(field)?).ok();
    }
    let mut bytes = [0; 16];
    bytes[4..].copy_from_slice(field);
    // 95 bits are left: shift the flag out, then shift the sign back in.
    let value = (i128::from_be_bytes(bytes) << 33) >> 33;
    i64::try_from(value).ok()
}

/// A text that is no decimal number, or one that is out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecimalError {
    /// Not a decimal number at all.
    Form,
    /// More than the type holds.
    Range,
}

/// Reads a decimal number without sign, blank or leading zero (TAR-22).
pub(super) fn decimal(text: &[u8]) -> Result<u64, DecimalError> {
    let canonical = match text {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !canonical {
        return Err(DecimalError::Form);
    }
    let digits = std::str::from_utf8(text).map_err(|_| DecimalError::Form)?;
    digits.parse().map_err(|_| DecimalError::Range)
}

/// Reads a PAX time, `-12.5`, and rounds it down to nanoseconds.
pub(super) fn decimal_time(text: &[u8]) -> Result<FileTime, DecimalError> {
    let (negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let point = rest.iter().position(|&byte| byte == b'.');
    let (whole, fraction) = match point {
        Some(at) => (&rest[..at], &rest[at + 1..]),
        None => (rest, &b"0"[..]),
    };
    if fraction.is_empty() || !fraction.iter().all(u8::is_ascii_digit) {
        return Err(DecimalError::Form);
    }
    let whole = i64::try_from(decimal(whole)?).map_err(|_| DecimalError::Range)?;
    let (kept, dropped) = fraction.split_at(fraction.len().min(9));
    let zeros = std::iter::repeat_n(&b'0', 9 - kept.len());
    let nanos = kept.iter().chain(zeros);
    let nanos = nanos.fold(0, |nanos, digit| nanos * 10 + u32::from(digit - b'0'));
    let is_rounded = dropped.iter().any(|&digit| digit != b'0');
    let nanos = nanos + u32::from(negative && is_rounded);
    Ok(match (negative, nanos) {
        (false, nanos) => FileTime {
            seconds: whole,
            nanos,
        },
        (true, 0) => FileTime {
            seconds: -whole,
            nanos,
        },
        (true, nanos) => FileTime {
            seconds: -whole - 1,
            nanos: NANOS - nanos,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octal_has_one_form() {
        assert_eq!(octal(b"0000644\0"), Some(0o644));
        assert_eq!(octal(b"000644 \0"), Some(0o644));
        assert_eq!(octal(b"77777777777\0"), Some((1 << 33) - 1));
        for wrong in [
            &b""[..],
            b"\0\0\0",
            b"   ",
            b" 644\0",
            b"644",
            b"+644\0",
            b"-1\0",
            b"648\0",
            b"0x1\0",
            b"644\x001",
            b"6 44\0",
            b"\x80\0\0\x01",
            b"777777777777",
        ] {
            assert_eq!(octal(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn times_may_be_negative() {
        let time_of = |value: i128| {
            let mut bytes = value.to_be_bytes();
            bytes[4] |= 0x80;
            let mut field = [0; 12];
            field.copy_from_slice(&bytes[4..]);
            time(&field)
        };
        for value in [0, 1, -1, -2_147_483_648, i64::MAX, i64::MIN] {
            assert_eq!(time_of(i128::from(value)), Some(value));
        }
        for value in [
            i128::from(i64::MAX) + 1,
            i128::from(i64::MIN) - 1,
            1 << 94,
            -(1 << 94),
        ] {
            assert_eq!(time_of(value), None, "{value}");
        }
        assert_eq!(time(b"00000000007\0"), Some(7));
    }

    #[test]
    fn decimals_have_one_form() {
        assert_eq!(decimal(b"0"), Ok(0));
        assert_eq!(decimal(b"18446744073709551615"), Ok(u64::MAX));
        assert_eq!(decimal(b"18446744073709551616"), Err(DecimalError::Range));
        for wrong in [
            &b""[..],
            b"+5",
            b" 5",
            b"5 ",
            b"0x5",
            b"05",
            b"-0",
            b"\xd9\xa3",
            b"1e3",
            b"1_0",
        ] {
            assert_eq!(decimal(wrong), Err(DecimalError::Form), "{wrong:?}");
        }
        let time = |seconds, nanos| Ok(FileTime { seconds, nanos });
        assert_eq!(decimal_time(b"12.000"), time(12, 0));
        assert_eq!(decimal_time(b"12.5"), time(12, 500_000_000));
        assert_eq!(decimal_time(b"12.0000000019"), time(12, 1));
        assert_eq!(decimal_time(b"12.9999999999"), time(12, 999_999_999));
        assert_eq!(decimal_time(b"-12"), time(-12, 0));
        assert_eq!(decimal_time(b"-12.5"), time(-13, 500_000_000));
        assert_eq!(decimal_time(b"-12.0000000001"), time(-13, 999_999_999));
        assert_eq!(decimal_time(b"-12.9999999999"), time(-13, 0));
        assert_eq!(
            decimal_time(b"-9223372036854775807.5"),
            time(i64::MIN, 500_000_000)
        );
        assert_eq!(
            decimal_time(b"9223372036854775808"),
            Err(DecimalError::Range)
        );
        for wrong in [
            &b"NaN"[..],
            b"1e30",
            b"",
            b"-",
            b".5",
            b"5.",
            b"--5",
            b"5.-1",
            b"1.2.3",
            b"+1",
        ] {
            assert_eq!(decimal_time(wrong), Err(DecimalError::Form), "{wrong:?}");
        }
    }
}
