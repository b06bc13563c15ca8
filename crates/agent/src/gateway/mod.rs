//! The gateway: a long-running picoclaw that people, chat clients and a console page reach over HTTP.
//!
//! It is one more porch: a chat request becomes a turn with [`Origin::Http`](picoclaw_policy::Origin), and whatever that
//! turn asks for passes the same desk as anybody's. A question that needs a person waits in [`Approvals`], bound to the
//! hash of what is shown. Everything that a configuration decides is one [`Staff`], which a reload replaces whole.
//!
//! Invariant: before a request is read beyond its head, it has shown the token, unless what it asks for is for everybody.

mod answer;
mod api;
mod approvals;
mod body;
mod bulletin;
mod chat;
mod check;
mod console;
mod counts;
mod duties;
mod events;
mod gate;
mod listen;
mod metrics;
mod places;
mod query;
mod reload;
mod routes;
mod staff;
mod tail;
mod underway;

pub use approvals::Approvals;
pub use duties::DutyError;
pub use gate::{Gate, Opening};
pub use listen::listen;
pub use reload::{Reload, ReloadError};
pub use staff::{Extra, Staff};
