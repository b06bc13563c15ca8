//! Questions that wait for a person. An answer counts once, in time, and for the content whose hash
//! it names; everything else is a no.

use crate::question;
use crate::run::Ask;
use picoclaw_policy::Subject;
use picoclaw_sandbox::ledger::Timestamp;
use picoclaw_sandbox::permit::{Answer, Approval};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::oneshot;

/// How long a question waits for its answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Questions that may wait at once.
const MAX_OPEN: usize = 100;

/// The open questions. Clones share them.
#[derive(Clone, Default)]
pub struct Approvals(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    open: BTreeMap<u64, OpenQuestion>,
    last_id: u64,
}

struct OpenQuestion {
    hash: String,
    /// The question as the API lists it.
    listed: Value,
    answer: oneshot::Sender<Answer>,
}

/// Why an answer does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum AnswerError {
    /// The question does not exist, was answered, or has expired.
    #[error("there is no such open question: it was answered, it expired, or its turn ended")]
    NotOpen,
    /// The answer is about other content.
    #[error("the hash does not match the question: what you saw is not what would be done")]
    HashMismatch,
}

impl Approvals {
    /// Opens a question and returns its id and listing. `None` when too many are open.
    pub(super) fn open(&self, subject: &Subject, ask: Ask) -> Option<(u64, Value)> {
        let mut state = self.state();
        state.open.retain(|_, open| !open.answer.is_closed());
        if state.open.len() >= MAX_OPEN {
            tracing::warn!(target: "gateway", "Too many questions wait already; this one is answered with no");
            return None;
        }
        state.last_id += 1;
        let id = state.last_id;
        let now = SystemTime::now();
        let refusal = &ask.question.refusal;
        let listed = json!({
            "id": id.to_string(),
            "hash": ask.fingerprint,
            "agent": subject.agent.as_str(),
            "tool": ask.tool,
            "text": question::text(&ask.act, &ask.question),
            "lines": question::act_lines(&ask.act),
            "arguments": ask.act.arguments,
            "cwd": ask.act.path,
            "background": ask.act.background,
            "timeout_seconds": ask.act.timeout_seconds,
            "lineage": ask.act.lineage,
            "asked_at": Timestamp::at(now).to_string(),
            "expires_at": Timestamp::at(now + ANSWER_TIMEOUT).to_string(),
            "origin": subject.origin.as_str(),
            "session": subject.session,
            "why": refusal.sentence,
            "rule": refusal.rule,
            "hint": refusal.hint,
        });
        state
            .open
            .insert(id, OpenQuestion { hash: ask.fingerprint, listed: listed.clone(), answer: ask.answer });
        let approvals = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(ANSWER_TIMEOUT).await;
            approvals.expire(id);
        });
        Some((id, listed))
    }

    /// The open questions, the oldest first.
    pub(super) fn list(&self) -> Vec<Value> {
        let state = self.state();
        state.open.values().filter(|open| !open.answer.is_closed()).map(|open| open.listed.clone()).collect()
    }

    /// Answers question `id` for the content with this hash.
    pub(super) fn answer(&self, id: u64, hash: &str, answer: Answer) -> Result<(), AnswerError> {
        let mut state = self.state();
        let open = state.open.get(&id).ok_or(AnswerError::NotOpen)?;
        if open.hash != hash {
            return Err(AnswerError::HashMismatch);
        }
        let open = state.open.remove(&id).ok_or(AnswerError::NotOpen)?;
        open.answer.send(answer).map_err(|_| AnswerError::NotOpen)
    }

    /// Answers every question with no, at shutdown.
    pub fn close(&self) {
        for (_, open) in std::mem::take(&mut self.state().open) {
            let _ = open.answer.send(Answer::new(Approval::No, "shutdown: the gateway ended"));
        }
    }

    fn expire(&self, id: u64) {
        if let Some(open) = self.state().open.remove(&id) {
            let _ = open.answer.send(Answer::new(Approval::No, "timeout: no answer within 60 s"));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use picoclaw_policy::{AgentId, Code, Layer, Origin, Question, Refusal};
    use picoclaw_sandbox::act::Act;

    fn ask(text: &str) -> (Ask, oneshot::Receiver<Answer>) {
        let (answer, answered) = oneshot::channel();
        let refusal = Refusal {
            code: Code::DangerousCommand,
            sentence: "no".to_owned(),
            rule: "r".to_owned(),
            layer: Layer::Guard,
            hint: String::new(),
        };
        let question = Question { text: text.to_owned(), refusal };
        let act = Box::new(Act { arguments: json!({"command": text}), ..Act::default() });
        let fingerprint = format!("hash of {text}");
        let ask = Ask { tool: "exec".to_owned(), question, act, fingerprint, answer };
        (ask, answered)
    }

    fn yes() -> Answer {
        Answer::new(Approval::Once, "p")
    }

    fn subject() -> Subject {
        Subject::root(Origin::Http, AgentId::main(), "http:1")
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_counts_once_for_its_content_and_in_time() {
        let approvals = Approvals::default();
        let (first, answered) = ask("rm x");
        let (id, listed) = approvals.open(&subject(), first).unwrap();
        assert_eq!(listed["text"], "rm x");
        let wrong = approvals.answer(id, "hash of rm y", yes());
        assert_eq!(wrong, Err(AnswerError::HashMismatch), "another content");
        assert_eq!(approvals.answer(id + 1, "hash of rm x", yes()), Err(AnswerError::NotOpen));
        assert_eq!(approvals.answer(id, "hash of rm x", yes()), Ok(()));
        assert_eq!(answered.await.unwrap(), yes());
        let again = approvals.answer(id, "hash of rm x", yes());
        assert_eq!(again, Err(AnswerError::NotOpen), "a second time");

        let (late, answered) = ask("rm z");
        let (id, _) = approvals.open(&subject(), late).unwrap();
        assert_eq!(answered.await.unwrap().approval, Approval::No, "silence is a no");
        let late = approvals.answer(id, "hash of rm z", yes());
        assert_eq!(late, Err(AnswerError::NotOpen));

        let (given_up, answered) = ask("rm w");
        drop(answered);
        assert!(approvals.open(&subject(), given_up).is_some());
        assert!(approvals.list().is_empty(), "a turn that ended asks nothing");
    }

    #[tokio::test]
    async fn questions_are_bounded() {
        let approvals = Approvals::default();
        let waiting: Vec<_> = (0..MAX_OPEN).map(|at| ask(&at.to_string())).collect();
        let mut kept = Vec::new();
        for (ask, answered) in waiting {
            assert!(approvals.open(&subject(), ask).is_some());
            kept.push(answered);
        }
        assert!(approvals.open(&subject(), ask("one more").0).is_none());
        approvals.close();
        assert_eq!(kept.remove(0).await.unwrap().approval, Approval::No);
    }
}
