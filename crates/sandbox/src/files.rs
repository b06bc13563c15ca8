//! Files under a key: what is looked for, and the effects that a permit pays for.
//!
//! Invariant: every effect spends one permit and works on the place that was judged.

use crate::permit::{Kind, Permit, Sealed};
use crate::root::{Excerpt, Listing, Overwrite, Page, Place, Root, RootError, Scribe, Seals, Span};
use picoclaw_policy::{
    Access, AgentId, CleanPath, FileKind, Intent, PathLocation, Policy, Route, Subject, Target, Zones,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

/// A path that was looked for: where it leads, and a hold on it unless its text alone is refused.
#[derive(Debug)]
pub struct Sought {
    pub(crate) target: Target,
    pub(crate) place: Option<Place>,
}

/// Reading a file's contents.
#[derive(Debug)]
pub struct Read(pub Sought);

/// Listing a directory.
#[derive(Debug)]
pub struct List(pub Sought);

/// Making or changing a file.
#[derive(Debug)]
pub struct Write(pub Sought);

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
    let (Read(sought), settling) = permit.spend();
    settling.settle(sought.place().and_then(|place| place.read(span)))
}

/// Reads a file in as many parts as `next` asks for; the permit is spent when it asks no more.
pub fn read_through<T>(
    permit: Permit<Read>,
    mut next: impl FnMut(Option<Excerpt>) -> Step<T>,
) -> Result<T, RootError> {
    let (Read(sought), settling) = permit.spend();
    let mut walk = || {
        let place = sought.place()?;
        let mut last = None;
        loop {
            match next(last.take()) {
                Step::Read(span) => last = Some(place.read(span)?),
                Step::Done(result) => return Ok(result),
            }
        }
    };
    let outcome = walk();
    settling.settle(outcome)
}

/// What a reader in several parts wants next.
#[derive(Debug)]
pub enum Step<T> {
    /// This part.
    Read(Span),
    /// Nothing: it has what it came for.
    Done(T),
}

/// Names a page of a directory's entries.
pub fn list(permit: Permit<List>, page: Page) -> Result<Listing, RootError> {
    let (List(sought), settling) = permit.spend();
    settling.settle(sought.place().and_then(|place| place.list(page)))
}

/// Puts `content` in place of a file.
pub fn write(
    permit: Permit<Write>,
    content: &[u8],
    overwrite: Overwrite,
    files: &Files,
) -> Result<(), RootError> {
    let (Write(sought), settling) = permit.spend();
    settling.settle(sought.place().and_then(|place| place.write(content, overwrite, &files.scribe)))
}

/// Puts `content` behind a file's end.
pub fn append(permit: Permit<Write>, content: &[u8], files: &Files) -> Result<(), RootError> {
    let (Write(sought), settling) = permit.spend();
    settling.settle(sought.place().and_then(|place| place.append(content, &files.scribe)))
}

/// Puts `new` in place of `old`, which must occur exactly once.
pub fn edit(permit: Permit<Write>, old: &str, new: &str, files: &Files) -> Result<(), RootError> {
    let (Write(sought), settling) = permit.spend();
    settling.settle(sought.place().and_then(|place| place.edit(old, new, &files.scribe)))
}

impl Sought {
    fn place(&self) -> Result<&Place, RootError> {
        self.place.as_ref().ok_or_else(|| RootError::Escapes { path: self.target.asked.as_path().to_owned() })
    }
}

/// The handles that looking starts from: each agent's workspace, and the top of the host's tree.
#[derive(Debug)]
pub struct Files {
    agents: BTreeMap<AgentId, AgentFiles>,
    host: OnceLock<Root>,
    scribe: Scribe,
}

#[derive(Debug)]
struct AgentFiles {
    workspace: Root,
    zones: Zones,
    seals: OnceLock<Seals>,
}

impl Files {
    /// Opens every agent's workspace. Locks are kept in `locks`, where no agent can write.
    pub fn open(zones: BTreeMap<AgentId, Zones>, locks: &Path) -> Result<Self, RootError> {
        let mut agents = BTreeMap::new();
        for (agent, zones) in zones {
            let name = zones.workspace.first().map_or(Path::new(""), CleanPath::as_path);
            let workspace = Root::open(name)?;
            agents.insert(agent, AgentFiles { workspace, zones, seals: OnceLock::new() });
        }
        Ok(Self { agents, host: OnceLock::new(), scribe: Scribe::new(locks, Scribe::WAIT)? })
    }

    /// Looks for a path of `subject`'s, as far as its text allows looking at all.
    pub fn seek(
        &self,
        policy: &Policy,
        access: Access,
        asked: &CleanPath,
        subject: &Subject,
    ) -> Result<Sought, RootError> {
        let Some(agent) = self.agents.get(&subject.agent) else {
            return Ok(unseen(asked, PathLocation::NotLookedUp));
        };
        let place = match policy.route(access, asked, subject) {
            Route::Closed(landing) => return Ok(unseen(asked, landing)),
            Route::Workspace(relative) => agent.workspace.locate(&relative, access, agent.seals())?,
            Route::Host => {
                let below = asked.as_path().strip_prefix("/").unwrap_or(Path::new(""));
                self.host()?.locate(below, access, agent.seals())?
            }
        };
        let target = Target { asked: asked.clone(), location: place.landing().clone(), kind: place.kind() };
        Ok(Sought { target, place: Some(place) })
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

    /// The top of the host's tree.
    pub(crate) fn host(&self) -> Result<&Root, RootError> {
        if let Some(root) = self.host.get() {
            return Ok(root);
        }
        let root = Root::host()?;
        Ok(self.host.get_or_init(|| root))
    }
}

impl AgentFiles {
    /// What is Protected, by identity; looked up with the first path.
    fn seals(&self) -> &Seals {
        self.seals.get_or_init(|| Seals::of(&self.zones))
    }
}

fn unseen(asked: &CleanPath, landing: PathLocation) -> Sought {
    Sought {
        target: Target { asked: asked.clone(), location: landing, kind: FileKind::Missing },
        place: None,
    }
}
