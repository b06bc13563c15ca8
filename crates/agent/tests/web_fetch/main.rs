//! `web_fetch` against servers on loopback: what is reached, what is not, and what hostile servers cannot do.

#![expect(
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests play the servers, and stop where they cannot go on"
)]

mod bounds;
mod hosts;
mod pages;
mod proxy;
mod redirects;
mod secure;
mod support;
