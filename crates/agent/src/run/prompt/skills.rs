//! The list of skills: the workspace's own, then the instance's. The agent reads a skill with a
//! tool before it uses it.

use super::front_matter::{split, value};
use super::sources::PromptReader;
use std::path::Path;

/// The part of a `SKILL.md` that is read.
const MAX_SKILL_BYTES: usize = 16 << 10;

/// Skills in the list.
const MAX_SKILLS: usize = 100;

/// The longest name and description.
const MAX_NAME_BYTES: usize = 64;
const MAX_DESCRIPTION_CHARS: usize = 1024;

/// The part about skills; `None` when there are none.
pub(super) fn skill_list(own: &PromptReader<'_>, shared: Option<&PromptReader<'_>>) -> Option<String> {
    let mut skills: Vec<Skill> = find(own, "skills", "workspace");
    if let Some(shared) = shared {
        for skill in find(shared, "", "instance") {
            if skills.iter().all(|known| known.name != skill.name) {
                skills.push(skill);
            }
        }
    }
    skills.truncate(MAX_SKILLS);
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
            escape(&self.description),
            escape(&self.location),
            self.source
        )
    }
}

fn find(reader: &PromptReader<'_>, below: &str, source: &'static str) -> Vec<Skill> {
    let mut skills = Vec::new();
    for directory in reader.directories(below).into_iter().take(MAX_SKILLS) {
        let path = Path::new(below).join(&directory).join("SKILL.md");
        let Some(path) = path.to_str() else { continue };
        let Some(text) = reader.read(path, MAX_SKILL_BYTES) else { continue };
        let head = split(&text).head.unwrap_or_default().to_owned();
        let name = value(&head, "name").unwrap_or(&directory).to_owned();
        let fits = (1..=MAX_NAME_BYTES).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let description = value(&head, "description").unwrap_or_default();
        if !fits || description.is_empty() {
            reader.warn(path, "a skill has a `name` of letters, digits and `-`, and a `description`");
            continue;
        }
        let description = description.chars().take(MAX_DESCRIPTION_CHARS).collect();
        skills.push(Skill { name, description, location: reader.location(path), source });
    }
    skills
}

/// Angle brackets would end the entry.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
