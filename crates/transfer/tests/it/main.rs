//! Integration tests of the crate, one binary.

mod git;
mod git_hostile;
mod git_kit;
mod merge_bases;
mod pack;
mod reconcile;
mod refs;
mod stat_cache;
mod store;
mod stream;
mod subset;
mod tar_corpus;
mod tar_ends;
mod tar_headers;
mod tar_limits;
mod tar_links;
mod tar_mutation;
mod tar_names;
mod tar_pax;
mod untrusted;
mod wire;
