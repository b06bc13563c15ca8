//! Environment variables of keys.
//!
//! Every scalar and list key has exactly one regular variable: `PICOCLAW_` and its path in
//! capitals.

use super::key::{Key, KeySupport, Shape};
use super::root::ROOT;

/// The prefix of every variable.
pub(crate) const PREFIX: &str = "PICOCLAW_";

/// Variables that other parts of the program, or other programs, read.
const ELSEWHERE: &[&str] = &[
    "PICOCLAW_HOME",
    "PICOCLAW_CONFIG",
    "PICOCLAW_LOG_FILE",
    "PICOCLAW_LOG_FORMAT",
    "PICOCLAW_KEY_PASSPHRASE",
    "PICOCLAW_SSH_KEY_PATH",
    "PICOCLAW_BINARY",
    "PICOCLAW_BUILTIN_SKILLS",
    "PICOCLAW_DNS_SERVER",
    "PICOCLAW_MCP_TOKEN",
    "PICOCLAW_VERSION",
];

/// Prefixes of irregular variables of the original that set nothing here.
const FOREIGN: &[(&str, &str)] = &[
    ("PICOCLAW_CHANNELS_", "chat channels"),
    ("PICOCLAW_SKILLS_", "skill registries"),
    ("PICOCLAW_MEDIA_CLEANUP_", "media of chat channels"),
];

/// Irregular names of the original for keys that have a regular one.
const IRREGULAR: &[(&str, &str)] = &[
    ("PICOCLAW_MAX_SEARCH_RESULTS", "PICOCLAW_TOOLS_MCP_DISCOVERY_MAX_SEARCH_RESULTS"),
    ("PICOCLAW_TOOLS_DISCOVERY_ENABLED", "PICOCLAW_TOOLS_MCP_DISCOVERY_ENABLED"),
    ("PICOCLAW_TOOLS_DISCOVERY_TTL", "PICOCLAW_TOOLS_MCP_DISCOVERY_TTL"),
    ("PICOCLAW_TOOLS_DISCOVERY_USE_BM25", "PICOCLAW_TOOLS_MCP_DISCOVERY_USE_BM25"),
    ("PICOCLAW_TOOLS_DISCOVERY_USE_REGEX", "PICOCLAW_TOOLS_MCP_DISCOVERY_USE_REGEX"),
];

/// What a variable means.
pub(crate) enum Variable {
    /// It sets this key.
    Sets(Vec<String>, &'static Key),
    /// It sets a key of the original that is not supported here.
    Foreign(&'static str),
    /// Another part of the program reads it.
    Elsewhere,
    /// It is unknown.
    Unknown,
}

/// The meaning of the variable `name`.
pub(crate) fn find_variable(name: &str) -> Variable {
    // The original's launcher has its own settings.
    if ELSEWHERE.contains(&name) || name.starts_with("PICOCLAW_LAUNCHER_") {
        return Variable::Elsewhere;
    }
    let name =
        IRREGULAR.iter().find(|(irregular, _)| *irregular == name).map_or(name, |(_, regular)| regular);
    let Some(rest) = name.strip_prefix(PREFIX) else { return Variable::Elsewhere };
    if let Some(found) = find_in_keys(ROOT, name, rest, &mut Vec::new()) {
        return found;
    }
    FOREIGN
        .iter()
        .find(|(beginning, _)| name.starts_with(beginning))
        .map_or(Variable::Unknown, |(_, what)| Variable::Foreign(what))
}

fn find_in_keys(keys: &'static [Key], whole: &str, rest: &str, path: &mut Vec<String>) -> Option<Variable> {
    for key in keys.iter().filter(|key| is_settable(key)) {
        path.push(key.name.to_owned());
        if key.variable == Some(whole) {
            return Some(Variable::Sets(std::mem::take(path), key));
        }
        for spelling in std::iter::once(&key.name).chain(key.aliases.names()) {
            let Some(tail) = strip_name(rest, spelling) else { continue };
            let found = match (&key.shape, &key.serving) {
                (_, KeySupport::Foreign) if tail.is_empty() || tail.starts_with('_') => {
                    Some(Variable::Foreign(key.doc))
                }
                (Shape::Section(inner), _) => {
                    tail.strip_prefix('_').and_then(|tail| find_in_keys(inner, whole, tail, path))
                }
                (Shape::Map(Shape::Section(inner)), _) if !tail.is_empty() => find_in_map(inner, tail, path),
                _ if tail.is_empty() => Some(Variable::Sets(std::mem::take(path), key)),
                _ => None,
            };
            if found.is_some() {
                return found;
            }
        }
        // The one variable that does not begin with its section.
        if let Shape::Section(inner) = &key.shape
            && inner.iter().any(|inner| inner.variable == Some(whole))
        {
            return find_in_keys(inner, whole, "", path);
        }
        path.pop();
    }
    None
}

/// `_OPENAI_API_KEY`: a user-defined name, then a key.
fn find_in_map(keys: &'static [Key], tail: &str, path: &mut Vec<String>) -> Option<Variable> {
    let tail = tail.strip_prefix('_')?;
    let (key, name) = keys.iter().find_map(|key| {
        let name = tail.strip_suffix(&key.name.to_ascii_uppercase())?.strip_suffix('_')?;
        (!name.is_empty() && key.serving == KeySupport::Served).then_some((key, name))
    })?;
    path.extend([name.to_ascii_lowercase(), key.name.to_owned()]);
    Some(Variable::Sets(std::mem::take(path), key))
}

/// The rest after the key's name in capitals.
fn strip_name<'a>(rest: &'a str, name: &str) -> Option<&'a str> {
    let (head, tail) = rest.split_at_checked(name.len())?;
    head.bytes().zip(name.bytes()).all(|(a, b)| a == b.to_ascii_uppercase()).then_some(tail)
}

