//! The warden, a reference monitor: judges each effect, records the decision, and only then issues
//! a permit.

use crate::act::{Act, Operands};
use crate::agent_writable::AgentWritable;
use crate::always::AlwaysRules;
use crate::command_error::CommandError;
use crate::exec::{Exec, ExecEnv, HostFs, RunMode};
use crate::files::{Files, Located};
use crate::helper::{HelperLauncher, HelperSpec, RunningHelper};
use crate::ledger::{Entry, Ledger};
use crate::permit::{Answer, Approval, Effect, OutcomeGuard, Permit};
use crate::root::RootError;
use picoclaw_policy::config::mask_words;
use picoclaw_policy::shell::guard::Judgement;
use picoclaw_policy::{
    ASK_RULE, Access, AgentId, CleanPath, Code, CommandContext, ExecIntent, Grant, Intent, Layer, PathFault,
    Policy, Question, Refusal, Subject, Verdict,
};
use serde_json::Value;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The warden's answer to an effect.
#[derive(Debug)]
#[must_use = "dropping an admission abandons its permit"]
pub enum Admission<E: Effect> {
    /// The effect may happen.
    Permit(Permit<E>),
    /// The effect is refused.
    Refusal(Refusal),
    /// A person must approve first.
    Pending(Box<Pending>),
}

/// A call, as far as the warden must know it to bind a person's answer to it.
#[derive(Debug, Clone, Copy)]
pub struct Request<'r> {
    /// The tool.
    pub tool: &'r str,
    /// Every argument.
    pub arguments: &'r Value,
    /// On whose behalf.
    pub subject: &'r Subject,
    /// What a person approved, when the call is made again after the answer.
    pub approved: Option<&'r Approved>,
}

/// An act that waits for a person's approval; it holds no thread. Dropped unanswered, it is
/// recorded as abandoned.
pub struct Pending {
    question: Question,
    act: Act,
    operands: Operands,
    intent: String,
    outcome: OutcomeGuard,
    /// The handles of the effect stay open, so that no inode number is used again meanwhile.
    _effect: Box<dyn Send>,
}

impl Pending {
    /// What to ask the person.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The whole act.
    pub fn act(&self) -> &Act {
        &self.act
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("act", &self.act)
            .field("question", &self.question)
            .finish_non_exhaustive()
    }
}

/// A person's yes to one act. The call is made again with it, and judged again.
#[derive(Debug)]
pub struct Approved {
    digest: String,
    operands: Operands,
    by: String,
    is_used: AtomicBool,
}

impl Approved {
    /// Whether this is the act that was approved. A call that `tools.ask` names is approved as a
    /// whole, with the effects that follow its first one.
    fn covers(&self, act: &Act, operands: &Operands, question: &Question) -> bool {
        let follows = self.is_used.load(Ordering::Relaxed) && question.refusal.rule == ASK_RULE;
        let is_same = !operands.is_cut && *operands == self.operands && act.digest() == self.digest;
        let covers = follows || is_same;
        self.is_used.fetch_or(covers, Ordering::Relaxed);
        covers
    }
}

/// Judges effects by the policy and issues permits. Nothing else does; what cannot be recorded is
/// not permitted.
#[derive(Debug)]
pub struct Warden {
    policy: Policy,
    files: Files,
    exec_env: ExecEnv,
    helpers: HelperLauncher,
    ledger: Arc<Ledger>,
    always: AlwaysRules,
}

/// Why a path could not be looked up.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// The text is not a path.
    #[error(transparent)]
    Path(#[from] PathFault),
    /// The lookup itself failed.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The configuration knows no such agent.
    #[error("there is no agent `{0}`")]
    NoAgent(AgentId),
}

impl Warden {
    /// A warden over this policy and these files, recording in this ledger.
    pub fn new(policy: Policy, files: Files, exec_env: ExecEnv, ledger: Ledger) -> Self {
        let settings = exec_env.settings().clone();
        let rules = policy.write_rules.clone();
        let writable = AgentWritable::of_instance(&settings.instance, &settings.isolation, rules);
        let helpers = HelperLauncher::new(settings, writable);
        Self { policy, files, exec_env, helpers, ledger: Arc::new(ledger), always: AlwaysRules::default() }
    }

