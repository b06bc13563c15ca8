//! Finds programs of the operator that an agent could replace: a hook or server whose script lies
//! in a workspace runs what the agent writes there, with rights that the agent does not have.

use crate::command_code::CommandCode;
use crate::instance::Instance;
use crate::isolate::follow;
use picoclaw_policy::PathRules;
use picoclaw_policy::config::{Expose, ExposeMode, IsolationConfig};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Variables that name code which a program loads, or a directory in which it looks for some.
const LOADER_VARIABLES: [&str; 24] = [
    "BASH_ENV",
    "CLASSPATH",
    "ENV",
    "HOME",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LUA_CPATH",
    "LUA_PATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "RUBYLIB",
    "RUBYOPT",
    "XDG_CONFIG_HOME",
    "ZDOTDIR",
];

/// What agents can write through their tools and from their cage or fence: workspaces, their own
/// user environments, what is exposed to them for writing, and what `tools.allow_write_paths`
/// names.
#[derive(Debug, Clone)]
pub struct AgentWritable {
    dirs: Vec<PathBuf>,
    /// `isolation.expose_paths`, while isolation is on.
    exposed: Vec<Expose>,
    rules: PathRules,
}

impl AgentWritable {
    /// From the workspaces, as they are named; their real paths are looked up.
    pub fn new(
        home: &Path,
        workspaces: impl IntoIterator<Item = PathBuf>,
        isolation: &IsolationConfig,
        rules: PathRules,
    ) -> Self {
        let environments = home.join("runtime-user-env").join("agents");
        let mut dirs = Vec::new();
        for named in workspaces.into_iter().chain([environments]) {
            dirs.extend(named.canonicalize());
            dirs.push(named);
        }
        let exposed = if isolation.enabled { isolation.expose_paths.clone() } else { Vec::new() };
        Self { dirs, exposed, rules }
    }

    pub(crate) fn of_instance(instance: &Instance, isolation: &IsolationConfig, rules: PathRules) -> Self {
        let workspaces = instance.workspaces().iter().map(|own| own.named.as_path().to_owned());
        Self::new(instance.home(), workspaces, isolation, rules)
    }

    /// The part of a command that an agent could replace: its program, a script that it runs, or
    /// code that one of its variables names. Data may lie in a workspace.
    pub fn find_in(
        &self,
        command: &[OsString],
        variables: &[(OsString, OsString)],
        dir: &Path,
        path: &OsStr,
    ) -> Option<PathBuf> {
        let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let code = CommandCode::of(&words, dir, path);
        let given = variables
            .iter()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
        let loaders = given
            .chain(code.variables)
            .filter(|(name, _)| LOADER_VARIABLES.iter().any(|known| known.eq_ignore_ascii_case(name)))
            .map(|(_, value)| value);
        let paths = code.paths.into_iter().find(|path| self.contains(path));
        paths
            .or_else(|| code.texts.iter().find_map(|text| self.mentioned(text)))
            .or_else(|| loaders.into_iter().find_map(|value| self.loaded(&value, dir)))
    }

    /// The path in the value of a variable: a list of directories, or options with paths.
    fn loaded(&self, value: &str, dir: &Path) -> Option<PathBuf> {
        let in_list = value.split([':', ' ']).filter(|part| !part.is_empty()).map(|part| dir.join(part));
        in_list.into_iter().find(|path| self.contains(path)).or_else(|| self.mentioned(value))
    }

    /// The path in a text of code.
    fn mentioned(&self, text: &str) -> Option<PathBuf> {
        let ends_path = |c: char| c.is_whitespace() || "'\";|&<>()".contains(c);
        self.dirs.iter().find_map(|own| {
            let mut paths = text.match_indices(own.to_str()?).map(|(at, _)| {
                let rest = &text[at..];
                Path::new(rest.find(ends_path).map_or(rest, |end| &rest[..end]))
            });
            paths.find(|path| path.starts_with(own)).map(Path::to_owned)
        })
    }

