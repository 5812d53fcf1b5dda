//! The declarations that come with lazaret, embedded by `build.rs`: name and text, sorted.

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
