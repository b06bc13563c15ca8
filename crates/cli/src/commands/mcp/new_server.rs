//! Builds a server's configuration entry from the command line of `picoclaw mcp add`.

use super::arguments::{AddArguments, Transport};
use crate::platform;
use anyhow::{Context, Result, bail, ensure};
use picoclaw_sandbox::printable_path;
use serde_json::{Map, Value, json};
use std::path::{Component, Path, PathBuf};

/// The longest name of a server.
const MAX_NAME_BYTES: usize = 64;

/// A new entry and notes for the operator.
#[derive(Debug)]
pub(super) struct NewServer {
    /// The entry of the configuration file.
    pub(super) entry: Value,
    /// Notes to print.
    pub(super) notes: Vec<String>,
}

/// Where paths and programs are looked up.
pub(super) struct SearchPaths<'a> {
    /// The home directory, for `~`.
    pub(super) home: Option<PathBuf>,
    /// The value of `PATH`.
    pub(super) path: &'a std::ffi::OsStr,
    /// The name of the server, for notes.
    pub(super) server: &'a str,
}

impl NewServer {
    /// Validates the arguments and builds the entry.
    pub(super) fn parse(arguments: &AddArguments, paths: &SearchPaths<'_>) -> Result<Self> {
        check_name(&arguments.name)?;
        let (first, rest) = arguments.target.split_first().context("there is no command and no address")?;
        let is_url = first.starts_with("http://") || first.starts_with("https://");
        let transport =
            arguments.transport.unwrap_or(if is_url { Transport::Http } else { Transport::Stdio });
        let mut notes = Vec::new();
        let mut entry = Map::new();
        entry.insert("enabled".to_owned(), json!(true));
        if transport == Transport::Stdio {
            ensure!(!first.contains("://"), "`{first}` is an address, and `stdio` wants a command");
            ensure!(
                arguments.header.is_empty(),
                "headers go to addresses; a stdio server has none\nhint: `-e` gives it a variable"
            );
            entry.insert("command".to_owned(), json!(resolve_program(first, paths, &mut notes)?));
            if !rest.is_empty() {
                entry.insert("args".to_owned(), json!(rest));
            }
            notes.extend(rest.iter().filter_map(|word| relative_path_note(word)));
            add_variables(arguments, &mut entry)?;
            if let Some(isolation) = isolation(arguments)? {
                entry.insert("isolation".to_owned(), isolation);
            }
        } else {
            ensure!(
                is_url,
                "`{first}` is not an address; `{}` needs one that begins with `http://` or `https://`",
                transport.as_str()
            );
            ensure!(
                arguments.env.is_empty() && arguments.env_file.is_none(),
                "variables go to programs; an address has none\nhint: `-H` sends a header along"
            );
            ensure!(
                arguments.ro.is_empty()
                    && arguments.rw.is_empty()
                    && arguments.net.is_none()
                    && arguments.allow_host.is_empty(),
                "`--ro`, `--rw`, `--net` and `--allow-host` are for programs; an address has no cage"
            );
            ensure!(
                rest.is_empty(),
                "an address takes no arguments: `{}`\nhint: options stand before it",
                rest.join(" ")
            );
            ensure!(
                !first.chars().any(|c| c.is_control() || c.is_whitespace()),
                "`{first:?}` is not an address"
            );
            entry.insert("type".to_owned(), json!(transport.as_str()));
            entry.insert("url".to_owned(), json!(first));
            let headers =
                arguments.header.iter().map(|text| parse_header(text)).collect::<Result<Map<_, _>>>()?;
            if !headers.is_empty() {
                entry.insert("headers".to_owned(), Value::Object(headers));
            }
        }
        if arguments.deferred || arguments.no_deferred {
            entry.insert("deferred".to_owned(), json!(arguments.deferred));
        }
        Ok(Self { entry: Value::Object(entry), notes })
    }
}

fn add_variables(arguments: &AddArguments, entry: &mut Map<String, Value>) -> Result<()> {
    let variables = arguments.env.iter().map(|text| parse_variable(text)).collect::<Result<Map<_, _>>>()?;
    if !variables.is_empty() {
        entry.insert("env".to_owned(), Value::Object(variables));
    }
    if let Some(file) = &arguments.env_file {
        let full = std::path::absolute(file).context("`--env-file` wants a path")?;
        ensure!(full.is_file(), "there is no file `{}`", printable_path(&full));
        let text = full.to_str().with_context(|| format!("`{}` is not UTF-8 text", printable_path(&full)))?;
        entry.insert("env_file".to_owned(), json!(text));
    }
    Ok(())
}

fn check_name(name: &str) -> Result<()> {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let begins = name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    ensure!(
        begins && name.len() <= MAX_NAME_BYTES && name.bytes().all(is_allowed),
        "`{}` is not a valid server name\nhint: letters, digits, `-`, `_` and `.`, at most {MAX_NAME_BYTES}, a letter or digit first",
        name.escape_debug()
    );
    Ok(())
}

