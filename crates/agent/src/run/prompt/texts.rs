//! The texts that instructions are made of.
//!
//! Invariant: an agent's instructions are read from its own workspace and from the instance's skills, never from another agent's.

use super::front_matter::part;
use super::{identity, memory, skills};
use jiff::Timestamp;
use picoclaw_policy::{AgentId, Subject};
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::root::{More, RootError};
use picoclaw_sandbox::workspace_reader::WorkspaceReader;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The most of one workspace file that is read.
const MOST: usize = 32 << 10;

/// What stands between two parts.
const RULE: &str = "\n\n---\n\n";

/// Where the texts of every agent are.
#[derive(Debug)]
pub struct Texts {
    agents: BTreeMap<AgentId, Desk>,
    skills: Option<Desk>,
    /// What was warned about already.
    warned: Mutex<BTreeSet<(PathBuf, String)>>,
}

/// One directory to read from, and its name.
#[derive(Debug)]
struct Desk {
    reader: WorkspaceReader,
    path: PathBuf,
}

/// Reads bounded texts, and warns once of each that cannot be read.
pub(super) struct Reader<'r> {
    desk: &'r Desk,
    warned: &'r Mutex<BTreeSet<(PathBuf, String)>>,
}

impl Texts {
    /// The texts of an instance.
    pub fn open(instance: &Instance) -> Result<Self, RootError> {
        let mut agents = BTreeMap::new();
        for (agent, zones) in instance.zones() {
            let path = zones.workspace.first().map(|path| path.as_path().to_owned()).unwrap_or_default();
            agents.insert(agent, Desk { reader: WorkspaceReader::for_agent(&zones)?, path });
        }
        let path = instance.join("skills");
        // An instance without skills is an instance.
        let skills = WorkspaceReader::for_operator(&path).ok().map(|reader| Desk { reader, path });
        Ok(Self { agents, skills, warned: Mutex::default() })
    }

    /// The instructions for a turn, all but the summary; empty for an agent that is not configured.
    pub(in crate::run) fn instructions(&self, name: &str, subject: &Subject, now: Timestamp) -> String {
        let Some(desk) = self.agents.get(&subject.agent) else { return String::new() };
        let own = Reader { desk, warned: &self.warned };
        let shared = self.skills.as_ref().map(|desk| Reader { desk, warned: &self.warned });
        let mut parts = vec![identity::identity(name, &desk.path)];
        parts.extend(workspace_files(&own));
        parts.extend(skills::catalogue(&own, shared.as_ref()));
        parts.extend(memory::memory(&own, now));
        parts.push(identity::runtime(subject, now));
        parts.join(RULE)
    }
}

/// `AGENT.md`, or the older pair, and then `SOUL.md` and `USER.md`.
fn workspace_files(reader: &Reader<'_>) -> Vec<String> {
    let read = |name: &str| {
        let text = reader.read(name, MOST)?;
        let parted = part(&text);
        if parted.head.is_some() {
            reader.warn(name, "its front matter is ignored: tools and models of an agent are settings");
        }
        let body = parted.body.trim();
        (!body.is_empty()).then(|| format!("## {name}\n\n{body}"))
    };
    let mut parts: Vec<String> = read("AGENT.md").into_iter().collect();
    if parts.is_empty() {
        parts.extend(["AGENTS.md", "IDENTITY.md"].into_iter().filter_map(read));
    }
    parts.extend(["SOUL.md", "USER.md"].into_iter().filter_map(read));
    parts
}

impl Reader<'_> {
    /// The beginning of a file, marked where it was cut; `None` when there is nothing to be had.
    pub(super) fn read(&self, path: &str, most: usize) -> Option<String> {
        match self.desk.reader.read(path, most) {
            Ok(None) => None,
            Ok(Some(passage)) if passage.text.trim().is_empty() => None,
            Ok(Some(passage)) if passage.more == More::Follows => {
                self.warn(path, "it is too long; its beginning is read");
                let text = passage.text.trim_end_matches('\u{fffd}');
                Some(format!("{text}\n[cut here: longer than {most} bytes]"))
            }
            Ok(Some(passage)) => Some(passage.text),
            Err(why) => {
                self.warn(path, &format!("it is left out: {why}"));
                None
            }
        }
    }

    /// The names of the directories in a directory.
    pub(super) fn directories(&self, path: &str) -> Vec<String> {
        self.desk.reader.directories(path).unwrap_or_else(|why| {
            self.warn(path, &format!("it is left out: {why}"));
            Vec::new()
        })
    }

    /// Where a file is, for whoever reads it with a tool.
    pub(super) fn location(&self, path: &str) -> String {
        self.desk.path.join(path).display().to_string()
    }

    /// Warns of a file, once in the life of this program.
    pub(super) fn warn(&self, path: &str, why: &str) {
        let key = (self.desk.path.join(Path::new(path)), why.to_owned());
        if self.warned.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone()) {
            tracing::warn!(target: "prompt", file = %key.0.display(), "{why}");
        }
    }
}