    /// The same, with these rules of the person.
    #[must_use]
    pub fn with_always(self, always: AlwaysRules) -> Self {
        Self { always, ..self }
    }

    /// The rules of the person.
    pub fn always(&self) -> &AlwaysRules {
        &self.always
    }

    /// Looks a path up for `subject`. Looking is not an effect, and opens nothing that the policy
    /// closes by its text.
    pub fn locate(&self, access: Access, path: &Path, subject: &Subject) -> Result<Located, LocateError> {
        let asked = self.absolute(path, subject)?;
        Ok(self.files.locate(&self.policy, access, &asked, subject)?)
    }

    /// Prepares a command that would start in `cwd`: runs the guard on it and looks the directory
    /// up.
    pub fn prepare_command(&self, command: &str, cwd: &Path, subject: &Subject) -> Result<Exec, LocateError> {
        let (judgement, operands) = self.inspect(command, cwd, subject, false)?;
        let Located { target: cwd, place } = self.locate(Access::List, cwd, subject)?;
        let env = self.exec_env.agent(&subject.agent);
        let layers = env.map(|env| env.confined.layers()).unwrap_or_default();
        let intent = ExecIntent { command: command.to_owned(), cwd, judgement };
        Ok(Exec { intent, place, layers, operands, mode: RunMode::default() })
    }

    /// What the guard finds in lines for a shell that waits for them in `cwd`.
    pub fn inspect_input(
        &self,
        lines: &str,
        cwd: &Path,
        subject: &Subject,
    ) -> Result<Judgement, LocateError> {
        self.inspect(lines, cwd, subject, true).map(|(judgement, _)| judgement)
    }

    /// What the guard finds in `command`, and what its paths lead to if a person may be asked about
    /// it.
    fn inspect(
        &self,
        command: &str,
        cwd: &Path,
        subject: &Subject,
        script_is_input: bool,
    ) -> Result<(Judgement, Operands), LocateError> {
        let cwd = self.absolute(cwd, subject)?;
        let unknown = || LocateError::NoAgent(subject.agent.clone());
        let env = self.exec_env.agent(&subject.agent).ok_or_else(unknown)?;
        let host = HostFs::new(&self.files, &env.path);
        let context = CommandContext {
            cwd: &cwd,
            home: env.home.as_ref(),
            own: &env.own,
            script_is_input,
            dialect: self.exec_env.shell(),
            confinement: env.confinement,
            file_system: &host,
        };
        let judgement = self.policy.inspect_command(command, &context, subject).ok_or_else(unknown)?;
        let may_ask = !judgement.is_allowed() || self.policy.asks_about("exec");
        let operands = if may_ask { host.operands(&judgement) } else { Operands::default() };
        Ok((judgement, operands))
    }

    fn absolute(&self, path: &Path, subject: &Subject) -> Result<CleanPath, LocateError> {
        let unknown = || LocateError::NoAgent(subject.agent.clone());
        Ok(self.files.absolute(path, subject).ok_or_else(unknown)??)
    }

    /// What running a command needs beside a permit.
    pub fn exec_env(&self) -> &ExecEnv {
        &self.exec_env
    }

    /// The launcher of helper programs.
    pub fn helpers(&self) -> &HelperLauncher {
        &self.helpers
    }

    /// What writing needs beside a permit.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// The policy in force.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The verdict on an effect, without a record and without a permit.
    pub fn evaluate<E: Effect>(&self, tool: &str, subject: &Subject, effect: &E) -> Verdict {
        match self.policy.check_tool(tool, subject) {
            Err(refusal) => Verdict::Deny(refusal),
            Ok(()) => self.policy.judge_call(tool, &effect.intent(), subject),
        }
    }

