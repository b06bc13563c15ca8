//! Finds programs of the operator that an agent could replace: a hook or server whose script lies in
//! a workspace runs what the agent writes there, with rights that the agent does not have.

use crate::instance::Instance;
use crate::launch::find_program;
use picoclaw_policy::PathRules;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Programs that run a directory which they are given.
const DIRECTORY_RUNNERS: [&str; 4] = ["python", "node", "deno", "bun"];

/// Variables that name code which a program loads.
const LOADER_VARIABLES: [&str; 11] = [
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "NODE_PATH",
    "NODE_OPTIONS",
    "PERL5LIB",
    "RUBYLIB",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "BASH_ENV",
    "PATH",
];

/// What agents can write: their workspaces, and what `tools.allow_write_paths` names.
#[derive(Debug, Clone)]
pub struct AgentWritable {
    dirs: Vec<PathBuf>,
    rules: PathRules,
}

impl AgentWritable {
    /// From the workspaces, as they are named; their real paths are looked up.
    pub fn new(workspaces: impl IntoIterator<Item = PathBuf>, rules: PathRules) -> Self {
        let mut dirs = Vec::new();
        for named in workspaces {
            dirs.extend(named.canonicalize());
            dirs.push(named);
        }
        Self { dirs, rules }
    }

    pub(crate) fn of_instance(instance: &Instance, rules: PathRules) -> Self {
        let workspaces = instance.workspaces().iter();
        let dirs = workspaces.flat_map(|own| [&own.named, &own.real]).map(|path| path.as_path().to_owned());
        Self { dirs: dirs.collect(), rules }
    }

    /// The part of a command that an agent could replace: its program, a script among its arguments,
    /// or code that one of its variables names.
    pub fn find_in(
        &self,
        command: &[OsString],
        variables: &[(OsString, OsString)],
        dir: &Path,
        path: &OsStr,
    ) -> Option<PathBuf> {
        let (name, arguments) = command.split_first()?;
        let program = find_program(name, path, dir).unwrap_or_else(|_| dir.join(name));
        if self.contains(&program) {
            return Some(program);
        }
        let stem = Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let runs_directories = DIRECTORY_RUNNERS.iter().any(|runner| stem.starts_with(runner));
        let is_data = |found: &PathBuf| found.is_dir() && !runs_directories;
        let in_arguments = arguments
            .iter()
            .filter_map(|argument| self.find_in_text(argument, dir))
            .find(|found| !is_data(found));
        in_arguments.or_else(|| {
            let loaders =
                variables.iter().filter(|(name, _)| LOADER_VARIABLES.iter().any(|known| name == known));
            loaders
                .flat_map(|(_, value)| std::env::split_paths(value).collect::<Vec<_>>())
                .find_map(|part| self.find_in_text(part.as_os_str(), dir))
        })
    }

    /// The path in an argument that an agent can write. The argument may be a path, an option with
    /// one, or a command line for a shell.
    fn find_in_text(&self, argument: &OsStr, dir: &Path) -> Option<PathBuf> {
        let text = argument.to_string_lossy();
        let value = text.split_once('=').map_or(&*text, |(_, value)| value);
        for candidate in [&*text, value] {
            let path = dir.join(candidate);
            // A word that is no path names nothing in the directory either.
            if (candidate.starts_with('/') || path.exists()) && self.contains(&path) {
                return Some(path);
            }
        }
        let named = self.dirs.iter().find_map(|own| {
            let own = own.to_str()?;
            let at = text.find(&format!("{own}/"))?;
            let end = text[at..].find(|c: char| c.is_whitespace() || "'\";|&<>()".contains(c));
            Some(&text[at..at + end.unwrap_or(text.len() - at)])
        });
        named.map(PathBuf::from)
    }

    fn contains(&self, path: &Path) -> bool {
        let real = path.canonicalize().ok();
        [Some(path), real.as_deref()].into_iter().flatten().any(|path| {
            self.dirs.iter().any(|own| path.starts_with(own)) || self.rules.matching(path).is_some()
        })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test arranges its files by path")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_an_agent_can_replace_is_found_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let (ws, out) = (place.path().join("ws"), place.path().join("out"));
        for dir in [&ws, &out, &ws.join("data")] {
            std::fs::create_dir(dir).unwrap();
        }
        for script in [ws.join("hook.py"), out.join("hook.py"), out.join("other.py")] {
            std::fs::write(script, "").unwrap();
        }
        symlink(ws.join("hook.py"), out.join("link.py")).unwrap();
        symlink(out.join("hook.py"), ws.join("back.py")).unwrap();
        let rules = PathRules::compile(&[format!("^{}/other", out.display())]).unwrap();
        let writable = AgentWritable::new([ws.clone()], rules);
        let w = ws.display();
        let o = out.display();
        for (why, command, dir, want) in [
            ("a script outside", format!("python3 {o}/hook.py"), &out, false),
            ("a script in the workspace", format!("python3 {w}/hook.py"), &out, true),
            ("one that is not there yet", format!("python3 {w}/later.py"), &out, true),
            ("the program itself", format!("{w}/hook.py"), &out, true),
            ("relative to a directory", "python3 hook.py".to_owned(), &ws, true),
            ("relative to another", "python3 hook.py".to_owned(), &out, false),
            ("a link into the workspace", format!("python3 {o}/link.py"), &out, true),
            ("a link out of it", format!("python3 {w}/back.py"), &out, true),
            ("by way of an option", format!("node --require={w}/hook.js {o}/hook.py"), &out, true),
            ("behind another program", format!("timeout 5 python3 {w}/hook.py"), &out, true),
            ("what a rule lets it write", format!("python3 {o}/other.py"), &out, true),
            ("a directory as data", format!("/usr/bin/watch {w}/data"), &out, false),
            ("a directory that is run", format!("python3 {w}/data"), &out, true),
            ("a name that begins alike", format!("python3 {w}2/hook.py"), &out, false),
            ("an option", "cat --number".to_owned(), &ws, false),
        ] {
            let command: Vec<OsString> = command.split(' ').map(OsString::from).collect();
            let found = writable.find_in(&command, &[], dir, OsStr::new("/usr/bin:/bin"));
            assert_eq!(found.is_some(), want, "{why}: {command:?} {found:?}");
        }
        let shell = ["sh".into(), "-c".into(), format!("exec '{w}/hook.py' x").into()];
        assert!(writable.find_in(&shell, &[], &out, OsStr::new("/bin")).is_some(), "in a command line");
        let variable = |name: &str| [(name.into(), format!("/usr/lib:{w}/data").into())];
        let plain = ["python3".into(), format!("{o}/hook.py").into()];
        assert!(writable.find_in(&plain, &variable("PYTHONPATH"), &out, OsStr::new("/bin")).is_some());
        assert!(writable.find_in(&plain, &variable("PROJECT"), &out, OsStr::new("/bin")).is_none());
    }
}
