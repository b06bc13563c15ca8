//! One table over both resolvers, races, kills, hostile inputs, and what is synced.
//!
//! Invariant: every attack is shown to work without the protection, or the test proves nothing.

mod agree;
mod durable;
mod effects;
mod fixture;
mod hostile;
mod modes;
mod processes;
mod race;
mod table;