    /// Judges an effect, writes the *decided* record and returns the permit, the refusal or the
    /// question.
    pub fn admit<E: Effect + Send + 'static>(&self, request: &Request<'_>, effect: E) -> Admission<E> {
        let Request { tool, subject, .. } = *request;
        let verdict = self.evaluate(tool, subject, &effect);
        log(tool, subject, &effect.intent(), &verdict);
        let decided = Entry::decided(subject, tool, &effect.intent().to_string(), &verdict)
            .enforcing(effect.enforced());
        match verdict {
            Verdict::Deny(refusal) => Admission::Refusal(self.refuse(decided, refusal)),
            Verdict::Allow(_) => self.mint(decided, effect),
            Verdict::Ask(question) => self.ask(request, effect, question, decided),
        }
    }

    /// Lets a person's yes count for exactly the act that was shown; opens the question otherwise.
    fn ask<E: Effect + Send + 'static>(
        &self,
        request: &Request<'_>,
        effect: E,
        question: Question,
        decided: Entry,
    ) -> Admission<E> {
        let Request { tool, arguments, subject, approved } = *request;
        let facts = effect.facts();
        let act = Act::new(tool, arguments, subject, &facts, effect.enforced(), &question.refusal.rule);
        let intent = effect.intent().to_string();
        if let Some(approved) = approved {
            if approved.covers(&act, &facts.operands, &question) {
                let verdict = Verdict::Allow(Grant { rule: format!("approved by {}", approved.by) });
                let decided = Entry::decided(subject, tool, &intent, &verdict).enforcing(effect.enforced());
                return self.mint(decided, effect);
            }
            let refusal = Refusal {
                code: Code::NotApproved,
                layer: Layer::Approver,
                hint: "what was approved is not what would be done now: its directory or files changed meanwhile"
                    .to_owned(),
                ..question.refusal
            };
            let decided = Entry::decided(subject, tool, &intent, &Verdict::Deny(refusal.clone()));
            return Admission::Refusal(self.refuse(decided, refusal));
        }
        match self.ledger.append(std::slice::from_ref(&decided)) {
            Err(why) => Admission::Refusal(unrecorded(&why)),
            Ok(()) => {
                let outcome = OutcomeGuard::new(Arc::clone(&self.ledger), decided);
                let (operands, effect) = (facts.operands, Box::new(effect));
                Admission::Pending(Box::new(Pending {
                    question,
                    act,
                    operands,
                    intent,
                    outcome,
                    _effect: effect,
                }))
            }
        }
    }

    /// Records and starts a helper program of the operator.
    pub fn start_helper(
        &self,
        helper: &HelperSpec<'_>,
        subject: &Subject,
    ) -> Result<RunningHelper, CommandError> {
        self.start_helper_with_args(helper, &[], subject)
    }

    /// The same, with further arguments that the operator did not write: they show the helper no
    /// path, and stay out of the ledger.
    pub fn start_helper_with_args(
        &self,
        helper: &HelperSpec<'_>,
        arguments: &[OsString],
        subject: &Subject,
    ) -> Result<RunningHelper, CommandError> {
        let mut prepared = self.helpers.prepare(helper)?;
        prepared.spec.argv.extend_from_slice(arguments);
        let words: Vec<_> = helper.command.iter().map(|word| word.to_string_lossy()).collect();
        let intent = format!(
            "start {} in {}: {}",
            helper.principal.directory().display(),
            prepared.work_dir.display(),
            mask_words(&words).join(" ")
        );
        let grant = Grant { rule: "the operator's own command".to_owned() };
        let decided = Entry::decided(subject, "helper", &intent, &Verdict::Allow(grant))
            .enforcing(std::mem::take(&mut prepared.layers));
        self.ledger.append(std::slice::from_ref(&decided))?;
        let outcome = OutcomeGuard::new(Arc::clone(&self.ledger), decided);
        Ok(RunningHelper::start(prepared, outcome)?)
    }

    /// Records a call that only reads what the program knows already: decided and finished at once.
    pub fn record_read_only(&self, tool: &str, subject: &Subject, what: &str) {
        let grant = Grant { rule: "read-only".to_owned() };
        let decided = Entry::decided(subject, tool, &format!("look {what}"), &Verdict::Allow(grant));
        let finished = decided.clone().finished("ok", Duration::ZERO);
        if let Err(why) = self.ledger.append(&[decided, finished]) {
            tracing::error!(target: "ledger", error = %why, "A read-only call was not recorded");
        }
    }

    /// Whether an agent may write at a path.
    pub fn is_agent_writable(&self, path: &Path) -> bool {
        let real = std::fs::canonicalize(path).ok();
        let paths = [Some(path.to_owned()), real].into_iter().flatten();
        let mut paths = paths.filter_map(|path| CleanPath::absolute(&path));
        paths.any(|path| {
            let is_shared =
                self.policy.shared.iter().any(|shared| path.as_path().starts_with(shared.as_path()));
            self.policy.agents.values().any(|agent| {
                // What is Protected stays so within a directory that all users share.
                let is_open = || is_shared && !agent.zones.is_protected(&path, Access::Write);
                agent.zones.in_workspace(&path).is_some() || is_open()
            })
        })
    }

    /// Refuses a call that never became an intent: an unknown tool, invalid arguments.
    pub fn refuse_call(&self, tool: &str, subject: &Subject, refusal: Refusal) -> Refusal {
        let decided = Entry::decided(subject, tool, "", &Verdict::Deny(refusal.clone()));
        self.refuse(decided, refusal)
    }

    /// Refuses a pending act because no person could be asked.
    pub fn unanswered(&self, pending: Pending) -> Refusal {
        pending.outcome.settle_as("no approver was available");
        pending.question.refusal
    }

    /// Takes a person's answer to a pending act. With a yes the call is made again, and judged
    /// again.
    pub fn answer(&self, pending: Pending, subject: &Subject, answer: &Answer) -> Result<Approved, Refusal> {
        let Pending { question, act, operands, intent, outcome, _effect } = pending;
        let Answer { approval, by, reason } = answer;
        outcome.settle_as(&format!("answered {approval:?} by {by}").to_lowercase());
        if *approval != Approval::No {
            let (digest, by) = (act.digest(), by.clone());
            return Ok(Approved { digest, operands, by, is_used: AtomicBool::new(false) });
        }
        let hint = match reason {
            Some(reason) => format!("a person refused it: {reason}"),
            None => question.refusal.hint,
        };
        let refusal = Refusal { code: Code::NotApproved, layer: Layer::Approver, hint, ..question.refusal };
        let verdict = Verdict::Deny(refusal.clone());
        Err(self.refuse(Entry::decided(subject, &act.tool, &intent, &verdict), refusal))
    }

    fn mint<E: Effect>(&self, decided: Entry, effect: E) -> Admission<E> {
        match self.ledger.append(std::slice::from_ref(&decided)) {
            Err(why) => Admission::Refusal(unrecorded(&why)),
            Ok(()) => Admission::Permit(Permit::mint(effect, Arc::clone(&self.ledger), decided)),
        }
    }

    /// A refusal is decided and finished at once.
    fn refuse(&self, decided: Entry, refusal: Refusal) -> Refusal {
        let finished = decided.clone().finished("refused", Duration::ZERO);
        match self.ledger.append(&[decided, finished]) {
            Err(why) => unrecorded(&why),
            Ok(()) => refusal,
        }
    }
}

fn log(tool: &str, subject: &Subject, intent: &Intent, verdict: &Verdict) {
    let (word, rule) = match verdict {
        Verdict::Allow(grant) => ("allow", &grant.rule),
        Verdict::Ask(question) => ("ask", &question.refusal.rule),
        Verdict::Deny(refusal) => ("deny", &refusal.rule),
    };
    tracing::debug!(target: "policy", tool, agent = %subject.agent, intent = %intent, verdict = word, rule = %rule, "Decided");
}

fn unrecorded(why: &dyn std::error::Error) -> Refusal {
    Refusal {
        code: Code::LedgerUnavailable,
        sentence: format!("access denied: the ledger cannot be written: {why}"),
        rule: "write-ahead".to_owned(),
        layer: Layer::Ledger,
        hint: "nothing is permitted while decisions cannot be recorded; `picoclaw audit verify` checks the ledger".to_owned(),
    }
}
