//! `web_fetch`: a page of the web, as text. Time, size and redirects are bounded.

mod content_type;
mod error;
mod hop;
mod html_text;
mod redirects;
mod tls;
mod tool;

pub use tool::WebFetch;