/// The program: a path is made absolute and must be executable, a name is looked up in `PATH`.
fn resolve_program(word: &str, paths: &SearchPaths<'_>, notes: &mut Vec<String>) -> Result<String> {
    ensure!(!word.trim().is_empty(), "there is no command");
    if !word.contains('/') && !word.starts_with('~') {
        let has_program = |dir: PathBuf| check_executable(&dir.join(word)).is_ok();
        if !std::env::split_paths(paths.path).any(has_program) {
            notes.push(format!("there is no program `{word}` on the search path now"));
        }
        if ["npx", "uvx"].contains(&word) {
            notes.push(format!(
                "in a cage without a network, `{word}` runs what `picoclaw mcp test {}` has fetched once",
                paths.server
            ));
        }
        if ["bunx", "pipx"].contains(&word) {
            notes.push(format!(
                "`{word}` fetches the server at every start, and the cage has no network unless `--allow-host` or `--net host` opens it; an installed server is faster and stays the same"
            ));
        }
        return Ok(word.to_owned());
    }
    let home = paths.home.as_deref();
    let expanded = word.strip_prefix("~/").and_then(|rest| Some(home?.join(rest)));
    let full = std::path::absolute(expanded.unwrap_or_else(|| PathBuf::from(word)))?;
    check_executable(&full)?;
    // A cage has no `..` to follow. The file name stays, since some programs depend on it.
    let has_parent_dir = full.components().any(|part| part == Component::ParentDir);
    let full = match (full.parent().map(Path::canonicalize), full.file_name()) {
        (Some(Ok(directory)), Some(name)) if has_parent_dir => directory.join(name),
        _ => full,
    };
    full.to_str().map(str::to_owned).with_context(|| format!("`{}` is not UTF-8 text", printable_path(&full)))
}

/// What the server's cage has besides: `--ro`, `--rw`, `--net` and `--allow-host`.
fn isolation(arguments: &AddArguments) -> Result<Option<Value>> {
    let mut isolation = Map::new();
    let mut exposures = Vec::new();
    for (paths, mode) in [(&arguments.ro, "ro"), (&arguments.rw, "rw")] {
        for path in paths {
            let Ok(full) = path.canonicalize() else { bail!("there is no file `{}`", printable_path(path)) };
            let full =
                full.to_str().with_context(|| format!("`{}` is not UTF-8 text", printable_path(&full)))?;
            exposures.push(json!({"source": full, "mode": mode}));
        }
    }
    if !exposures.is_empty() {
        isolation.insert("expose_paths".to_owned(), Value::Array(exposures));
    }
    let hosts = &arguments.allow_host;
    let network = if hosts.is_empty() {
        arguments.net.as_ref().map(|net| json!(net))
    } else {
        Some(json!({"allow": hosts}))
    };
    isolation.extend(network.map(|network| ("network".to_owned(), network)));
    Ok((!isolation.is_empty()).then_some(Value::Object(isolation)))
}

fn check_executable(path: &Path) -> Result<()> {
    let Ok(meta) = path.metadata() else { bail!("there is no file `{}`", printable_path(path)) };
    ensure!(meta.is_file(), "`{}` is not a file", printable_path(path));
    ensure!(
        platform::mode(&meta).is_none_or(|mode| mode & 0o111 != 0),
        "`{}` is not executable\nhint: `chmod +x` it, or name its interpreter",
        printable_path(path)
    );
    Ok(())
}

/// A note about a relative path, which the server would not find.
fn relative_path_note(word: &str) -> Option<String> {
    let path = Path::new(word);
    if path.is_absolute() || word.starts_with('-') || !path.exists() {
        return None;
    }
    let full = std::path::absolute(path).ok()?;
    Some(format!(
        "`{word}` is not in full, and the server works in a home of its own; `{}` would be found",
        printable_path(&full)
    ))
}

fn parse_variable(text: &str) -> Result<(String, Value)> {
    // The text may be a secret and is not shown.
    let (name, value) = text.split_once('=').context("a variable is given as `NAME=value`")?;
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let begins = name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    ensure!(begins && name.bytes().all(fits), "`{}` is not a valid variable name", name.escape_debug());
    ensure!(!value.contains('\0'), "the value of `{name}` holds a zero byte");
    Ok((name.to_owned(), json!(value)))
}

