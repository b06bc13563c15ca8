//! The files that the prompt is made of: an agent's own workspace, and the skills of the instance.

use super::super::instruction_history::InstructionFile;
use super::front_matter::split;
use super::{identity, memory, skills};
use jiff::Timestamp;
use picoclaw_policy::{AgentId, Origin, Subject};
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::root::{More, RootError};
use picoclaw_sandbox::trust::text_hash;
use picoclaw_sandbox::workspace_reader::{TextPrefix, WorkspaceReader};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The longest file whose content can be trusted.
const MAX_WHOLE_BYTES: usize = 1 << 20;

/// The part of one workspace file that is read.
const MAX_FILE_BYTES: usize = 32 << 10;

/// The line between two parts.
const SEPARATOR: &str = "\n\n---\n\n";

/// The prompt files of every agent.
#[derive(Debug)]
pub struct PromptSources {
    agents: BTreeMap<AgentId, SourceDir>,
    skills: Option<SourceDir>,
    /// Warnings that were given already.
    warned: Mutex<BTreeSet<(PathBuf, String)>>,
}

/// A directory to read from, and its path.
#[derive(Debug)]
struct SourceDir {
    reader: WorkspaceReader,
    path: PathBuf,
}

/// Reads bounded texts beneath one directory, and warns once of each that it cannot read.
pub(super) struct PromptReader<'r> {
    dir: &'r SourceDir,
    warned: &'r Mutex<BTreeSet<(PathBuf, String)>>,
    /// What was read.
    files: RefCell<Vec<InstructionFile>>,
}

/// The system prompt of a turn, and the files of the workspace that it was made of.
#[derive(Debug, Default)]
pub(in crate::run) struct Instructions {
    pub(in crate::run) text: String,
    pub(in crate::run) files: Vec<InstructionFile>,
}

impl PromptSources {
    /// The prompt files of an instance.
    pub fn open(instance: &Instance) -> Result<Self, RootError> {
        let mut agents = BTreeMap::new();
        for (agent, zones) in instance.zones() {
            let path = zones.workspace.first().map(|path| path.as_path().to_owned()).unwrap_or_default();
            agents.insert(agent, SourceDir { reader: WorkspaceReader::for_agent(&zones)?, path });
        }
        let path = instance.join("skills");
        // The directory is optional.
        let skills = WorkspaceReader::for_operator(&path).ok().map(|reader| SourceDir { reader, path });
        Ok(Self { agents, skills, warned: Mutex::default() })
    }

    /// The system prompt of a turn, without the summary; empty for an agent that is not configured.
    pub(in crate::run) fn instructions(&self, name: &str, subject: &Subject, now: Timestamp) -> Instructions {
        let Some(dir) = self.agents.get(&subject.agent) else { return Instructions::default() };
        let own = self.reader(dir);
        let shared = self.skills.as_ref().map(|dir| self.reader(dir));
        let mut parts = vec![identity::identity(name, &dir.path)];
        parts.extend(workspace_files(&own));
        parts.extend(skills::skill_list(&own, shared.as_ref()));
        parts.extend(memory::memory(&own, now));
        parts.push(identity::runtime(subject, now));
        Instructions { text: parts.join(SEPARATOR), files: own.files.into_inner() }
    }

    /// The instruction files of an agent: what a turn reads now, and the list of its heartbeat.
    pub fn files(&self, agent: &AgentId) -> Vec<InstructionFile> {
        let subject = Subject::root(Origin::Cli, agent.clone(), "");
        let mut files = self.instructions("", &subject, Timestamp::now()).files;
        files.extend(self.file(agent, "HEARTBEAT.md"));
        files
    }

    /// One file of an agent's workspace; `None` when there is none.
    pub(crate) fn file(&self, agent: &AgentId, path: &str) -> Option<InstructionFile> {
        let reader = self.reader(self.agents.get(agent)?);
        reader.read(path, MAX_WHOLE_BYTES)?;
        reader.files.into_inner().pop()
    }

    /// The file at an absolute path without links; `None` when it is in no workspace.
    pub fn instruction_file(&self, path: &Path) -> Result<Option<InstructionFile>, RootError> {
        for dir in self.agents.values() {
            let real = std::fs::canonicalize(&dir.path).unwrap_or_else(|_| dir.path.clone());
            let Some(below) = path.strip_prefix(real).ok().and_then(Path::to_str) else { continue };
            let prefix = dir.reader.read(below, MAX_WHOLE_BYTES)?;
            return Ok(prefix.map(|prefix| InstructionFile::of(dir.path.join(below), &prefix)));
        }
        Ok(None)
    }

    fn reader<'r>(&'r self, dir: &'r SourceDir) -> PromptReader<'r> {
        PromptReader { dir, warned: &self.warned, files: RefCell::default() }
    }
}

/// `AGENT.md`, or the older pair, and then `SOUL.md` and `USER.md`.
fn workspace_files(reader: &PromptReader<'_>) -> Vec<String> {
    let read = |name: &str| {
        let text = reader.read(name, MAX_FILE_BYTES)?;
        let parts = split(&text);
        if parts.head.is_some() {
            reader.warn(name, "its front matter is ignored: tools and models of an agent are settings");
        }
        let body = parts.body.trim();
        (!body.is_empty()).then(|| format!("## {name}\n\n{body}"))
    };
    let mut parts: Vec<String> = read("AGENT.md").into_iter().collect();
    if parts.is_empty() {
        parts.extend(["AGENTS.md", "IDENTITY.md"].into_iter().filter_map(read));
    }
    parts.extend(["SOUL.md", "USER.md"].into_iter().filter_map(read));
    parts
}

impl PromptReader<'_> {
    /// The beginning of a file, with a note where it was cut; `None` when there is no text.
    pub(super) fn read(&self, path: &str, max: usize) -> Option<String> {
        let prefix = self.dir.reader.read(path, MAX_WHOLE_BYTES);
        if let Ok(Some(prefix)) = &prefix {
            self.files.borrow_mut().push(InstructionFile::of(self.dir.path.join(path), prefix));
        }
        match prefix {
            Ok(None) => None,
            Ok(Some(prefix)) if prefix.text.trim().is_empty() => None,
            Ok(Some(prefix)) if prefix.more == More::Follows || prefix.text.len() > max => {
                self.warn(path, "it is too long; its beginning is read");
                let text = &prefix.text[..prefix.text.floor_char_boundary(max)];
                let text = text.trim_end_matches('\u{fffd}');
                Some(format!("{text}\n[cut here: longer than {max} bytes]"))
            }
            Ok(Some(prefix)) => Some(prefix.text),
            Err(why) => {
                self.warn(path, &format!("it is left out: {why}"));
                None
            }
        }
    }

    /// The names of the directories in a directory.
    pub(super) fn directories(&self, path: &str) -> Vec<String> {
        self.dir.reader.directories(path).unwrap_or_else(|why| {
            self.warn(path, &format!("it is left out: {why}"));
            Vec::new()
        })
    }

    /// The full path of a file.
    pub(super) fn location(&self, path: &str) -> String {
        self.dir.path.join(path).display().to_string()
    }

    /// Warns of a file, once in the life of the process.
    pub(super) fn warn(&self, path: &str, why: &str) {
        let key = (self.dir.path.join(Path::new(path)), why.to_owned());
        if self.warned.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone()) {
            tracing::warn!(target: "prompt", file = %key.0.display(), "{why}");
        }
    }
}

impl InstructionFile {
    fn of(path: PathBuf, prefix: &TextPrefix) -> Self {
        Self { path, sha256: (prefix.more == More::End).then(|| text_hash(&prefix.text)) }
    }
}
