//! The targets, by what reads the bytes.

#[cfg(feature = "screen")]
mod answer;
#[cfg(feature = "network")]
mod broker;
mod collect;
mod escape;
mod journal;
#[cfg(feature = "judge")]
mod judge;
mod lists;
#[cfg(feature = "judge")]
mod manifests;
mod merge;
#[cfg(feature = "network")]
mod network;
mod paths;
mod refs;
#[cfg(feature = "screen")]
mod screen;
#[cfg(feature = "network")]
mod scrub;
pub mod stream;
pub mod tar_crate;

use crate::Target;

/// Pieces of archives.
const TAR_WORDS: &[&[u8]] = &[
    b"ustar\x0000",
    b"./",
    b"../",
    b"path=",
    b"linkpath=",
    b"size=",
    b"mtime=",
    b"SCHILY.xattr.user.x=",
    b"GNU.sparse.major=",
    b"12 path=abcd\n",
    b"0000644\0",
    b"00000000000\0",
    b"00000001000\0",
    b"0",
    b"1",
    b"2",
    b"5",
    b"6",
    b"x",
    b"g",
    b"L",
];

/// Every target.
pub const ALL: &[Target] = &[
    Target {
        name: "members",
        run: stream::members,
        seeds: stream::seeds,
        dictionary: TAR_WORDS,
    },
    Target {
        name: "unpack",
        run: stream::unpacked,
        seeds: stream::seeds,
        dictionary: TAR_WORDS,
    },
    Target {
        name: "tar-crate",
        run: tar_crate::same,
        seeds: stream::seeds,
        dictionary: TAR_WORDS,
    },
    Target {
        name: "mutation",
        run: stream::changed,
        seeds: stream::changes,
        dictionary: &[],
    },
    Target {
        name: "lists",
        run: lists::read,
        seeds: lists::seeds,
        dictionary: &[b"\0\0\x01\0a", b"../", b"/", b".git"],
    },
    Target {
        name: "collect",
        run: collect::collected,
        seeds: collect::seeds,
        dictionary: &[b"a", b"a/b", b".git", b"..", b"\n"],
    },
    Target {
        name: "trailer",
        run: lists::trailer,
        seeds: lists::trailers,
        dictionary: &[
            b"entries ",
            b"bytes ",
            b"tree ",
            b"\n",
            b"18446744073709551615",
        ],
    },
    Target {
        name: "path",
        run: paths::parsed,
        seeds: paths::seeds,
        dictionary: &[
            b"..",
            b"./",
            b"//",
            b"\0",
            b"\xc2\x80",
            b".git",
            b"\xe2\x80\xae",
        ],
    },
    Target {
        name: "escape",
        run: escape::escaped,
        seeds: escape::seeds,
        dictionary: &[
            b"\x1b]52;c;",
            b"\x1b[31m",
            b"\x9b",
            b"\xc2\x9b",
            b"\\u{",
            b"\\x",
            b"\\\\",
            b"}",
            b"\xe2\x80\xae",
            b"\xf3\xa0\x80\x81",
            b"\r",
        ],
    },
    Target {
        name: "journal",
        run: journal::parsed,
        seeds: journal::seeds,
        dictionary: &[
            b"\t", b"-", b"step\t", b"phase\t", b"root\t", b"l:", b"f:", b"x:", b"+1", b"\n", b"d",
        ],
    },
    Target {
        name: "refs",
        run: refs::read,
        seeds: refs::seeds,
        dictionary: &[
            b"ref: refs/heads/",
            b"0123456789abcdef0123456789abcdef01234567",
            b"\n",
            b"\t",
            b" ",
            b"^",
            b"commit (amend): ",
            b"\x1b]52;c;",
        ],
    },
    Target {
        name: "merge",
        run: merge::merged,
        seeds: merge::seeds,
        dictionary: &[b"a\n", b"b\n", b"\n", b"\r\n", b"\r", b"\xff", b"a"],
    },
    #[cfg(feature = "judge")]
    Target {
        name: "lockfile",
        run: manifests::lockfile,
        seeds: manifests::lockfiles,
        dictionary: judge::WORDS,
    },
    #[cfg(feature = "judge")]
    Target {
        name: "manifest",
        run: manifests::manifest,
        seeds: manifests::manifests,
        dictionary: manifests::WORDS,
    },
    #[cfg(feature = "judge")]
    Target {
        name: "judge",
        run: judge::judged,
        seeds: judge::seeds,
        dictionary: judge::WORDS,
    },
    #[cfg(feature = "network")]
    Target {
        name: "host-name",
        run: network::named,
        seeds: network::names,
        dictionary: &[
            b"xn--",
            b".",
            b"..",
            b":443",
            b"*.",
            b"@",
            b"%00",
            b"0x",
            b"[::",
            b"\xe3\x80\x82",
            b"\xef\xbc\x91",
            b"\xc2\xad",
            b"\0",
        ],
    },
    #[cfg(feature = "network")]
    Target {
        name: "greeting",
        run: network::greeted,
        seeds: network::greetings,
        dictionary: &[
            b"\x16\x03\x01",
            b"\0\0",
            b"up.test",
            b"\xfe\x0d",
            b"\x01\0\0",
        ],
    },
    #[cfg(feature = "network")]
    Target {
        name: "request-head",
        run: network::requested,
        seeds: network::requests,
        dictionary: &[
            b"\r\n",
            b"\r\n\r\n",
            b"\n",
            b"\r\n ",
            b"Host: ",
            b"Content-Length: ",
            b"Transfer-Encoding: chunked",
            b"Connection: ",
            b"HTTP/1.1",
            b"http://",
            b":",
            b"\0",
        ],
    },
    #[cfg(feature = "network")]
    Target {
        name: "chunks",
        run: network::chunked,
        seeds: network::chunks,
        dictionary: &[b"\r\n", b"0\r\n\r\n", b"f", b";", b"fffffffffffffff", b"+"],
    },
    #[cfg(feature = "network")]
    Target {
        name: "dns-answer",
        run: network::resolved,
        seeds: network::answers,
        dictionary: &[
            b"\xc0\x0c",
            b"\0\x01\0\x01",
            b"\0\x05\0\x01",
            b"\x3f",
            b"\0\x29",
        ],
    },
    #[cfg(feature = "network")]
    Target {
        name: "scrub",
        run: scrub::scrubbed,
        seeds: scrub::seeds,
        dictionary: scrub::WORDS,
    },
    #[cfg(feature = "network")]
    Target {
        name: "broker-request",
        run: broker::request,
        seeds: broker::requests,
        dictionary: broker::WORDS,
    },
    #[cfg(feature = "network")]
    Target {
        name: "broker-response",
        run: broker::response,
        seeds: broker::responses,
        dictionary: broker::WORDS,
    },
    #[cfg(feature = "screen")]
    Target {
        name: "screen",
        run: screen::restored,
        seeds: screen::seeds,
        dictionary: screen::WORDS,
    },
    #[cfg(feature = "screen")]
    Target {
        name: "answer",
        run: answer::found,
        seeds: answer::seeds,
        dictionary: answer::WORDS,
    },
];
