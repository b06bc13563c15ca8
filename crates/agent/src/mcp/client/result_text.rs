//! A tool result as text for the model. Content that is not text is described and omitted.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// In place of an unknown kind of content.
const UNKNOWN_CONTENT: &str = "[content of a kind that is not known here]";

/// The result as text.
pub(super) fn result_text(result: &CallToolResult) -> String {
    let parts: Vec<String> = result.content.iter().map(block_text).collect();
    if parts.is_empty() {
        return result.structured_content.as_ref().map(ToString::to_string).unwrap_or_default();
    }
    parts.join("\n")
}

fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => omitted("image", &image.mime_type, image.data.len()),
        ContentBlock::Audio(audio) => omitted("audio", &audio.mime_type, audio.data.len()),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[resource {uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.as_deref().unwrap_or("application/octet-stream");
                format!("[resource {uri}] {}", omitted("data", kind, blob.len()))
            }
            _ => UNKNOWN_CONTENT.to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[resource {}] {}", link.uri, link.name),
        _ => UNKNOWN_CONTENT.to_owned(),
    }
}

fn omitted(what: &str, kind: &str, encoded: usize) -> String {
    format!("[{what} left out: {kind}, about {} bytes]", encoded / 4 * 3)
}
