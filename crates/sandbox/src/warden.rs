//! The warden: judges, records, and hands out keys.
//!
//! Invariant: the only minter of permits; what it cannot record, it does not permit.

use crate::approver::Answer;
use crate::exec::{Exec, HostTerrain, Workshop};
use crate::files::{Files, Sought};
use crate::guest::{Guest, GuestError, Lodge, Visitor};
use crate::ledger::{Entry, Ledger};
use crate::permit::{Kind, Permit, Settling};
use crate::root::RootError;
use picoclaw_policy::shell::guard::Judgement;
use picoclaw_policy::{
    Access, AgentId, CleanPath, Code, CommandContext, ExecIntent, Grant, Intent, Layer, PathFault, Policy,
    Question, Refusal, Subject, Verdict, Zone,
};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What asking for a key comes to.
#[derive(Debug)]
#[must_use = "an admission nobody reads admits nobody"]
pub enum Admission<K: Kind> {
    /// A key.
    Permit(Permit<K>),
    /// No.
    Refusal(Refusal),
    /// A person must say yes first.
    Pending(Box<Pending<K>>),
}

/// An admission that waits for a person's answer; it holds no thread.
#[derive(Debug)]
pub struct Pending<K: Kind> {
    kind: K,
    question: Question,
    tool: String,
    /// The duty to close the record of the question; dropped unanswered, it is abandoned.
    settling: Settling,
}

impl<K: Kind> Pending<K> {
    /// What to put to the person.
    pub fn question(&self) -> &Question {
        &self.question
    }
}

/// The only minter of permits; owns policy and ledger.
#[derive(Debug)]
pub struct Warden {
    policy: Policy,
    files: Files,
    workshop: Workshop,
    lodge: Lodge,
    ledger: Arc<Ledger>,
}

/// Why a path could not even be looked for.
#[derive(Debug, thiserror::Error)]
pub enum SeekError {
    /// The text is no path.
    #[error(transparent)]
    Path(#[from] PathFault),
    /// The look-up itself failed.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The configuration knows no such agent.
    #[error("there is no agent `{0}`")]
    NoAgent(AgentId),
}

impl Warden {
    /// A warden over these rules and files, writing to this ledger.
    pub fn new(policy: Policy, files: Files, workshop: Workshop, ledger: Ledger) -> Self {
        let lodge = Lodge::new(workshop.settings().clone());
        Self { policy, files, workshop, lodge, ledger: Arc::new(ledger) }
    }

    /// Looks for a path of `subject`'s. Looking is not an effect, and opens nothing that its text forbids.
    pub fn seek(&self, access: Access, path: &Path, subject: &Subject) -> Result<Sought, SeekError> {
        let asked = self.absolute(path, subject)?;
        Ok(self.files.seek(&self.policy, access, &asked, subject)?)
    }

    /// Looks into a command that would start in `cwd`: what the guard finds, and a hold on the directory.
    pub fn seek_command(&self, command: &str, cwd: &Path, subject: &Subject) -> Result<Exec, SeekError> {
        let judgement = self.inspect_command(command, cwd, subject)?;
        let Sought { target: cwd, place } = self.seek(Access::List, cwd, subject)?;
        let quarters = self.workshop.quarters(&subject.agent);
        let layers = quarters.map(|quarters| quarters.confined.layers()).unwrap_or_default();
        Ok(Exec { intent: ExecIntent { command: command.to_owned(), cwd, judgement }, place, layers })
    }

    /// What the guard finds in `command`, if it ran in `cwd`.
    pub fn inspect_command(
        &self,
        command: &str,
        cwd: &Path,
        subject: &Subject,
    ) -> Result<Judgement, SeekError> {
        let cwd = self.absolute(cwd, subject)?;
        let unknown = || SeekError::NoAgent(subject.agent.clone());
        let quarters = self.workshop.quarters(&subject.agent).ok_or_else(unknown)?;
        let ground = CommandContext {
            cwd: &cwd,
            home: quarters.home.as_ref(),
            dialect: self.workshop.shell(),
            confinement: quarters.hold,
            file_system: &HostTerrain::new(&self.files, &quarters.path),
        };
        self.policy.inspect_command(command, &ground, subject).ok_or_else(unknown)
    }

