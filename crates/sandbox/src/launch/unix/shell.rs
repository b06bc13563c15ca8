//! The shells that run commands.

use crate::launch::Shell;
use crate::launch::environment::Variables;
use picoclaw_policy::shell::Dialect;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The shells, for people.
pub(crate) const SHELL_NAMES: &str = "`/bin/bash` and no `/bin/sh`";

/// The shells in order of preference.
pub(crate) fn shells(_host: &Variables) -> Vec<Shell> {
    vec![
        Shell {
            program: "/bin/bash".into(),
            dialect: Dialect::Bash,
            arguments: &["bash", "--noprofile", "--norc", "-c"],
        },
        Shell { program: "/bin/sh".into(), dialect: Dialect::Posix, arguments: &["sh", "-c"] },
    ]
}

/// Whether a file can be executed.
pub(crate) fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
