//! The only crate with unsafe code: creating processes, and kernel interfaces that rustix does not
//! wrap.
//!
//! It carries out what a `ChildSpec` of the platform describes and reports which step failed. It
//! decides nothing.

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
compile_error!("picoclaw has no build for this system: it runs on Linux, Windows and macOS");

#[cfg(target_os = "linux")]
pub mod linux;
#[cfg(target_os = "macos")]
pub mod macos;
#[cfg(unix)]
pub mod process_group;
#[cfg(windows)]
pub mod windows;

#[cfg(target_os = "linux")]
pub use linux::Process;
#[cfg(target_os = "macos")]
pub use macos::Process;
#[cfg(windows)]
pub use windows::Process;

/// The name of this system, for people.
pub const SYSTEM: &str = if cfg!(windows) {
    "Windows"
} else if cfg!(target_os = "macos") {
    "macOS"
} else {
    "Linux"
};