    /// Whether an agent can write at this path, or where it leads.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        let (links, end) = follow(path);
        links.iter().map(PathBuf::as_path).chain([path, &end]).any(|path| {
            // The rule of the innermost directory counts.
            let exposed = self.exposed.iter().filter(|exposed| path.starts_with(&exposed.source));
            let exposed = exposed.max_by_key(|exposed| exposed.source.components().count());
            self.dirs.iter().any(|own| path.starts_with(own))
                || exposed.is_some_and(|exposed| exposed.mode == ExposeMode::ReadWrite)
                || self.rules.matching(path).is_some()
        })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test arranges its files by path")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// What is found in a command, and whether that was wanted.
    fn check(writable: &AgentWritable, dir: &Path, rows: &[(&str, String, bool)]) {
        for (why, command, want) in rows {
            let command: Vec<OsString> = command.split(' ').map(OsString::from).collect();
            let found = writable.find_in(&command, &[], dir, OsStr::new("/usr/bin:/bin"));
            assert_eq!(found.is_some(), *want, "{why}: {command:?} {found:?}");
        }
    }

    /// A workspace, and a directory that no agent can write.
    fn place() -> (tempfile::TempDir, PathBuf, PathBuf, AgentWritable) {
        let place = tempfile::tempdir().unwrap();
        let (ws, out) = (place.path().join("ws"), place.path().join("out"));
        for dir in [&ws, &out, &ws.join("data"), &out.join("shown"), &out.join("shown/not")] {
            std::fs::create_dir(dir).unwrap();
        }
        for file in ["ws/hook.py", "ws/data.db", "out/hook.py", "out/other.py", "out/shown/hook.py"] {
            std::fs::write(place.path().join(file), "").unwrap();
        }
        symlink(ws.join("hook.py"), out.join("link.py")).unwrap();
        symlink(out.join("hook.py"), ws.join("back.py")).unwrap();
        symlink(ws.join("back.py"), out.join("through.py")).unwrap();
        let config = picoclaw_policy::config::Config::default();
        let mut isolation = config.isolation;
        isolation.enabled = true;
        let expose = |source: PathBuf, mode| Expose { target: source.clone(), source, mode };
        isolation.expose_paths = vec![
            expose(out.join("shown"), ExposeMode::ReadWrite),
            expose(out.join("shown/not"), ExposeMode::ReadOnly),
        ];
        let rules = PathRules::compile(&[format!("^{}/other", out.display())]).unwrap();
        let writable = AgentWritable::new(&place.path().join("home"), [ws.clone()], &isolation, rules);
        (place, ws, out, writable)
    }

