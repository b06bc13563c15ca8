//! The room's own tests: one table over both engines, races, kills, hostile inputs, and what things cost.
//!
//! Invariant: every attack is shown to work without the protection, or the test proves nothing.

mod agree;
mod cost;
mod effects;
mod fixture;
mod hostile;
mod modes;
mod processes;
mod race;
mod table;