fn parse_header(text: &str) -> Result<(String, Value)> {
    let (name, value) = text.split_once([':', '=']).context("a header is given as `Name: value`")?;
    let (name, value) = (name.trim(), value.trim());
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    ensure!(
        !name.is_empty() && name.bytes().all(fits),
        "`{}` is not a valid header name",
        name.escape_debug()
    );
    ensure!(!value.chars().any(char::is_control), "the value of `{name}` holds a control character");
    Ok((name.to_owned(), json!(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        arguments: AddArguments,
    }

    fn drafted(line: &[&str]) -> Result<Value> {
        let typed = Typed::try_parse_from([&["add"], line].concat())?;
        let paths = SearchPaths {
            home: Some("/home/you".into()),
            path: std::ffi::OsStr::new("/bin:/usr/bin"),
            server: "a",
        };
        Ok(NewServer::parse(&typed.arguments, &paths)?.entry)
    }

    #[test]
    fn what_is_typed_becomes_an_entry() {
        for (why, line, want) in [
            ("a command", &["a", "sh"][..], json!({"enabled": true, "command": "sh"})),
            (
                "options of the command are its own",
                &["a", "npx", "-y", "-e", "--force", "x"],
                json!({"enabled": true, "command": "npx", "args": ["-y", "-e", "--force", "x"]}),
            ),
            (
                "behind two dashes",
                &["-e", "K=v=w", "a", "--", "sh", "-c", "true"],
                json!({"enabled": true, "command": "sh", "args": ["-c", "true"], "env": {"K": "v=w"}}),
            ),
            (
                "options behind the name",
                &["a", "--deferred", "-e", "K=", "/bin/sh"],
                json!({"enabled": true, "command": "/bin/sh", "env": {"K": ""}, "deferred": true}),
            ),
            (
                "a way up is gone",
                &["a", "/usr/share/../bin/env"],
                json!({"enabled": true, "command": "/usr/bin/env"}),
            ),
            (
                "what it sees besides, and its network",
                &["a", "--ro", "/usr", "--rw=/usr/../tmp", "--net", "none", "sh"],
                json!({"enabled": true, "command": "sh", "isolation": {
                    "expose_paths": [{"source": "/usr", "mode": "ro"}, {"source": "/tmp", "mode": "rw"}],
                    "network": "none"
                }}),
            ),
            (
                "the hosts that it reaches",
                &["a", "--allow-host", "api.example.com", "--allow-host=localhost:80", "sh"],
                json!({"enabled": true, "command": "sh", "isolation": {
                    "network": {"allow": ["api.example.com", "localhost:80"]}
                }}),
            ),
            (
                "an address",
                &["a", "https://h/mcp"],
                json!({"enabled": true, "type": "http", "url": "https://h/mcp"}),
            ),
            (
                "headers of both spellings",
                &["-t", "sse", "-H", "Authorization: Bearer a=b", "-H", "X-Key=k:1", "a", "http://h"],
                json!({"enabled": true, "type": "sse", "url": "http://h", "headers": {"Authorization": "Bearer a=b", "X-Key": "k:1"}}),
            ),
            (
                "the last word on deferral counts",
                &["--deferred", "--no-deferred", "a", "-t", "streamable-http", "http://h"],
                json!({"enabled": true, "type": "streamable-http", "url": "http://h", "deferred": false}),
            ),
        ] {
            assert_eq!(drafted(line).unwrap(), want, "{why}");
        }
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for (why, line, says) in [
            ("variables for an address", &["-e", "A=b", "a", "http://h"][..], "variables go to programs"),
            ("a file of them for an address", &["--env-file", "/etc/hosts", "a", "http://h"], "variables go"),
            ("a cage for an address", &["--net", "host", "a", "http://h"], "an address has no cage"),
            ("a path that is not there", &["--ro", "/nonexistent", "a", "sh"], "there is no file"),
            ("headers for a program", &["-H", "A: b", "a", "sh"], "headers go to addresses"),
            ("an address for stdio", &["-t", "stdio", "a", "https://h"], "is an address"),
            ("a command for http", &["-t", "http", "a", "sh"], "is not an address"),
            ("another scheme", &["-t", "http", "a", "ftp://h"], "is not an address"),
            ("another scheme without a transport", &["a", "ws://h"], "is an address"),
            ("options behind an address", &["a", "https://h", "-H", "A: b"], "takes no arguments"),
            ("a path that is not there", &["a", "/nonexistent/server"], "there is no file"),
            ("a directory", &["a", "/etc/"], "not a file"),
            ("a file that cannot be run", &["a", "/etc/passwd"], "not executable"),
            ("an env file that is not there", &["--env-file", "/nonexistent", "a", "sh"], "there is no file"),
            ("a name with a way up", &["../a", "sh"], "is not a valid server name"),
            ("a name with a space", &["a b", "sh"], "is not a valid server name"),
            ("no name", &["", "sh"], "is not a valid server name"),
            ("no variable", &["-e", "secret-without-name", "a", "sh"], "given as `NAME=value`"),
            ("a bad variable", &["-e", "1A=b", "a", "sh"], "is not a valid variable name"),
            ("a header of two lines", &["-H", "A: b\r\nC: d", "a", "http://h"], "control character"),
            ("a bad header", &["-H", "A b: c", "a", "http://h"], "is not a valid header name"),
            ("an unknown transport", &["-t", "carrier-pigeon", "a", "sh"], "invalid value"),
            ("no command", &["a"], "required"),
        ] {
            let said = format!("{:#}", drafted(line).unwrap_err());
            assert!(said.contains(says), "{why}: {said}");
            assert!(!said.contains("secret-without-name"), "{why}: what may be a secret is not told");
        }
    }
}
