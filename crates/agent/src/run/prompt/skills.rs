//! The skills an agent can look up: the workspace's own, then the instance's.
//!
//! Invariant: a catalogue names and describes; nothing of a skill is followed that the agent did not read with a tool.

use super::front_matter::{part, value};
use super::texts::Reader;
use std::path::Path;

/// The most of a `SKILL.md` that is read for its head.
const HEAD: usize = 16 << 10;

/// The most skills that are named.
const MOST: usize = 100;

/// The longest name and description.
const NAME: usize = 64;
const DESCRIPTION: usize = 1024;

/// The catalogue; `None` when there are no skills.
pub(super) fn catalogue(own: &Reader<'_>, shared: Option<&Reader<'_>>) -> Option<String> {
    let mut skills: Vec<Skill> = found(own, "skills", "workspace");
    if let Some(shared) = shared {
        for skill in found(shared, "", "instance") {
            if skills.iter().all(|known| known.name != skill.name) {
                skills.push(skill);
            }
        }
    }
    skills.truncate(MOST);
    let entries: String = skills.iter().map(Skill::entry).collect();
    (!entries.is_empty()).then(|| format!("# Skills\n\n<skills>\n{entries}</skills>"))
}

struct Skill {
    name: String,
    description: String,
    location: String,
    source: &'static str,
}

impl Skill {
    fn entry(&self) -> String {
        format!(
            "<skill><name>{}</name><description>{}</description><location>{}</location><source>{}</source></skill>\n",
            self.name,
            escaped(&self.description),
            escaped(&self.location),
            self.source
        )
    }
}

fn found(reader: &Reader<'_>, below: &str, source: &'static str) -> Vec<Skill> {
    let mut skills = Vec::new();
    for directory in reader.directories(below).into_iter().take(MOST) {
        let path = Path::new(below).join(&directory).join("SKILL.md");
        let Some(path) = path.to_str() else { continue };
        let Some(text) = reader.read(path, HEAD) else { continue };
        let head = part(&text).head.unwrap_or_default().to_owned();
        let name = value(&head, "name").unwrap_or(&directory).to_owned();
        let fits =
            (1..=NAME).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let description = value(&head, "description").unwrap_or_default();
        if !fits || description.is_empty() {
            reader.warn(path, "a skill has a `name` of letters, digits and `-`, and a `description`");
            continue;
        }
        let description = description.chars().take(DESCRIPTION).collect();
        skills.push(Skill { name, description, location: reader.location(path), source });
    }
    skills
}

/// Angle brackets would end the entry.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
