//! Test kit: the tree language and hostile archives. A leaf: it knows no product crate.
