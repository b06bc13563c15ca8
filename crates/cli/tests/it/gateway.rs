//! `picoclaw gateway`, over loopback, with a client of our own.

mod approvals;
mod chat;
mod check;
pub(crate) mod client;
mod console;
mod crowd;
mod door;
mod life;
mod peers;
mod reload;
mod stream;
mod sudden;
mod tokens;
