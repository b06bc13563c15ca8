//! The gateway: the long-running process that chat clients, the console page and operators reach
//! over HTTP.
//!
//! A chat request becomes a turn with [`Origin::Http`](picoclaw_policy::Origin), under the same
//! policy as every other turn. A question that needs a person waits in [`Approvals`], bound to the
//! hash of what is shown. Everything built from one configuration is one [`Services`], which a
//! reload replaces as a whole.
//!
//! Invariant: the body of a request is read only after it has shown the token; the public paths
//! take no body.

mod access;
mod api;
mod approvals;
mod background;
mod chat;
mod check;
mod console;
mod event_bus;
mod events;
mod ledger_tail;
mod metrics;
mod reload;
mod request;
mod response;
mod routes;
mod server;
mod services;

pub use access::{Credentials, InstanceFiles};
pub use approvals::Approvals;
pub use background::BackgroundError;
pub use reload::{Reload, ReloadError};
pub use routes::listen;
pub use server::{Gateway, GatewayOptions};
pub use services::{Services, StatusFn};
