//! What happens without anybody asking at that moment: jobs at their times, and a regular look at a list of chores.
//!
//! Invariant: whatever time brings about walks through the same door as a person's words.

pub mod cron;
mod diary;
pub mod heartbeat;

pub use diary::Diary;
