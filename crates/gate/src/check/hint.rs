//! What to do about an archive that the grammar refuses: most of those that are no attack
//! were written with the wrong options.

use lazaret_protocol::StreamError;

const USTAR: &str = "Make it with `tar --format=ustar -C DIR -cf FILE .`; where a name is too \
    long for that, with `--format=pax --pax-option=delete=atime,delete=ctime`.";

/// Says what to do.
pub(super) fn of(lie: &StreamError) -> Option<&'static str> {
    Some(match lie {
        StreamError::Compressed { .. } => {
            "Decompress it first, by a program of your own choice: `gzip -dc FILE | lazaret check \
             - --base DIR`."
        }
        StreamError::Typeflag { flag: b'g' } => {
            "Git writes such a header to name the commit; `git archive 'HEAD^{tree}'` does not."
        }
        // GNU tar's own format, sparse files, global PAX headers, extra PAX keys.
        StreamError::Magic | StreamError::Typeflag { .. } | StreamError::PaxKey { .. } => USTAR,
        StreamError::PaxLineFeed => {
            "An extended attribute or a long name has a line feed; `tar --no-xattrs` leaves \
             attributes out."
        }
        StreamError::Checksum | StreamError::Truncated { .. } => {
            "It is no tar archive, or it was cut or changed on its way."
        }
        StreamError::NoEof => {
            "It was cut: its writer did not come to the end. `tar -A` and `cat` make such ones \
             too."
        }
        StreamError::Trailing => "Several archives in a row are not read; make one.",
        StreamError::PathAbsolute { .. } | StreamError::PathDotDot { .. } => {
            "Names have to be relative to the directory that is compared: `tar -C DIR -cf FILE .`."
        }
        StreamError::TooManyEntries { .. }
        | StreamError::TooManyBytes { .. }
        | StreamError::FileTooBig { .. } => {
            "If this much is expected, raise the limit in a profile's [gate] table and name it \
             with --profile."
        }
        _ => return None,
    })
}
