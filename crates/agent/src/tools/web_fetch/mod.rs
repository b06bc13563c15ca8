//! `web_fetch`: a page of the web, as text.
//!
//! Invariant: every hop is judged by itself; time, size and redirects are bounded, and nothing is sent but the request.

mod channel;
mod charset;
mod content;
mod entities;
mod error;
mod exchange;
mod http;
mod page;
mod redirects;
mod tags;
mod tool;

pub use tool::WebFetch;