/// `version` and `$schema` describe the file, so no variable sets them.
fn is_settable(key: &Key) -> bool {
    !matches!(key.name, "version" | "$schema")
}

/// The names of all variables that set a key.
pub(crate) fn all_variables() -> Vec<String> {
    let mut names: Vec<String> = ELSEWHERE.iter().map(|name| (*name).to_owned()).collect();
    collect_names(ROOT, "PICOCLAW", &mut names);
    names
}

fn collect_names(keys: &[Key], prefix: &str, names: &mut Vec<String>) {
    for key in keys.iter().filter(|key| key.serving == KeySupport::Served && is_settable(key)) {
        let name = format!("{prefix}_{}", key.name.to_ascii_uppercase());
        names.extend(key.variable.map(str::to_owned));
        match &key.shape {
            Shape::Section(inner) => collect_names(inner, &name, names),
            _ => names.push(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn sets(name: &str) -> Option<String> {
        if let Variable::Sets(path, _) = find_variable(name) { Some(path.join(".")) } else { None }
    }

    #[test]
    fn every_scalar_and_list_key_has_a_variable_and_no_two_share_one() {
        let names = all_variables();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "a name stands for two keys");
        for name in names.iter().filter(|name| !ELSEWHERE.contains(&name.as_str())) {
            let path = sets(name).unwrap_or_else(|| panic!("`{name}` sets nothing"));
            if name != "PICOCLAW_LOG_LEVEL" {
                assert_eq!(format!("PICOCLAW_{}", path.replace('.', "_").to_ascii_uppercase()), *name);
            }
        }
    }

    #[test]
    fn a_variable_names_its_key() {
        for (why, name, want) in [
            (
                "the documented one",
                "PICOCLAW_AGENTS_DEFAULTS_RESTRICT_TO_WORKSPACE",
                Some("agents.defaults.restrict_to_workspace"),
            ),
            ("a list", "PICOCLAW_TOOLS_EXEC_CUSTOM_DENY_PATTERNS", Some("tools.exec.custom_deny_patterns")),
            ("one the original leaves out", "PICOCLAW_ISOLATION_ENABLED", Some("isolation.enabled")),
            ("deep", "PICOCLAW_ISOLATION_LIMITS_MEMORY_MB", Some("isolation.limits.memory_mb")),
            (
                "a key whose section holds another's name",
                "PICOCLAW_TOOLS_WEB_FETCH_ENABLED",
                Some("tools.web_fetch.enabled"),
            ),
            ("its neighbour", "PICOCLAW_TOOLS_WEB_FETCH_LIMIT_BYTES", Some("tools.web.fetch_limit_bytes")),
            (
                "read_file has one here",
                "PICOCLAW_TOOLS_READ_FILE_MAX_READ_FILE_SIZE",
                Some("tools.read_file.max_read_file_size"),
            ),
            ("the short one", "PICOCLAW_LOG_LEVEL", Some("gateway.log_level")),
            ("and the regular one", "PICOCLAW_GATEWAY_LOG_LEVEL", Some("gateway.log_level")),
            ("the token", "PICOCLAW_GATEWAY_TOKEN", Some("gateway.token")),
            ("an older spelling", "PICOCLAW_AGENTS_DEFAULTS_MODEL", Some("agents.defaults.model_name")),
            ("an irregular name", "PICOCLAW_TOOLS_DISCOVERY_TTL", Some("tools.mcp.discovery.ttl")),
            ("a list of objects", "PICOCLAW_ISOLATION_EXPOSE_PATHS", Some("isolation.expose_paths")),
            ("a provider's key", "PICOCLAW_PROVIDERS_OPENAI_API_KEY", Some("providers.openai.api_key")),
            ("a misspelling", "PICOCLAW_AGENTS_DEFAULTS_RESTRICT_TO_WORKSPCE", None),
            ("a section is no value", "PICOCLAW_AGENTS_DEFAULTS", None),
            ("what packagers set", "PICOCLAW_VERSION", None),
        ] {
            assert_eq!(sets(name).as_deref(), want, "{why}: `{name}`");
        }
    }

    #[test]
    fn variables_of_the_original_are_known_for_what_they_are() {
        for name in [
            "PICOCLAW_CHANNELS_TELEGRAM_TOKEN",
            "PICOCLAW_TOOLS_WEB_BRAVE_API_KEYS",
            "PICOCLAW_TOOLS_WEB_GLM_API_KEY",
            "PICOCLAW_VOICE_ELEVENLABS_API_KEY",
            "PICOCLAW_DEVICES_ENABLED",
            "PICOCLAW_TOOLS_I2C_ENABLED",
            "PICOCLAW_EVENTS_LOGGING_ENABLED",
            "PICOCLAW_TOOLS_FILTER_MIN_LENGTH",
            "PICOCLAW_SKILLS_REGISTRIES_CLAWHUB_BASE_URL",
        ] {
            assert!(matches!(find_variable(name), Variable::Foreign(_)), "`{name}`");
        }
    }
}
