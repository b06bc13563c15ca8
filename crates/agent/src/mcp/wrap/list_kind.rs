//! The lists of a server that are pinned, and which members of them are passed on.

use crate::mcp::pins::{ListError, ToolList};
use serde_json::{Map, Value, json};

/// The member of `_meta` that names the server.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Members of a server's description of itself that are passed on.
const SERVER_INFO_MEMBERS: [&str; 4] = ["name", "title", "version", "websiteUrl"];

/// Members of a list's result that are passed on besides the list. No model reads them.
const RESULT_MEMBERS: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];

/// Members of the answer to a handshake that are passed on besides the instructions.
const HANDSHAKE_MEMBERS: [&str; 7] = [
    "protocolVersion",
    "supportedVersions",
    "capabilities",
    "serverInfo",
    "resultType",
    "ttlMs",
    "cacheScope",
];

/// A list that is pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    Tools,
    Prompts,
    ResourceTemplates,
}

impl ListKind {
    pub(super) const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::ResourceTemplates];

    /// The method that lists them.
    pub(super) fn list_method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::ResourceTemplates => "resources/templates/list",
        }
    }

    /// The method that uses one of them, by its name.
    pub(super) fn use_method(self) -> Option<&'static str> {
        match self {
            Self::Tools => Some("tools/call"),
            Self::Prompts => Some("prompts/get"),
            Self::ResourceTemplates => None,
        }
    }

    /// The notification that they have changed.
    pub(super) fn changed_method(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::ResourceTemplates => "notifications/resources/list_changed",
        }
    }

    /// The member of the result that is the list.
    pub(super) fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::ResourceTemplates => "resourceTemplates",
        }
    }

    /// What messages call them.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::ResourceTemplates => "resource templates",
        }
    }

    /// The part of the pin; tools are the pin itself.
    pub(super) fn section(self) -> Option<&'static str> {
        match self {
            Self::Tools => None,
            Self::Prompts => Some("prompts"),
            Self::ResourceTemplates => Some("resource-templates"),
        }
    }

    fn item_members(self) -> &'static [&'static str] {
        match self {
            Self::Tools => &[
                "name",
                "title",
                "description",
                "inputSchema",
                "outputSchema",
                "annotations",
                "icons",
                "execution",
                "_meta",
            ],
            Self::Prompts => &["name", "title", "description", "arguments", "icons", "_meta"],
            Self::ResourceTemplates => {
                &["uriTemplate", "name", "title", "description", "mimeType", "annotations", "icons", "_meta"]
            }
        }
    }

    /// The list as it is pinned, with every member that the server sent.
    pub(super) fn pinned(self, items: Vec<Value>) -> Result<ToolList, ListError> {
        match self {
            Self::Tools | Self::Prompts => ToolList::new(items),
            // Templates may share a name.
            Self::ResourceTemplates => {
                let by_uri = |item: Value| json!({"name": item["uriTemplate"], "template": item});
                ToolList::new(items.into_iter().map(by_uri).collect())
            }
        }
    }

    /// The items as the host sees them: the members that the protocol has.
    pub(super) fn shown(self, list: &ToolList) -> Vec<Value> {
        let items = list.tools().iter().map(|item| match self {
            Self::Tools | Self::Prompts => item,
            Self::ResourceTemplates => &item["template"],
        });
        items.map(|item| Value::Object(only(item.as_object(), self.item_members()))).collect()
    }
}

/// The members of a list's result that are passed on besides the list.
pub(super) fn list_members(result: &Map<String, Value>) -> Map<String, Value> {
    let mut members = only(Some(result), &RESULT_MEMBERS);
    members.extend(server_meta(result));
    members
}

/// The members of the answer to a handshake that are passed on besides the instructions.
pub(super) fn handshake_members(result: &Map<String, Value>) -> Map<String, Value> {
    let mut members = only(Some(result), &HANDSHAKE_MEMBERS);
    if let Some(info) = members.get_mut("serverInfo") {
        *info = Value::Object(only(info.as_object(), &SERVER_INFO_MEMBERS));
    }
    members.extend(server_meta(result));
    members
}

/// `_meta` with the name of the server alone, which revisions without a handshake have there.
fn server_meta(result: &Map<String, Value>) -> Option<(String, Value)> {
    let info = result.get("_meta")?.get(SERVER_INFO)?.as_object();
    Some(("_meta".to_owned(), json!({SERVER_INFO: only(info, &SERVER_INFO_MEMBERS)})))
}

fn only(object: Option<&Map<String, Value>>, members: &[&str]) -> Map<String, Value> {
    let known = object.into_iter().flatten().filter(|(name, _)| members.contains(&name.as_str()));
    known.map(|(name, value)| (name.clone(), value.clone())).collect()
}
