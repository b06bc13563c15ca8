//! What a server's tool answered, as text for the model.
//!
//! Invariant: bounded; what is not text is named and left out.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// What stands for something that this program does not know.
const UNKNOWN: &str = "[content of a kind that is not known here]";

/// The whole answer as text.
pub(super) fn text_of(result: &CallToolResult) -> String {
    let parts: Vec<String> = result.content.iter().map(part).collect();
    if parts.is_empty() {
        return result.structured_content.as_ref().map(ToString::to_string).unwrap_or_default();
    }
    parts.join("\n")
}

fn part(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => left_out("image", &image.mime_type, image.data.len()),
        ContentBlock::Audio(audio) => left_out("audio", &audio.mime_type, audio.data.len()),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[resource {uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.as_deref().unwrap_or("application/octet-stream");
                format!("[resource {uri}] {}", left_out("data", kind, blob.len()))
            }
            _ => UNKNOWN.to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[resource {}] {}", link.uri, link.name),
        _ => UNKNOWN.to_owned(),
    }
}

fn left_out(what: &str, kind: &str, encoded: usize) -> String {
    format!("[{what} left out: {kind}, about {} bytes]", encoded / 4 * 3)
}

/// The beginning of a text, cut between characters.
pub(super) fn head(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}
