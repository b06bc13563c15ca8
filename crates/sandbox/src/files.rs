//! File effects under a permit.
//!
//! Invariant: every effect spends one permit and works on the place that was checked.

use crate::permit::{Kind, Permit, Sealed};
use crate::root::{
    Excerpt, Listing, Overwrite, Page, Place, ProtectedInodes, Root, RootError, Span, WriteContext,
};
use picoclaw_policy::{
    Access, AgentId, CleanPath, FileKind, Intent, Landing, Policy, Route, Subject, Target, Zones,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

/// A located path: where it leads, and a descriptor unless its text alone is refused.
#[derive(Debug)]
pub struct Located {
    pub(crate) target: Target,
    pub(crate) place: Option<Place>,
}

/// Reading a file's contents.
#[derive(Debug)]
pub struct Read(pub Located);

/// Listing a directory.
#[derive(Debug)]
pub struct List(pub Located);

/// Making or changing a file.
#[derive(Debug)]
pub struct Write(pub Located);

impl Sealed for Read {}
impl Sealed for List {}
impl Sealed for Write {}

impl Kind for Read {
    fn intent(&self) -> Intent {
        Intent::Read(self.0.target.clone())
    }
}

impl Kind for List {
    fn intent(&self) -> Intent {
        Intent::List(self.0.target.clone())
    }
}

impl Kind for Write {
    fn intent(&self) -> Intent {
        Intent::Write(self.0.target.clone())
    }
}

/// Reads a part of a file.
pub fn read(permit: Permit<Read>, span: Span) -> Result<Excerpt, RootError> {
    let (Read(located), settling) = permit.spend();
    settling.settle(located.place().and_then(|place| place.read(span)))
}

/// Reads a file in as many parts as `next` asks for; the permit is settled after the last.
pub fn read_through<T>(
    permit: Permit<Read>,
    mut next: impl FnMut(Option<Excerpt>) -> ReadStep<T>,
) -> Result<T, RootError> {
    let (Read(located), settling) = permit.spend();
    let mut read_all = || {
        let place = located.place()?;
        let mut last = None;
        loop {
            match next(last.take()) {
                ReadStep::Read(span) => last = Some(place.read(span)?),
                ReadStep::Done(result) => return Ok(result),
            }
        }
    };
    let outcome = read_all();
    settling.settle(outcome)
}

/// What a reader in several parts wants next.
#[derive(Debug)]
pub enum ReadStep<T> {
    /// This part.
    Read(Span),
    /// Nothing more.
    Done(T),
}

/// Lists a page of a directory's entries.
pub fn list(permit: Permit<List>, page: Page) -> Result<Listing, RootError> {
    let (List(located), settling) = permit.spend();
    settling.settle(located.place().and_then(|place| place.list(page)))
}

/// Replaces a file, or makes it.
pub fn write(
    permit: Permit<Write>,
    content: &[u8],
    overwrite: Overwrite,
    files: &Files,
) -> Result<(), RootError> {
    let (Write(located), settling) = permit.spend();
    settling.settle(located.place().and_then(|place| place.write(content, overwrite, &files.context)))
}

/// Appends to a file, or makes it.
pub fn append(permit: Permit<Write>, content: &[u8], files: &Files) -> Result<(), RootError> {
    let (Write(located), settling) = permit.spend();
    settling.settle(located.place().and_then(|place| place.append(content, &files.context)))
}

/// Replaces `old`, which must occur exactly once, by `new`.
pub fn edit(permit: Permit<Write>, old: &str, new: &str, files: &Files) -> Result<(), RootError> {
    let (Write(located), settling) = permit.spend();
    settling.settle(located.place().and_then(|place| place.edit(old, new, &files.context)))
}

impl Located {
    fn place(&self) -> Result<&Place, RootError> {
        self.place.as_ref().ok_or_else(|| RootError::Escapes { path: self.target.asked.as_path().to_owned() })
    }
}

/// The directories that lookups start from: each agent's workspace, and `/`.
#[derive(Debug)]
pub struct Files {
    agents: BTreeMap<AgentId, AgentFiles>,
    host: OnceLock<Root>,
    context: WriteContext,
}

#[derive(Debug)]
struct AgentFiles {
    workspace: Root,
    zones: Zones,
    protected: OnceLock<ProtectedInodes>,
}

impl Files {
    /// Opens every agent's workspace. Lock files lie in `locks`, which no agent can write.
    pub fn open(zones: BTreeMap<AgentId, Zones>, locks: &Path) -> Result<Self, RootError> {
        let mut agents = BTreeMap::new();
        for (agent, zones) in zones {
            let name = zones.workspace.first().map_or(Path::new(""), CleanPath::as_path);
            let workspace = Root::open(name)?;
            agents.insert(agent, AgentFiles { workspace, zones, protected: OnceLock::new() });
        }
        let context = WriteContext::new(locks, WriteContext::LOCK_TIMEOUT)?;
        Ok(Self { agents, host: OnceLock::new(), context })
    }

    /// Looks up a path of `subject`, as far as its text permits a lookup.
    pub fn locate(
        &self,
        policy: &Policy,
        access: Access,
        asked: &CleanPath,
        subject: &Subject,
    ) -> Result<Located, RootError> {
        let Some(agent) = self.agents.get(&subject.agent) else {
            return Ok(not_looked_up(asked, Landing::Unseen));
        };
        let place = match policy.route(access, asked, subject) {
            Route::Closed(landing) => return Ok(not_looked_up(asked, landing)),
            Route::Workspace(relative) => agent.workspace.locate(&relative, access, agent.protected())?,
            Route::Host => {
                let below = asked.as_path().strip_prefix("/").unwrap_or(Path::new(""));
                self.host()?.locate(below, access, agent.protected())?
            }
        };
        let target = Target { asked: asked.clone(), landing: place.landing(), kind: place.kind() };
        Ok(Located { target, place: Some(place) })
    }

    /// The absolute path that `subject` means: relative ones start at its workspace.
    pub fn absolute(
        &self,
        path: &Path,
        subject: &Subject,
    ) -> Option<Result<CleanPath, picoclaw_policy::PathFault>> {
        let agent = self.agents.get(&subject.agent)?;
        Some(CleanPath::new(path, agent.workspace.name()))
    }

    /// The root directory of the host, opened at its first use.
    pub(crate) fn host(&self) -> Result<&Root, RootError> {
        if let Some(root) = self.host.get() {
            return Ok(root);
        }
        let root = Root::host()?;
        Ok(self.host.get_or_init(|| root))
    }
}

impl AgentFiles {
    /// What is Protected, looked up at the first path.
    fn protected(&self) -> &ProtectedInodes {
        self.protected.get_or_init(|| ProtectedInodes::of(&self.zones))
    }
}

fn not_looked_up(asked: &CleanPath, landing: Landing) -> Located {
    Located { target: Target { asked: asked.clone(), landing, kind: FileKind::Missing }, place: None }
}
