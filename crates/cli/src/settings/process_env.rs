//! The process environment. It is read once, in `main`; everything else takes a [`ProcessEnv`].

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The environment variables and the user.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessEnv {
    /// Every variable.
    pub(crate) variables: BTreeMap<OsString, OsString>,
    /// The home directory of the account, independent of `HOME`.
    pub(crate) account_home: Option<PathBuf>,
    /// Home directories, once they were needed.
    pub(super) homes: OnceLock<Vec<PathBuf>>,
}

/// The instance directory, and how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Home {
    /// `PICOCLAW_HOME`, or `.picoclaw` in the user's home directory.
    Known(PathBuf),
    /// Neither is known: the current directory, which cannot be used for a cage.
    CurrentDir(PathBuf),
}

impl Home {
    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Known(path) | Self::CurrentDir(path) => path,
        }
    }
}

impl ProcessEnv {
    /// The environment of this process.
    pub(crate) fn of_process() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
            account_home: std::env::home_dir(),
            ..Self::default()
        }
    }

    /// A variable; an empty one counts as unset.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.raw_variable(name).filter(|value| !value.is_empty())
    }

    /// A variable, empty or not.
    pub(super) fn raw_variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// All `PICOCLAW_*` variables.
    pub(super) fn picoclaw_variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        let ours = |name: &OsString| name.as_encoded_bytes().starts_with(b"PICOCLAW_");
        self.variables
            .iter()
            .filter(move |(name, _)| ours(name))
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The user's home directory: `HOME`, else the account's.
    pub(crate) fn user_home(&self) -> Option<PathBuf> {
        let said = self.variable("HOME").map(PathBuf::from);
        said.or_else(|| self.account_home.clone()).filter(|home| home.is_absolute())
    }

    /// The instance directory: `PICOCLAW_HOME`, else `~/.picoclaw`, else `.`.
    pub(crate) fn home(&self) -> Home {
        if let Some(said) = self.variable("PICOCLAW_HOME") {
            return Home::Known(self.absolute(Path::new(said)));
        }
        match self.user_home() {
            Some(user) => Home::Known(user.join(".picoclaw")),
            None => Home::CurrentDir(self.absolute(Path::new("."))),
        }
    }

    /// A path from the user, made absolute.
    pub(super) fn absolute(&self, path: &Path) -> PathBuf {
        let expanded = path.strip_prefix("~").ok().zip(self.user_home()).map(|(rest, home)| home.join(rest));
        let path = expanded.unwrap_or_else(|| path.to_owned());
        std::path::absolute(&path).unwrap_or(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instance_is_where_the_rule_says() {
        for (why, variables, account, want) in [
            (
                "said outright",
                &[("PICOCLAW_HOME", "/srv/pc"), ("HOME", "/home/u")][..],
                None,
                Home::Known("/srv/pc".into()),
            ),
            ("below the user's home", &[("HOME", "/home/u")], None, Home::Known("/home/u/.picoclaw".into())),
            (
                "an empty variable is none",
                &[("PICOCLAW_HOME", ""), ("HOME", "/home/u")],
                None,
                Home::Known("/home/u/.picoclaw".into()),
            ),
            (
                "without HOME, the account's",
                &[],
                Some("/var/lib/u"),
                Home::Known("/var/lib/u/.picoclaw".into()),
            ),
            (
                "a tilde, as service managers pass it on",
                &[("PICOCLAW_HOME", "~/pc"), ("HOME", "/home/u")],
                None,
                Home::Known("/home/u/pc".into()),
            ),
        ] {
            let variables =
                variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
            let found = ProcessEnv {
                variables: variables.collect(),
                account_home: account.map(PathBuf::from),
                ..ProcessEnv::default()
            }
            .home();
            assert_eq!(found, want, "{why}");
        }
        let nowhere = ProcessEnv::default().home();
        assert_eq!(
            nowhere,
            Home::CurrentDir(std::env::current_dir().unwrap()),
            "nothing is known: the current directory"
        );
    }
}
