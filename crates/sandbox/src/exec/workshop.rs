//! What every command of an agent starts with: the shell, its environment, and what holds it.
//!
//! Invariant: decided once, at the start; no command's text changes any of it.

use crate::launch::environment::{self, Variables};
use picoclaw_policy::CleanPath;
use picoclaw_policy::shell::guard::{Hold, Shell};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Shells, in the order in which they are taken, with the arguments before the command.
const SHELLS: &[(&str, Shell, &[&str])] = &[
    ("/bin/bash", Shell::Bash, &["bash", "--noprofile", "--norc", "-c"]),
    ("/bin/sh", Shell::Posix, &["sh", "-c"]),
];

/// Variables that change what a shell makes of a text; the guard judged it without them.
const CHANGES_MEANING: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_COMPAT",
    "BASH_XTRACEFD",
    "POSIXLY_CORRECT",
    "CDPATH",
    "GLOBIGNORE",
    "EXECIGNORE",
    "PROMPT_COMMAND",
    "PS4",
    "OLDPWD",
    "IFS",
];

/// Why no command can be run here.
#[derive(Debug, thiserror::Error)]
pub enum WorkshopError {
    /// Neither bash nor sh is where it should be.
    #[error("there is no `/bin/bash` and no `/bin/sh`")]
    NoShell,
}

/// Shell and environment for the commands of agents.
#[derive(Debug, Clone)]
pub struct Workshop {
    pub(super) program: PathBuf,
    pub(super) arguments: &'static [&'static str],
    pub(super) environment: Variables,
    shell: Shell,
    hold: Hold,
    home: Option<CleanPath>,
    path: Vec<CleanPath>,
}

impl Workshop {
    /// Finds the shell, and takes of `host`'s environment what a command may know.
    pub fn new(
        host: impl IntoIterator<Item = (OsString, OsString)>,
        secrets: &[String],
        hold: Hold,
    ) -> Result<Self, WorkshopError> {
        let (program, shell, arguments) =
            SHELLS.iter().find(|(path, ..)| is_program(Path::new(path))).ok_or(WorkshopError::NoShell)?;
        let mut environment = environment::without_secrets(host, secrets);
        environment.retain(|(name, _)| !changes_meaning(name));
        let value = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        let home = value("HOME").and_then(|home| CleanPath::absolute(Path::new(home)));
        let path =
            value("PATH").map(|path| std::env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
        let path = path.iter().filter_map(|dir| CleanPath::absolute(dir)).collect();
        Ok(Self { program: program.into(), arguments, environment, shell: *shell, hold, home, path })
    }

    /// The shell that reads commands.
    pub fn shell(&self) -> Shell {
        self.shell
    }

    /// What holds a command besides the guard.
    pub fn hold(&self) -> Hold {
        self.hold
    }

    /// The home that a command sees.
    pub fn home(&self) -> Option<&CleanPath> {
        self.home.as_ref()
    }

    /// The directories in which a command finds programs.
    pub fn path(&self) -> &[CleanPath] {
        &self.path
    }
}

fn changes_meaning(name: &OsStr) -> bool {
    // Exported functions travel as `BASH_FUNC_name%%`, and would stand in for the commands that were judged.
    name.as_encoded_bytes().starts_with(b"BASH_FUNC_") || CHANGES_MEANING.iter().any(|known| name == *known)
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_means_what_was_judged_whatever_the_host_exports() {
        let host = [
            ("PATH", "/usr/bin:rel:/bin"),
            ("BASH_ENV", "/tmp/x"),
            ("BASH_FUNC_ls%%", "() { rm -rf ~; }"),
            ("HOME", "/home/u"),
        ];
        let host = host.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let shop = Workshop::new(host, &[], Hold::Nothing).unwrap();
        let names: Vec<_> = shop.environment.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names, ["PATH", "HOME"]);
        let path: Vec<_> = shop.path().iter().map(|dir| dir.to_string()).collect();
        assert_eq!(path, ["/usr/bin", "/bin"], "a relative entry would find programs in the workspace");
    }
}
