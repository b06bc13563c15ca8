//! A turn while it runs: its conversation, its session, and what it has come to so far.
//!
//! Invariant: whatever was said is in the conversation and in the session; a turn that is given up leaves its session as it found it.

use super::asking::{self, Said};
use super::calls;
use super::conversation::{Conversation, Dropped};
use super::escort::Escort;
use super::event::Event;
use super::lane::Lane;
use super::offer;
use super::plain::plain;
use super::purse::Allowance;
use super::turn::{Ending, Turn, TurnError};
use crate::call::Reply;
use crate::hall::Hall;
use crate::message::{Message, Role, ToolCall};
use crate::providers::{Answer, Chain, ProviderKind, Usage};
use crate::sessions::{Mark, Session, SessionError};
use crate::spawn::{Brought, Present, Subturn, Turning};
use picoclaw_sandbox::Redactor;

/// What an answer without words becomes.
const EMPTY: &str =
    "The model returned an empty response. This may indicate a provider error or token limit.";

/// What a model is told that is asked to come to an end.
const INTERRUPT: &str = "Interrupt requested. Stop scheduling tools and provide a short final summary.";

/// What a call comes to that was overtaken.
const OVERTAKEN: &str = "Skipped due to queued user message.";
const INTERRUPTED: &str = "Skipped due to graceful interrupt.";

/// A running turn.
pub(super) struct Sitting<'t> {
    pub(super) turn: &'t Turn<'t>,
    pub(super) hall: &'t Hall,
    pub(super) escort: &'t Escort,
    /// Free while a person is asked.
    pub(super) lane: Option<&'t Lane>,
    pub(super) chain: &'t Chain,
    pub(super) redactor: &'t Redactor,
    pub(super) conversation: Conversation,
    pub(super) standing: Standing,
    pub(super) allowance: Allowance,
    /// How often the model may be asked.
    pub(super) most_rounds: u64,
    /// How many messages of this turn the model is sent; nothing is no limit but its own.
    pub(super) most_messages: Option<usize>,
    /// This turn, as its subagents know it.
    pub(super) kin: &'t Present,
    pub(super) so_far: Ending,
}

/// The session of a running turn; given up, it is as it was before.
pub(super) struct Standing {
    pub(super) session: Session,
    before: Mark,
    is_over: bool,
}

impl Standing {
    pub(super) fn new(session: Session) -> Self {
        Self { before: session.mark(), session, is_over: false }
    }

    /// What was said stays.
    fn keep(&mut self) {
        self.is_over = true;
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if let Err(why) = self.session.roll_back(&self.before) {
            tracing::warn!(target: "session", "A stopped turn could not be taken back: {why}");
        }
    }
}

/// What comes after a round.
enum Next {
    Again,
    Done(String),
}

