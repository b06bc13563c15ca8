//! Roots: the part of the workspace that a client wants to work in. They only narrow what is
//! allowed.
//!
//! A root outside the workspace is ignored; a root that contains the workspace has no effect. Roots
//! apply to the file tools and to the directory in which a command starts, not to what the command
//! then does inside the workspace.

use picoclaw_policy::{CleanPath, Code, Layer, Refusal, Subject, Zones};
use picoclaw_sandbox::warden::Warden;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Further roots are ignored, which only narrows.
const MAX_ROOTS: usize = 64;

/// Directories relative to the workspace; empty when it is not narrowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Roots(Vec<PathBuf>);

impl Roots {
    /// The roots among these URIs that narrow the workspace of `zones`.
    pub(super) fn parse<'u>(uris: impl IntoIterator<Item = &'u str>, zones: &Zones) -> Self {
        let mut within = Vec::new();
        for path in uris.into_iter().take(MAX_ROOTS).filter_map(local_path) {
            let Some(path) = CleanPath::absolute(&path) else { continue };
            if zones.workspace.iter().any(|workspace| workspace.below(&path).is_some()) {
                return Self::default();
            }
            within.extend(zones.in_workspace(&path).map(Path::to_owned));
        }
        Self(within)
    }

    /// The refusal of a path in the workspace but outside the roots.
    pub(super) fn check_path(&self, path: &str, warden: &Warden, subject: &Subject) -> Option<Refusal> {
        if self.0.is_empty() {
            return None;
        }
        // An invalid path, or one outside the workspace, is left to the policy.
        let absolute = warden.files().absolute(Path::new(path), subject)?.ok()?;
        let zones = &warden.policy().agents.get(&subject.agent)?.zones;
        let relative = zones.in_workspace(&absolute)?;
        let is_within = self.0.iter().any(|root| relative.starts_with(root));
        (!is_within).then(|| self.refusal())
    }

    /// The refusal of a call outside the roots. A command without a directory starts in the first
    /// root.
    pub(super) fn check_call(
        &self,
        tool: &str,
        arguments: &mut Value,
        warden: &Warden,
        subject: &Subject,
    ) -> Option<Refusal> {
        let first = self.0.first()?;
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        if tool != "exec" {
            return self.check_path(&text("path"), warden, subject);
        }
        if !matches!(text("action").as_str(), "" | "run") {
            return None;
        }
        let cwd = if text("cwd").is_empty() { text("working_dir") } else { text("cwd") };
        if cwd.is_empty() {
            if let Some(arguments) = arguments.as_object_mut() {
                arguments.insert("cwd".to_owned(), json!(first.to_string_lossy()));
            }
            return None;
        }
        self.check_path(&cwd, warden, subject)
    }

    /// The roots as text, relative to the workspace.
    pub(super) fn names(&self) -> Vec<String> {
        self.0.iter().map(|root| root.to_string_lossy().into_owned()).collect()
    }

    fn refusal(&self) -> Refusal {
        let names: Vec<_> = self.names().iter().map(|name| format!("`{name}`")).collect();
        Refusal {
            code: Code::OutsideWorkspace,
            sentence: "access denied: path is outside the workspace".to_owned(),
            rule: "roots".to_owned(),
            layer: Layer::Registry,
            hint: format!("the client narrowed the workspace to its roots: {}", names.join(", ")),
        }
    }
}

/// The local path of a `file:` URI.
fn local_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    path.starts_with('/').then(|| percent_decode(path)).flatten().map(PathBuf::from)
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                u8::try_from(high * 16 + low).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use picoclaw_policy::Protected;

    #[test]
    fn roots_only_narrow() {
        let clean = |path: &str| CleanPath::absolute(Path::new(path)).unwrap();
        let zones =
            Zones { workspace: vec![clean("/srv/ws"), clean("/data/ws")], protected: Protected::default() };
        for (why, uris, want) in [
            ("none", vec![], vec![]),
            ("one inside", vec!["file:///srv/ws/a"], vec!["a"]),
            ("under its other name", vec!["file:///data/ws/a/b"], vec!["a/b"]),
            ("outside opens nothing", vec!["file:///etc", "file:///srv/ws2"], vec![]),
            ("outside beside inside", vec!["file:///etc", "file:///srv/ws/a"], vec!["a"]),
            ("around it changes nothing", vec!["file:///srv/ws/a", "file:///srv"], vec![]),
            ("the workspace itself", vec!["file:///srv/ws"], vec![]),
            ("dots", vec!["file:///srv/ws/a/../../../etc"], vec![]),
            ("percent signs", vec!["file:///srv/ws/a%20b"], vec!["a b"]),
            ("a broken escape", vec!["file:///srv/ws/a%2"], vec![]),
            ("another scheme", vec!["https://srv/ws/a"], vec![]),
            ("another machine", vec!["file://host/srv/ws/a"], vec![]),
        ] {
            let want: Vec<_> = want.into_iter().map(PathBuf::from).collect();
            assert_eq!(Roots::parse(uris.iter().copied(), &zones), Roots(want), "{why}: {uris:?}");
        }
    }
}
