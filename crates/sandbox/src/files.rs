//! File effects under permits. Each works on the place that was judged.

use crate::act::{Facts, Operands};
use crate::permit::{Effect, Permit, Sealed};
use crate::root::{
    Excerpt, Listing, Overwrite, Page, Place, ProtectedInodes, Root, RootError, Span, WriteContext,
};
use picoclaw_policy::{
    Access, AgentId, CleanPath, FileKind, Intent, PathLocation, Policy, Route, Subject, Target, Zones,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A path that was looked up: where it leads, and a handle to it unless the policy refuses its
/// text.
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

/// Creating or changing a file.
#[derive(Debug)]
pub struct Write(pub Located);

impl Sealed for Read {}
impl Sealed for List {}
impl Sealed for Write {}

impl Effect for Read {
    fn intent(&self) -> Intent {
        Intent::Read(self.0.target.clone())
    }

    fn facts(&self) -> Facts {
        self.0.facts()
    }
}

impl Effect for List {
    fn intent(&self) -> Intent {
        Intent::List(self.0.target.clone())
    }

    fn facts(&self) -> Facts {
        self.0.facts()
    }
}

impl Effect for Write {
    fn intent(&self) -> Intent {
        Intent::Write(self.0.target.clone())
    }

    fn facts(&self) -> Facts {
        self.0.facts()
    }
}

/// Reads a part of a file.
pub fn read(permit: Permit<Read>, span: Span) -> Result<Excerpt, RootError> {
    let (Read(located), outcome) = permit.spend();
    outcome.settle(located.place().and_then(|place| place.read(span)))
}

/// Reads a file in as many parts as `next` asks for, under one permit.
pub fn read_through<T>(
    permit: Permit<Read>,
    mut next: impl FnMut(Option<Excerpt>) -> ReadStep<T>,
) -> Result<T, RootError> {
    let (Read(located), outcome) = permit.spend();
    let mut walk = || {
        let place = located.place()?;
        let mut last = None;
        loop {
            match next(last.take()) {
                ReadStep::Read(span) => last = Some(place.read(span)?),
                ReadStep::Done(result) => return Ok(result),
            }
        }
    };
    let result = walk();
    outcome.settle(result)
}

/// What a reader in several parts does next.
#[derive(Debug)]
pub enum ReadStep<T> {
    /// Reads this part.
    Read(Span),
    /// Ends with this result.
    Done(T),
}

/// Lists a page of a directory's entries.
pub fn list(permit: Permit<List>, page: Page) -> Result<Listing, RootError> {
    let (List(located), outcome) = permit.spend();
    outcome.settle(located.place().and_then(|place| place.list(page)))
}

/// Replaces the contents of a file.
pub fn write(
    permit: Permit<Write>,
    content: &[u8],
    overwrite: Overwrite,
    files: &Files,
) -> Result<(), RootError> {
    let (Write(located), outcome) = permit.spend();
    outcome.settle(located.place().and_then(|place| place.write(content, overwrite, &files.context)))
}

/// Appends to a file.
pub fn append(permit: Permit<Write>, content: &[u8], files: &Files) -> Result<(), RootError> {
    let (Write(located), outcome) = permit.spend();
    outcome.settle(located.place().and_then(|place| place.append(content, &files.context)))
}

/// Replaces `old`, which must occur exactly once, by `new`.
pub fn edit(permit: Permit<Write>, old: &str, new: &str, files: &Files) -> Result<(), RootError> {
    let (Write(located), outcome) = permit.spend();
    outcome.settle(located.place().and_then(|place| place.edit(old, new, &files.context)))
}

impl Located {
    fn facts(&self) -> Facts {
        let path = self.place.as_ref().map(Place::resolved);
        let identity = format!("{:?}", self.place.as_ref().and_then(Place::identity));
        let operands = Operands { paths: vec![identity], ..Operands::default() };
        Facts { path, operands, ..Facts::default() }
    }

    fn place(&self) -> Result<&Place, RootError> {
        self.place.as_ref().ok_or_else(|| RootError::Escapes { path: self.target.asked.as_path().to_owned() })
    }
}

/// The handles that lookups start from: each agent's workspace, and the root of the host.
#[derive(Debug)]
pub struct Files {
    agents: BTreeMap<AgentId, AgentFiles>,
    /// By drive; a Unix host has only `/`.
    hosts: Mutex<BTreeMap<PathBuf, Arc<Root>>>,
    context: WriteContext,
}

#[derive(Debug)]
struct AgentFiles {
    workspace: Root,
    zones: Zones,
    protected: OnceLock<ProtectedInodes>,
}

impl Files {
    /// Opens every agent's workspace. Locks are created in `locks`, where no agent can write.
    pub fn open(zones: BTreeMap<AgentId, Zones>, locks: &Path) -> Result<Self, RootError> {
        let mut agents = BTreeMap::new();
        for (agent, zones) in zones {
            let name = zones.workspace.first().map_or(Path::new(""), CleanPath::as_path);
            let workspace = Root::open(name)?;
            agents.insert(agent, AgentFiles { workspace, zones, protected: OnceLock::new() });
        }
        let context = WriteContext::new(locks, WriteContext::LOCK_TIMEOUT)?;
        Ok(Self { agents, hosts: Mutex::default(), context })
    }

    /// Looks a path up for `subject`, unless the policy refuses its text.
    pub fn locate(
        &self,
        policy: &Policy,
        access: Access,
        asked: &CleanPath,
        subject: &Subject,
    ) -> Result<Located, RootError> {
        let Some(agent) = self.agents.get(&subject.agent) else {
            return Ok(not_looked_up(asked, PathLocation::NotLookedUp));
        };
        let place = match policy.route(access, asked, subject) {
            Route::Closed(location) => return Ok(not_looked_up(asked, location)),
            Route::Workspace(relative) => agent.workspace.locate(&relative, access, agent.protected())?,
            Route::Host => self.locate_on_host(asked.as_path(), access, agent.protected())?,
        };
        let (location, kind, resolved) = (place.landing(), place.kind(), Some(place.resolved()));
        let target = Target { asked: asked.clone(), location, kind, resolved };
        Ok(Located { target, place: Some(place) })
    }

    /// The absolute path: a relative one starts at the workspace of `subject`.
    pub fn absolute(
        &self,
        path: &Path,
        subject: &Subject,
    ) -> Option<Result<CleanPath, picoclaw_policy::PathFault>> {
        let agent = self.agents.get(&subject.agent)?;
        Some(CleanPath::new(path, agent.workspace.name()))
    }

    /// Looks an absolute path up from the root of the host.
    pub(crate) fn locate_on_host(
        &self,
        path: &Path,
        access: Access,
        protected: &ProtectedInodes,
    ) -> Result<Place, RootError> {
        let top = path.ancestors().last().unwrap_or(path);
        let host = self.host(top)?;
        host.locate(path.strip_prefix(top).unwrap_or(Path::new("")), access, protected)
    }

    fn host(&self, top: &Path) -> Result<Arc<Root>, RootError> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(root) = hosts.get(top) {
            return Ok(Arc::clone(root));
        }
        let root = Arc::new(Root::host_at(top)?);
        hosts.insert(top.to_owned(), Arc::clone(&root));
        Ok(root)
    }
}

impl AgentFiles {
    /// What is Protected, by device and inode; looked up with the first path.
    fn protected(&self) -> &ProtectedInodes {
        self.protected.get_or_init(|| ProtectedInodes::of(&self.zones))
    }
}

fn not_looked_up(asked: &CleanPath, location: PathLocation) -> Located {
    let target = Target { asked: asked.clone(), location, kind: FileKind::Missing, resolved: None };
    Located { target, place: None }
}