impl Sitting<'_> {
    /// Runs the turn to its end.
    pub(super) async fn run(mut self) -> Result<Ending, TurnError> {
        let ended = self.rounds().await;
        let (usage, is_unasked) = self.kin.brood().counted();
        add(&mut self.so_far.usage, usage);
        self.so_far.unasked |= is_unasked;
        match ended {
            Ok(answer) => {
                let model = Some(self.so_far.model.clone()).filter(|model| !model.is_empty());
                self.say(Message { model_name: model, ..Message::text(Role::Assistant, answer) })?;
                self.standing.keep();
                self.sync().await?;
                let last = self.conversation.request.messages.pop();
                Ok(Ending { answer: last.map(|last| last.content).unwrap_or_default(), ..self.so_far })
            }
            Err(why) => {
                // What tools have done is worth knowing later; a question that nobody took up is not.
                if !matches!(why, TurnError::Halted | TurnError::Undone(_))
                    && self.conversation.active_len() > 1
                {
                    self.standing.keep();
                    self.sync().await?;
                }
                Err(why)
            }
        }
    }

    async fn rounds(&mut self) -> Result<String, TurnError> {
        if self.conversation.is_over() {
            self.make_room()?;
        }
        self.say(Message::text(Role::User, self.turn.input.clone()))?;
        self.sync().await?;
        let answer = self.converse().await?;
        self.gather(answer).await
    }

    /// Asks and calls, until the model has nothing more to ask for.
    async fn converse(&mut self) -> Result<String, TurnError> {
        loop {
            if self.turn.halt.is_cancelled() {
                return Err(TurnError::Halted);
            }
            let steered = self.steer()?;
            self.deliver()?;
            if self.turn.steering.take_interrupt() && self.chain.kind() == ProviderKind::Model {
                self.kin.brood().stop();
                return self.sum_up().await;
            }
            if !steered && self.so_far.rounds >= self.most_rounds {
                return Ok(format!(
                    "Stopped after {most} rounds of tool calls: `agents.defaults.max_tool_iterations` is {most}. Raise it in config.json to let a turn go on longer.",
                    most = self.most_rounds
                ));
            }
            if let Some(why) = self.allowance.spent() {
                return Ok(why);
            }
            let answer = self.ask().await?;
            if let Next::Done(answer) = self.take_up(answer).await? {
                return Ok(answer);
            }
        }
    }

    /// Gives the model what was said meanwhile, one message at a time.
    fn steer(&mut self) -> Result<bool, TurnError> {
        if self.so_far.rounds == 0 {
            return Ok(false);
        }
        match self.turn.steering.take() {
            Some(text) => self.say(Message::text(Role::User, text)).map(|()| true),
            None => Ok(false),
        }
    }

    /// Gives the model what its subagents have brought so far.
    fn deliver(&mut self) -> Result<(), TurnError> {
        // What asks no model would take a result for a call.
        if self.chain.kind() == ProviderKind::Direct {
            return Ok(());
        }
        while let Some(Brought { who, text }) = self.kin.brood().take() {
            self.say(Message::text(Role::User, plain(text)))?;
            (self.turn.events)(Event::Subturn(Subturn { who, what: Turning::Delivered }));
        }
        Ok(())
    }

    /// Waits until a subagent brings something, or somebody says something.
    async fn wait(&self) -> Result<(), TurnError> {
        let (brood, steering) = (self.kin.brood(), self.turn.steering);
        let waiting = async {
            tokio::select! {
                biased;
                () = self.turn.halt.cancelled() => Err(TurnError::Halted),
                () = brood.changed() => Ok(()),
                () = steering.spoken() => Ok(()),
            }
        };
        self.kin.rest_while(waiting).await
    }

    /// Waits for every subagent that is left; what they bring is in the session, and nothing of it is lost.
    async fn gather(&mut self, mut answer: String) -> Result<String, TurnError> {
        while self.kin.brood().is_busy() {
            tokio::select! {
                biased;
                () = self.turn.halt.cancelled() => return Err(TurnError::Halted),
                () = self.kin.rest_while(self.kin.brood().changed()) => {}
            }
            self.deliver()?;
            // Only a literal answer is left here: the results become part of it.
            while let Some(Brought { text, .. }) = self.kin.brood().take() {
                answer = format!("{}\n{text}", answer.trim_end_matches('\n'));
            }
        }
        Ok(answer)
    }

    /// One last request without tools.
    async fn sum_up(&mut self) -> Result<String, TurnError> {
        let tools = std::mem::take(&mut self.conversation.request.tools);
        self.say(Message::text(Role::User, INTERRUPT))?;
        let answer = self.ask().await;
        self.conversation.request.tools = tools;
        // Calls that it makes all the same are not run, and not kept: they would have no results.
        Ok(spoken(answer?.content))
    }

    /// Runs what the answer calls for, or takes it as the last word.
    async fn take_up(&mut self, answer: Answer) -> Result<Next, TurnError> {
        if answer.tool_calls.is_empty() {
            let has_kin = self.kin.brood().is_busy() && self.chain.kind() == ProviderKind::Model;
            if !self.turn.steering.is_waiting() && !has_kin {
                return Ok(Next::Done(spoken(answer.content)));
            }
            // Somebody spoke meanwhile, or will: what was said stands, and the turn goes on.
            if !answer.content.is_empty() {
                self.say(Message::text(Role::Assistant, answer.content.clone()))?;
            }
            if has_kin {
                (self.turn.events)(Event::Said(self.redactor.clean(&answer.content).into_owned()));
                self.wait().await?;
            }
            return Ok(Next::Again);
        }
        let model_name = Some(self.so_far.model.clone());
        let calls = answer.tool_calls.clone();
        let calling = Message {
            tool_calls: answer.tool_calls,
            reasoning_content: answer.reasoning,
            model_name,
            ..Message::text(Role::Assistant, answer.content)
        };
        self.say(calling)?;
        for call in calls {
            let text = match self.overtaken() {
                Some(why) => why.to_owned(),
                None => self.call(&call).await?,
            };
            self.say(Message::result(call.id, text))?;
        }
        if let Some(tools) = offer::anew(self.hall, &self.turn.subject, &self.conversation.request.tools) {
            self.conversation.offer(tools);
        }
        Ok(Next::Again)
    }

    /// Why the rest of a batch is not run.
    fn overtaken(&self) -> Option<&'static str> {
        if self.chain.kind() == ProviderKind::Direct {
            return None;
        }
        let steering = self.turn.steering;
        if steering.is_interrupted() {
            return Some(INTERRUPTED);
        }
        steering.is_waiting().then_some(OVERTAKEN)
    }

    async fn call(&mut self, call: &ToolCall) -> Result<String, TurnError> {
        let way =
            calls::Way { hall: self.hall, escort: self.escort, lane: self.lane, round: self.so_far.rounds };
        let reply = calls::run(&way, call, self.turn, self.redactor).await?;
        self.so_far.unasked |= matches!(reply, Reply::Unasked(_));
        self.so_far.failed = !matches!(reply, Reply::Done(_));
        if self.turn.halt.is_cancelled() {
            return Err(TurnError::Halted);
        }
        Ok(match self.chain.kind() {
            ProviderKind::Model => plain(reply.text()),
            ProviderKind::Direct => reply.text(),
        })
    }

    async fn ask(&mut self) -> Result<Answer, TurnError> {
        if let Some(most) = self.most_messages {
            self.conversation.trim(most);
        }
        loop {
            self.so_far.rounds += 1;
            let round = self.so_far.rounds;
            match asking::ask((self.chain, self.escort), &self.conversation, self.turn, self.redactor, round)
                .await
            {
                Ok(Said { answer, model, tokens }) => {
                    self.so_far.model = model;
                    add(&mut self.so_far.usage, answer.usage);
                    self.allowance.book(tokens)?;
                    return Ok(answer);
                }
                Err(Some(why)) => return Err(why),
                Err(None) => self.make_room()?,
            }
        }
    }

    /// Drops the oldest turns; an error when only the active one is left.
    fn make_room(&mut self) -> Result<(), TurnError> {
        match self.conversation.compress() {
            Some(Dropped { messages, first }) => {
                self.standing.session.summarise(self.conversation.summary(), first)?;
                (self.turn.events)(Event::Compacted { dropped: messages });
                Ok(())
            }
            // Before the first request nobody has refused yet: the model may take more than was estimated.
            None if self.so_far.rounds == 0 => Ok(()),
            None => Err(TurnError::TooLong),
        }
    }

    /// Adds a message to the conversation and to the session.
    fn say(&mut self, message: Message) -> Result<(), TurnError> {
        let said = self.conversation.push(message);
        Ok(self.standing.session.append(said)?)
    }

    async fn sync(&self) -> Result<(), TurnError> {
        let Some(durability) = self.standing.session.durability() else { return Ok(()) };
        let synced = tokio::task::spawn_blocking(move || durability.sync()).await;
        Ok(synced.map_err(|why| TurnError::Broken(why.to_string()))?.map_err(SessionError::from)?)
    }
}

fn spoken(content: String) -> String {
    if content.trim().is_empty() { EMPTY.to_owned() } else { content }
}

fn add(usage: &mut Usage, more: Usage) {
    usage.input += more.input;
    usage.output += more.output;
}