    fn absolute(&self, path: &Path, subject: &Subject) -> Result<CleanPath, SeekError> {
        Ok(self.files.absolute(path, subject).ok_or_else(|| SeekError::NoAgent(subject.agent.clone()))??)
    }

    /// What running a command needs beside a permit.
    pub fn workshop(&self) -> &Workshop {
        &self.workshop
    }

    /// Where the operator's own programs are put up.
    pub fn lodge(&self) -> &Lodge {
        &self.lodge
    }

    /// What writing needs beside a permit.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// What would be said to an effect, without a record and without a key.
    pub fn consider<K: Kind>(&self, tool: &str, subject: &Subject, kind: &K) -> Verdict {
        match self.policy.check_tool(tool, subject) {
            Err(refusal) => Verdict::Deny(refusal),
            Ok(()) => self.policy.judge(&kind.intent(), subject),
        }
    }

    /// The rules in force.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Judges one effect, writes the *decided* record and answers.
    pub fn admit<K: Kind>(&self, tool: &str, subject: &Subject, kind: K) -> Admission<K> {
        let verdict = self.consider(tool, subject, &kind);
        log(tool, subject, &kind.intent(), &verdict);
        let decided =
            Entry::decided(subject, tool, &kind.intent().to_string(), &verdict).enforcing(kind.enforced());
        match verdict {
            Verdict::Deny(refusal) => Admission::Refusal(self.refuse(decided, refusal)),
            Verdict::Allow(grant) => self.mint(decided, grant, kind),
            Verdict::Ask(question) => match self.ledger.append(std::slice::from_ref(&decided)) {
                Err(why) => Admission::Refusal(unrecorded(&why)),
                Ok(()) => {
                    let settling = Settling::new(Arc::clone(&self.ledger), decided);
                    Admission::Pending(Box::new(Pending { kind, question, tool: tool.to_owned(), settling }))
                }
            },
        }
    }

    /// Lets one of the operator's own programs in: recorded first, then started behind its walls.
    pub fn welcome(&self, guest: &Guest<'_>, subject: &Subject) -> Result<Visitor, GuestError> {
        self.welcome_saying(guest, &[], subject)
    }

    /// The same, with further words on its command line that the operator did not write: they show the guest no path,
    /// and stay out of the ledger.
    pub fn welcome_saying(
        &self,
        guest: &Guest<'_>,
        said: &[OsString],
        subject: &Subject,
    ) -> Result<Visitor, GuestError> {
        let mut ready = self.lodge.ready(guest)?;
        ready.spec.argv.extend_from_slice(said);
        let words: Vec<_> = guest.command.iter().map(|word| word.to_string_lossy()).collect();
        let who = guest.principal.directory();
        let intent = format!("start {} in {}: {}", who.display(), ready.work_dir.display(), words.join(" "));
        let grant = Grant { zone: Zone::Workspace, rule: "the operator's own command".to_owned() };
        let decided =
            Entry::decided(subject, "guest", &intent, &Verdict::Allow(grant)).enforcing(ready.layers);
        self.ledger.append(std::slice::from_ref(&decided))?;
        let settling = Settling::new(Arc::clone(&self.ledger), decided);
        match crate::launch::start(ready.spec) {
            Ok(running) => Ok(Visitor::new(running, settling)),
            Err(why) => {
                settling.settle_as(&format!("not started: {why}"));
                Err(why.into())
            }
        }
    }

    /// Records a call that only looks at what we know already: decided and finished at once.
    pub fn looked(&self, tool: &str, subject: &Subject, asked: &str) {
        let grant = Grant { zone: Zone::Workspace, rule: "looking".to_owned() };
        let decided = Entry::decided(subject, tool, &format!("look {asked}"), &Verdict::Allow(grant));
        let finished = decided.clone().finished("ok", Duration::ZERO);
        if let Err(why) = self.ledger.append(&[decided, finished]) {
            tracing::error!(target: "ledger", error = %why, "A look was not recorded");
        }
    }

