//! Edits `tools.mcp`, `model_list` and `providers` in the text of a configuration, with its
//! comments and layout preserved.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use picoclaw_policy::config::ModelConfig;
use serde_json::{Value, json};

/// Some editors write it.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A change to the MCP servers of a configuration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum McpChange<'c> {
    /// Adds or replaces a server, and enables MCP.
    Put {
        /// Its name.
        name: &'c str,
        /// Its entry.
        entry: &'c Value,
    },
    /// Removes a server.
    Take {
        /// Its name.
        name: &'c str,
        /// Whether other servers remain.
        then: AfterRemoval,
    },
}

/// What happens to MCP when a server is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterRemoval {
    /// Other servers remain.
    Stays,
    /// It was the last one: MCP is disabled.
    Off,
}

impl McpChange<'_> {
    /// The server's name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Put { name, .. } | Self::Take { name, .. } => name,
        }
    }
}

/// Why a text cannot be changed in place.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    /// It does not parse.
    #[error("the configuration cannot be changed in place: {0}")]
    Unreadable(String),
    /// A value is not an object.
    #[error("`{0}` is not an object")]
    NoObject(&'static str),
    /// A value is not a list.
    #[error("`{0}` is not a list")]
    NoList(&'static str),
    /// The file has no such server.
    #[error("the configuration file has no server `{0}`")]
    Unknown(String),
}

/// `text` with `entry` as the first of `model_list`.
pub(super) fn with_model(text: &str, entry: &Value) -> Result<String, ChangeError> {
    edit(text, |whole| {
        let list = whole.array_value_or_create("model_list").ok_or(ChangeError::NoList("model_list"))?;
        list.insert(0, to_cst_input(entry));
        Ok(())
    })
}

/// Keys by the name of their model.
pub(super) type ModelKeys = Vec<(String, Vec<String>)>;

/// `text` with `isolation.enabled` named, if a value is given, with these providers as entries of
/// `model_list`, and without the keys of models, which are returned. References and models that
/// share a name stay.
pub(super) fn migrated(
    text: &str,
    isolation: Option<bool>,
    providers: &[ModelConfig],
) -> Result<(String, ModelKeys), ChangeError> {
    let mut keys = ModelKeys::new();
    let text = edit(text, |whole| {
        if let Some(enabled) = isolation {
            let section = object_at(whole, "isolation", "isolation")?;
            set_property(&section, "enabled", CstInputValue::Bool(enabled));
        }
        providers.iter().try_for_each(|model| move_provider(whole, model))?;
        if !providers.is_empty() {
            remove_unused_providers(whole);
        }
        keys = take_model_keys(whole);
        Ok(())
    })?;
    Ok((text, keys))
}

/// Makes the provider that `model` was read from an entry of `model_list`, which has all of its
/// keys.
fn move_provider(whole: &CstObject, model: &ModelConfig) -> Result<(), ChangeError> {
    let providers = object_at(whole, "providers", "providers")?;
    let Some(provider) = providers.get(&model.name) else { return Ok(()) };
    let mut entry = json!({"model_name": model.name, "model": model.model, "provider": model.provider});
    if let (Some(entry), Some(Value::Object(given))) =
        (entry.as_object_mut(), provider.value().and_then(|value| value.to_serde_value()))
    {
        entry.extend(given.into_iter().filter(|(_, value)| !is_blank(value)));
    }
    let list = whole.array_value_or_create("model_list").ok_or(ChangeError::NoList("model_list"))?;
    list.append(to_cst_input(&entry));
    provider.remove();
    Ok(())
}

/// Removes the providers that say nothing, as files of that time list them all.
fn remove_unused_providers(whole: &CstObject) {
    let Some(section) = whole.get("providers") else { return };
    let Some(providers) = section.object_value() else { return };
    for provider in providers.properties() {
        let value = provider.value().and_then(|value| value.to_serde_value());
        if matches!(&value, Some(Value::Object(given)) if given.values().all(is_blank)) {
            provider.remove();
        }
    }
    if providers.properties().is_empty() {
        section.remove();
    }
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(is_blank),
        _ => false,
    }
}

fn take_model_keys(whole: &CstObject) -> ModelKeys {
    let models: Vec<CstObject> = whole
        .array_value("model_list")
        .map(|list| list.elements().iter().filter_map(|element| element.as_object()).collect())
        .unwrap_or_default();
    let value =
        |model: &CstObject, key: &str| model.get(key).and_then(|property| property.value()?.to_serde_value());
    let name =
        |model: &CstObject| value(model, "model_name").and_then(|name| Some(name.as_str()?.to_owned()));
    let names: Vec<_> = models.iter().map(name).collect();
    let mut taken = ModelKeys::new();
    for (model, own) in models.iter().zip(&names) {
        let Some(own) =
            own.as_ref().filter(|own| names.iter().flatten().filter(|name| name == own).count() == 1)
        else {
            continue;
        };
        let mut found = Vec::new();
        for key in ["api_key", "api_keys"] {
            match value(model, key) {
                Some(Value::String(text)) => found.push(text),
                Some(Value::Array(items)) => {
                    found.extend(items.iter().filter_map(|item| Some(item.as_str()?.to_owned())))
                }
                _ => {}
            }
        }
        found.retain(|key| !key.trim().is_empty());
        // One key is moved; a list keeps its order in one file.
        if found.len() != 1 || found.iter().any(|key| key.contains("://")) {
            continue;
        }
        for key in ["api_key", "api_keys"] {
            if let Some(property) = model.get(key) {
                property.remove();
            }
        }
        taken.push((own.clone(), found));
    }
    taken
}