    #[test]
    fn programs_and_scripts_that_an_agent_can_replace_are_found() {
        let (place, ws, out, writable) = place();
        let (w, o, home) = (ws.display(), out.display(), place.path().join("home"));
        let rows = [
            ("a script in the workspace", format!("python3 {w}/hook.py"), true),
            ("one that is not there yet", format!("python3 {w}/later.py"), true),
            ("the program itself", format!("{w}/hook.py"), true),
            ("a link into the workspace", format!("python3 {o}/link.py"), true),
            ("a link out of it", format!("python3 {w}/back.py"), true),
            ("a link through it", format!("python3 {o}/through.py"), true),
            ("behind options", format!("python3 -u -W ignore {w}/hook.py"), true),
            ("a module that is loaded first", format!("node --require={w}/x.js {o}/hook.py"), true),
            ("in two words", format!("node -r {w}/x.js {o}/hook.py"), true),
            ("by import", format!("node --import {w}/x.mjs {o}/hook.py"), true),
            ("a directory of modules", format!("ruby -I{w}/data {o}/hook.rb"), true),
            ("a directory that is run", format!("python3 {w}/data"), true),
            ("behind another program", format!("timeout -s KILL 5 python3 {w}/hook.py"), true),
            ("behind variables", format!("env A=1 python3 {w}/hook.py"), true),
            ("a variable of a wrapper", format!("env PYTHONPATH={w}/data python3 {o}/hook.py"), true),
            ("a program behind another", format!("nice {w}/hook.py"), true),
            ("a package of the workspace", format!("npx -y {w}/data"), true),
            ("a project of the workspace", format!("uv --directory {w}/data run server"), true),
            ("its script", format!("uv run {w}/hook.py"), true),
            ("an archive", format!("java -jar {w}/x.jar"), true),
            ("what a rule lets it write", format!("python3 {o}/other.py"), true),
            ("what is exposed for writing", format!("python3 {o}/shown/hook.py"), true),
            ("the home of an agent", format!("{}/runtime-user-env/agents/main/x", home.display()), true),
        ];
        check(&writable, &out, &rows);
        let in_workspace = [
            ("relative to the workspace", "python3 hook.py".to_owned(), true),
            ("a module of the workspace", "python3 -m hook".to_owned(), true),
            ("a package beside it", "npx server".to_owned(), true),
            ("code that may load from there", "python3 -c pass".to_owned(), true),
            ("the control: a program outside", "cat --number".to_owned(), false),
        ];
        check(&writable, &ws, &in_workspace);
        for (text, want) in [
            (format!("exec '{w}/hook.py' x"), true),
            (format!("cd {w} && ./hook.py"), true),
            (format!("cd {w}; python3 hook.py"), true),
            (format!(". {w}/hook.py"), true),
            (format!("X=$(cat {w}/data.db) server"), true),
            (format!("PYTHONPATH={w} python3 {o}/hook.py"), true),
            (format!("exec /bin/server --root {w}/data"), false),
            (format!("X=$(cat {w}-data/x); eval \"$(cat {w}/hook.py)\""), true),
            (format!("X=$(cat {w}-data/x); eval \"$X\""), false),
        ] {
            let command = ["sh".into(), "-c".into(), text.clone().into()];
            let found = writable.find_in(&command, &[], &out, OsStr::new("/bin"));
            assert_eq!(found.is_some(), want, "{text}: {found:?}");
        }
        let plain = ["python3".into(), format!("{o}/hook.py").into()];
        for (name, value, want) in [
            ("PYTHONPATH", format!("/usr/lib:{w}/data"), true),
            ("NODE_OPTIONS", format!("--require {w}/x.js"), true),
            ("NODE_OPTIONS", format!("--require={w}/x.js"), true),
            ("HOME", format!("{w}"), true),
            ("PROJECT", format!("{w}/data"), false),
        ] {
            let variables = [(name.into(), value.clone().into())];
            let found = writable.find_in(&plain, &variables, &out, OsStr::new("/bin"));
            assert_eq!(found.is_some(), want, "{name}={value}: {found:?}");
        }
    }

    #[test]
    fn data_may_lie_in_a_workspace() {
        let (_place, ws, out, writable) = place();
        let (w, o) = (ws.display(), out.display());
        let rows = [
            ("a script outside", format!("python3 {o}/hook.py"), false),
            ("a name that begins alike", format!("python3 {w}2/hook.py"), false),
            ("a folder for a server", format!("python3 {o}/hook.py {w}/data"), false),
            ("the workspace itself", format!("npx -y @modelcontextprotocol/server-filesystem {w}"), false),
            ("by an option", format!("uvx mcp-server-git --repository {w}/data"), false),
            ("a data base", format!("python3 -u {o}/hook.py --db={w}/data.db"), false),
            ("a script as data", format!("/usr/bin/lint {w}/hook.py"), false),
            ("permissions", format!("deno run --allow-read={w}/data {o}/hook.py {w}/data"), false),
            ("a project outside", format!("uv --directory {o} run server {w}/data"), false),
            ("properties", format!("java -Droot={w}/data -jar {o}/x.jar {w}/data"), false),
            ("behind another program", format!("timeout 5 python3 {o}/hook.py {w}/data.db"), false),
            ("code in an argument", format!("python3 -c pass {w}/data"), false),
            ("what is exposed for reading", format!("python3 {o}/shown/not/hook.py"), false),
        ];
        check(&writable, &out, &rows);
    }
}
