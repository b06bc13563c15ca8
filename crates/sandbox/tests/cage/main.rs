//! Commands in a cage: how it is planned and built, what it shows, and what a command in it can do.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test stops where it cannot go on, and looks at the host from outside the sandbox"
)]

mod backends;
mod bwrap;
mod escapes;
mod everyday;
mod examine;
mod fence;
mod life;
mod plans;
mod sockets;
#[expect(dead_code, reason = "tests that are alone in their file use the rest")]
mod support;
mod tmp;
mod view;
