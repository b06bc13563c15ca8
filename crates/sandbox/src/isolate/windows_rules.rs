//! What a confined child has on Windows, as data: its directories, its variables, and what is
//! refused.
//!
//! The tables are compiled everywhere, so that their tests run everywhere.

use crate::isolate::environment::SearchPath;
use crate::isolate::error::StartError;
use crate::launch::environment::{Variables, set};
use picoclaw_policy::config::{Backend as BackendChoice, Expose};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Redirected variables and their directories in a principal's user environment.
pub const REDIRECTED: [(&str, &str); 6] = [
    ("USERPROFILE", "home"),
    ("HOME", "home"),
    ("TEMP", "tmp"),
    ("TMP", "tmp"),
    ("APPDATA", "AppData/Roaming"),
    ("LOCALAPPDATA", "AppData/Local"),
];

/// Variables that pass. Their names are compared without case, as the system does.
const PASSED_VARIABLES: [&str; 20] = [
    "PATH",
    "PATHEXT",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "OS",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "COMMONPROGRAMFILES",
    "PROGRAMDATA",
    "PSMODULEPATH",
    "USERNAME",
    "LANG",
    "TZ",
    "TERM",
    "NO_COLOR",
];

/// The redirected variables of the user environment at `user`.
pub fn redirected(user: &Path) -> impl Iterator<Item = (&'static str, PathBuf)> {
    REDIRECTED.iter().map(|(name, directory)| (*name, joined(user, directory)))
}

/// The directories of the user environment at `user`, parents first.
pub fn directories(user: &Path) -> Vec<PathBuf> {
    ["home", "tmp", "AppData", "AppData/Roaming", "AppData/Local"].map(|name| joined(user, name)).to_vec()
}

/// Those that confined children may write. None is beneath another: a child could replace it by a
/// junction, and what the junction leads to would be labelled next time.
pub fn writable_directories(user: &Path) -> Vec<PathBuf> {
    ["home", "tmp", "AppData/Roaming", "AppData/Local"].map(|name| joined(user, name)).to_vec()
}

fn joined(user: &Path, directory: &str) -> PathBuf {
    user.join(directory.split('/').collect::<PathBuf>())
}

/// The environment of a confined child: what passes, then what is redirected.
pub fn variables(
    host: impl IntoIterator<Item = (OsString, OsString)>,
    user: &Path,
    pass: &[String],
    search: SearchPath<'_>,
) -> Variables {
    let mut kept = Variables::new();
    for (name, value) in host {
        let text = name.to_string_lossy().to_uppercase();
        let is_listed = PASSED_VARIABLES.contains(&text.as_str())
            || pass.iter().any(|known| known.to_uppercase() == text);
        if is_listed && !REDIRECTED.iter().any(|(redirected, _)| *redirected == text) {
            let value = if text == "PATH" { search.apply(&value) } else { value };
            set(&mut kept, &name, value);
        }
    }
    for (name, path) in redirected(user) {
        set(&mut kept, name, path);
    }
    kept
}

/// Why a configuration with isolation on does not start on Windows.
pub fn refusal(backend: BackendChoice, exposures: &[Expose]) -> Option<StartError> {
    if !exposures.is_empty() {
        return Some(StartError::ExposePaths);
    }
    let reason = || "this is Windows".to_owned();
    match backend {
        BackendChoice::Auto => None,
        BackendChoice::Native => Some(StartError::Native { reason: reason() }),
        BackendChoice::Bwrap => Some(StartError::Bwrap { reason: reason() }),
    }
}

/// The lines of the log entry `windows isolation access rules`: what a child with this user
/// environment may do, and where.
pub fn access_rules(user: &Path, work_dir: &Path) -> Vec<String> {
    let mut rules = vec![
        "token: no privileges but traversal, administrators deny-only, low integrity".to_owned(),
        "job: ends with picoclaw, no breakaway, no desktop unless picoclaw is in a job itself".to_owned(),
    ];
    rules.extend(
        writable_directories(user).iter().map(|path| format!("read and write: `{}`", path.display())),
    );
    rules.push(format!(
        "read, and write only what is labelled low: `{}` and everything else that you can read",
        work_dir.display()
    ));
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use picoclaw_policy::config::ExposeMode;

    #[test]
    fn six_variables_lead_into_the_user_environment() {
        let user = Path::new("u");
        let host = [
            ("Path", "/windows"),
            ("SystemRoot", r"C:\Windows"),
            ("UserProfile", r"C:\Users\me"),
            ("AppData", r"C:\Users\me\AppData\Roaming"),
            ("OPENAI_API_KEY", "x"),
            ("OneDrive", r"C:\Users\me\OneDrive"),
            ("My_Token", "given on"),
        ];
        let host = host.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let pass = ["MY_TOKEN".to_owned(), "USERPROFILE".to_owned()];
        let got = variables(host, user, &pass, SearchPath::All(user));
        let got: Vec<_> =
            got.iter().map(|(name, value)| (name.to_str().unwrap(), PathBuf::from(value))).collect();
        let want = [
            ("Path", PathBuf::from("/windows")),
            ("SystemRoot", PathBuf::from(r"C:\Windows")),
            ("My_Token", PathBuf::from("given on")),
            ("USERPROFILE", user.join("home")),
            ("HOME", user.join("home")),
            ("TEMP", user.join("tmp")),
            ("TMP", user.join("tmp")),
            ("APPDATA", user.join("AppData").join("Roaming")),
            ("LOCALAPPDATA", user.join("AppData").join("Local")),
        ];
        assert_eq!(got, want);
    }

    #[test]
    fn every_redirected_variable_names_a_directory_that_is_made() {
        let user = Path::new("u");
        let made = directories(user);
        let writable = writable_directories(user);
        for (name, path) in redirected(user) {
            assert!(made.contains(&path) && writable.contains(&path), "{name}");
        }
        for path in &writable {
            assert!(
                !writable.iter().any(|other| other != path && path.starts_with(other)),
                "{}",
                path.display()
            );
        }
        for path in &made {
            let parent = path.parent().unwrap();
            let before = made.iter().take_while(|other| *other != path);
            assert!(parent == user || before.into_iter().any(|other| other == parent), "{}", path.display());
        }
    }

    #[test]
    fn what_cannot_be_held_stops_the_start() {
        assert!(refusal(BackendChoice::Auto, &[]).is_none(), "the control");
        let exposed = Expose { source: "/x".into(), target: "/x".into(), mode: ExposeMode::ReadOnly };
        let why = refusal(BackendChoice::Auto, &[exposed]).unwrap();
        assert_eq!(
            why.to_string(),
            "`isolation.expose_paths` is not supported on Windows: paths cannot be mapped there"
        );
        assert!(why.hint().contains("`isolation.expose_paths`"), "{}", why.hint());
        for choice in [BackendChoice::Native, BackendChoice::Bwrap] {
            assert!(refusal(choice, &[]).unwrap().to_string().contains("this is Windows"), "{choice:?}");
        }
    }

    #[test]
    fn the_rules_name_what_is_written() {
        let rules = access_rules(Path::new("u"), Path::new("w")).join("\n");
        for word in ["low integrity", "job", "tmp", "Roaming", "Local", "`w`"] {
            assert!(rules.contains(word), "{word}: {rules}");
        }
    }
}