/// `text` with the change applied.
pub(super) fn apply(text: &str, change: &McpChange<'_>) -> Result<String, ChangeError> {
    edit(text, |whole| change_servers(whole, change))
}

fn edit(
    text: &str,
    change: impl FnOnce(&CstObject) -> Result<(), ChangeError>,
) -> Result<String, ChangeError> {
    let (mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => (BYTE_ORDER_MARK.to_string(), rest),
        None => (String::new(), text),
    };
    let root = CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|why| ChangeError::Unreadable(why.to_string()))?;
    let whole = root.object_value_or_create().ok_or(ChangeError::NoObject("the configuration"))?;
    change(&whole)?;
    let changed = root.to_string();
    let end = if changed.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{mark}{changed}{end}"))
}

fn change_servers(whole: &CstObject, change: &McpChange<'_>) -> Result<(), ChangeError> {
    let tools = object_at(whole, "tools", "tools")?;
    let mcp = object_at(&tools, "mcp", "tools.mcp")?;
    match change {
        McpChange::Put { name, entry } => {
            set_property(&mcp, "enabled", CstInputValue::Bool(true));
            set_property(&object_at(&mcp, "servers", "tools.mcp.servers")?, name, to_cst_input(entry));
        }
        McpChange::Take { name, then } => {
            let servers = object_at(&mcp, "servers", "tools.mcp.servers")?;
            let entry = servers.get(name).ok_or_else(|| ChangeError::Unknown((*name).to_owned()))?;
            entry.remove();
            if *then == AfterRemoval::Off {
                set_property(&mcp, "enabled", CstInputValue::Bool(false));
            }
        }
    }
    Ok(())
}

fn object_at(object: &CstObject, key: &str, path: &'static str) -> Result<CstObject, ChangeError> {
    object.object_value_or_create(key).ok_or(ChangeError::NoObject(path))
}

fn set_property(object: &CstObject, key: &str, value: CstInputValue) {
    match object.get(key) {
        Some(property) => property.set_value(value),
        None => {
            object.append(key, value);
        }
    }
}

fn to_cst_input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(to_cst_input).collect()),
        Value::Object(members) => CstInputValue::Object(
            members.iter().map(|(key, value)| (key.clone(), to_cst_input(value))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_leaves_comments_and_layout_as_they_are() {
        let entry = json!({"enabled": true, "command": "npx", "args": ["-y", "it"]});
        let put = McpChange::Put { name: "it", entry: &entry };
        let text = "{\n  // mine\n  \"version\": 3, /* kept */\n\n  \"tools\": {\n    \"mcp\": {\n      // off for now\n      \"enabled\": false,\n      \"servers\": {\n        \"a\": {\"enabled\": true, \"command\": \"x\"}, // the first\n      },\n    },\n  },\n}\n";
        let with = apply(text, &put).unwrap();
        for kept in [
            "// mine",
            "/* kept */",
            "// off for now",
            "// the first",
            "\"a\": {\"enabled\": true, \"command\": \"x\"}",
        ] {
            assert!(with.contains(kept), "`{kept}` in {with}");
        }
        assert!(with.contains("\"enabled\": true,\n      \"servers\""), "{with}");
        assert!(with.contains("        \"it\": {\n          \"enabled\": true,"), "{with}");
        let without = apply(&with, &McpChange::Take { name: "it", then: AfterRemoval::Stays }).unwrap();
        assert_eq!(without, text.replace("\"enabled\": false", "\"enabled\": true"), "there and back");
    }

    #[test]
    fn whatever_is_there_becomes_a_configuration_with_the_server() {
        let hostile = "a \"quote\", a \\, a \n line, \u{1b}[31m, \u{202e} and \u{e9}";
        let entry = json!({"enabled": true, "command": hostile});
        for (why, text) in [
            ("nothing", ""),
            ("an empty object", "{}"),
            ("a comment alone", "// later\n"),
            ("lines of another system", "{\r\n  \"version\": 3\r\n}\r\n"),
            ("a byte order mark", "\u{feff}{\"tools\": {}}"),
            ("on one line", "{\"tools\": {\"mcp\": {\"servers\": {}}}}"),
        ] {
            let with = apply(text, &McpChange::Put { name: "it", entry: &entry }).unwrap();
            let plain: Value = jsonc_value(&with);
            assert_eq!(plain["tools"]["mcp"]["servers"]["it"], entry, "{why}: {with}");
            assert_eq!(plain["tools"]["mcp"]["enabled"], true, "{why}: {with}");
            assert_eq!(with.starts_with(BYTE_ORDER_MARK), text.starts_with(BYTE_ORDER_MARK), "{why}");
        }
    }

    #[test]
    fn what_cannot_be_changed_in_place_is_an_error() {
        let entry = json!({});
        for (why, text) in [
            ("a list", "[]"),
            ("a list within", "{\"tools\": []}"),
            ("a text within", "{\"tools\": {\"mcp\": {\"servers\": \"none\"}}}"),
            ("half a file", "{\"tools\": {"),
        ] {
            assert!(apply(text, &McpChange::Put { name: "it", entry: &entry }).is_err(), "{why}");
        }
        let take = McpChange::Take { name: "it", then: AfterRemoval::Off };
        assert!(matches!(apply("{}", &take), Err(ChangeError::Unknown(_))));
    }

    /// Removes comments, for a parser without them.
    fn jsonc_value(text: &str) -> Value {
        let text = text.trim_start_matches(BYTE_ORDER_MARK);
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        serde_json::from_str(&lines.collect::<Vec<_>>().join("\n"))
            .unwrap_or_else(|why| panic!("{why}: {text}"))
    }
}
