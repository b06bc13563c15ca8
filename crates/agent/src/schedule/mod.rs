//! What runs without a request: scheduled jobs, and the heartbeat.

pub mod cron;
pub mod heartbeat;
mod heartbeat_tasks;
mod log_file;

pub use log_file::LogFile;
