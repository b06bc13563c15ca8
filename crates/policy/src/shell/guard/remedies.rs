//! What would allow a command with several findings: all of it, or nothing.
//!
//! The settings that a hint names lift every finding.

use super::explain::quote_words;
use super::finding::{Finding, Remedy};
use super::guard::Judgement;
use std::mem::discriminant;

/// A longer list belongs in `picoclaw check exec`, not in two lines.
const MAX_HINT_ENTRIES: usize = 6;

impl Judgement {
    /// The finding that decides, and what would lift all of them.
    pub(super) fn hint(&self, first: &Finding) -> String {
        let about = first.describe();
        let needed = self.needed_findings();
        if let [] | [_] = needed.as_slice() {
            let remedy = needed.first().map_or(&first.remedy, |finding| &finding.remedy);
            return match remedy {
                // The reason contains it already.
                Remedy::None => about,
                remedy => format!("{about}; {}", remedy.sentence()),
            };
        }
        let count = needed.len();
        if let Some(closed) = needed.iter().find(|finding| finding.remedy == Remedy::None) {
            return format!(
                "{about}; {count} reasons in all, and no setting opens `{}`",
                quote_words(&closed.words)
            );
        }
        if let Some(how) = needed.iter().find_map(|finding| match &finding.remedy {
            Remedy::Rewrite(how) => Some(how),
            _ => None,
        }) {
            return format!("{about}; {count} reasons in all: {how}");
        }
        if count > MAX_HINT_ENTRIES {
            return format!("{about}; {count} reasons in all, which `picoclaw check exec` lists");
        }
        format!("{about}; {count} reasons in all, which take {}", join_settings(&needed))
    }

    /// One finding for each remedy that is not part of another.
    fn needed_findings(&self) -> Vec<&Finding> {
        let mut needed: Vec<&Finding> = Vec::new();
        for finding in self.finding.iter().chain(&self.others) {
            if !needed.iter().any(|known| known.remedy == finding.remedy) {
                needed.push(finding);
            }
        }
        needed
    }
}

/// The settings, with entries of one list joined.
fn join_settings(needed: &[&Finding]) -> String {
    let mut remedies: Vec<&Remedy> = needed.iter().map(|finding| &finding.remedy).collect();
    remedies.sort();
    let setting = |same: &[&Remedy]| {
        let entries: Vec<String> =
            same.iter().filter_map(|remedy| remedy.pattern()).map(json_entry).collect();
        let entries = entries.join(", ");
        Some(match same.first()? {
            Remedy::AllowPattern(_) => format!("`tools.exec.custom_allow_patterns`: [{entries}]"),
            Remedy::ReadPath(_) => format!("`tools.allow_read_paths`: [{entries}]"),
            Remedy::WritePath(_) => format!("`tools.allow_write_paths`: [{entries}]"),
            Remedy::DropDeny(_) => format!("`tools.exec.custom_deny_patterns` without {entries}"),
            Remedy::Smart => "`tools.exec.guard`: \"smart\"".to_owned(),
            Remedy::Ask => "`tools.exec.on_block`: \"ask\"".to_owned(),
            Remedy::Cage => "`isolation.enabled`: true".to_owned(),
            Remedy::Rewrite(_) | Remedy::None => return None,
        })
    };
    let settings: Vec<String> =
        remedies.chunk_by(|a, b| discriminant(*a) == discriminant(*b)).filter_map(setting).collect();
    match settings.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    }
}

/// A pattern as written in the configuration.
pub(super) fn json_entry(pattern: &str) -> String {
    serde_json::Value::from(pattern).to_string()
}
