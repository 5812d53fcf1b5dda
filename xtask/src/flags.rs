//! The command line of `cargo xtask`.

xflags::xflags! {
    /// The commands of this repository. Any other verb is one of lazaret's own and goes to it.
    cmd xtask {
        /// Make a fresh Debian or Ubuntu machine ready: install and start Docker and Podman.
        cmd setup {
            /// Do it without asking.
            optional -y,--yes
            /// Say what would be done, and end.
            optional --dry-run
            /// End the engines that an earlier `setup` started, and nothing else.
            optional --down
        }
    }
}