    /// Whether a path lies where an agent can write.
    pub fn is_agents(&self, path: &Path) -> bool {
        let real = std::fs::canonicalize(path).ok();
        let places = [Some(path.to_owned()), real].into_iter().flatten();
        let mut places = places.filter_map(|place| CleanPath::absolute(&place));
        places.any(|place| {
            let is_shared =
                self.policy.shared.iter().any(|shared| place.as_path().starts_with(shared.as_path()));
            // What is Protected is nobody's, even where everything around it is everybody's.
            self.policy.agents.values().any(|agent| {
                let is_open = || is_shared && !agent.zones.is_protected(&place, Access::Write);
                agent.zones.in_workspace(&place).is_some() || is_open()
            })
        })
    }

    /// Refuses a call that never became an intent: an unknown tool, arguments that do not fit.
    pub fn turn_away(&self, tool: &str, subject: &Subject, refusal: Refusal) -> Refusal {
        let decided = Entry::decided(subject, tool, "", &Verdict::Deny(refusal.clone()));
        self.refuse(decided, refusal)
    }

    /// Nobody could be asked: a no, and recorded as one.
    pub fn unanswered<K: Kind>(&self, pending: Pending<K>) -> Refusal {
        pending.settling.settle_as("nobody could be asked");
        pending.question.refusal
    }

    /// Takes a person's answer to a pending question; a yes mints the key for exactly what was shown.
    pub fn answer<K: Kind>(
        &self,
        pending: Pending<K>,
        subject: &Subject,
        answer: Answer,
        by: &str,
    ) -> Admission<K> {
        let Pending { kind, question, tool, settling } = pending;
        settling.settle_as(&format!("answered {answer:?} by {by}").to_lowercase());
        let intent = kind.intent().to_string();
        match answer {
            Answer::No => {
                let refusal = Refusal { code: Code::NotApproved, layer: Layer::Approver, ..question.refusal };
                let verdict = Verdict::Deny(refusal.clone());
                Admission::Refusal(self.refuse(Entry::decided(subject, &tool, &intent, &verdict), refusal))
            }
            Answer::Once | Answer::Session => {
                let grant = Grant { rule: format!("approved by {by}"), ..question.grant };
                let verdict = Verdict::Allow(grant.clone());
                let decided = Entry::decided(subject, &tool, &intent, &verdict).enforcing(kind.enforced());
                self.mint(decided, grant, kind)
            }
        }
    }

    fn mint<K: Kind>(&self, decided: Entry, grant: Grant, kind: K) -> Admission<K> {
        match self.ledger.append(std::slice::from_ref(&decided)) {
            Err(why) => Admission::Refusal(unrecorded(&why)),
            Ok(()) => Admission::Permit(Permit::mint(kind, grant, Arc::clone(&self.ledger), decided)),
        }
    }

    /// A no is decided and finished at once: nothing will happen.
    fn refuse(&self, decided: Entry, refusal: Refusal) -> Refusal {
        let finished = decided.clone().finished("refused", Duration::ZERO);
        match self.ledger.append(&[decided, finished]) {
            Err(why) => unrecorded(&why),
            Ok(()) => refusal,
        }
    }
}

/// Every command and its verdict, for whoever listens at this level.
fn log(tool: &str, subject: &Subject, intent: &Intent, verdict: &Verdict) {
    let (word, rule) = match verdict {
        Verdict::Allow(grant) => ("allow", &grant.rule),
        Verdict::Ask(question) => ("ask", &question.refusal.rule),
        Verdict::Deny(refusal) => ("deny", &refusal.rule),
    };
    tracing::debug!(target: "desk", tool, agent = %subject.agent, intent = %intent, verdict = word, rule = %rule, "Decided");
}

fn unrecorded(why: &dyn std::error::Error) -> Refusal {
    Refusal {
        code: Code::LedgerUnavailable,
        sentence: format!("access denied: the ledger cannot be written: {why}"),
        rule: "write-ahead".to_owned(),
        layer: Layer::Ledger,
        hint: "nothing is permitted while decisions cannot be recorded; `picoclaw audit verify` looks at the ledger".to_owned(),
    }
}
