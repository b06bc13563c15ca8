//! The shell that runs commands.

use crate::launch::Shell;
use crate::launch::environment::Variables;
use picoclaw_policy::shell::Dialect;
use std::path::{Path, PathBuf};

/// The shell, for people.
pub(crate) const SHELL_NAMES: &str = "`powershell.exe` in the system directory";

/// Windows PowerShell, which is part of the system. One along `PATH` could be another's.
pub(crate) fn shells(host: &Variables) -> Vec<Shell> {
    let is_root = |name: &std::ffi::OsStr| name.eq_ignore_ascii_case("SystemRoot");
    let root = host.iter().find(|(name, _)| is_root(name)).map(|(_, value)| PathBuf::from(value));
    let root = root.filter(|root| root.is_absolute()).unwrap_or_else(|| r"C:\Windows".into());
    vec![Shell {
        program: root.join(r"System32\WindowsPowerShell\v1.0\powershell.exe"),
        dialect: Dialect::PowerShell,
        arguments: &["powershell", "-NoProfile", "-NonInteractive", "-Command"],
    }]
}

/// Whether a file can be executed: any may be tried.
pub(crate) fn is_program(path: &Path) -> bool {
    path.is_file()
}
