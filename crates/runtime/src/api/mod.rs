//! Docker's and Podman's HTTP API.

mod lower;
