//! The loop of one turn: the model is asked, its tool calls run, until it has an answer.

use super::active_turn::ActiveTurn;
use super::conversation::{Conversation, Dropped};
use super::event::{Event, SubagentEvent};
use super::model_call::{self, ModelAnswer};
use super::strip_base64::strip_base64;
use super::tool_calls;
use super::tool_specs;
use super::turn::{Turn, TurnError, TurnOutcome};
use super::turn_slots::TurnSlot;
use crate::call::Reply;
use crate::executor::ToolExecutor;
use crate::hooks::TurnHooks;
use crate::message::{Message, Role, ToolCall};
use crate::providers::{Answer, FallbackChain, ProviderKind};
use crate::sessions::{RollbackPoint, Session, SessionError};
use picoclaw_sandbox::Redactor;

/// The answer in place of an empty one.
const EMPTY_ANSWER: &str =
    "The model returned an empty response. This may indicate a provider error or token limit.";

/// The message that asks the model for a summary after an interrupt.
const INTERRUPT: &str = "Interrupt requested. Stop scheduling tools and provide a short final summary.";

/// The results of calls that are skipped.
const SKIPPED_FOR_MESSAGE: &str = "Skipped due to queued user message.";
const SKIPPED_FOR_INTERRUPT: &str = "Skipped due to graceful interrupt.";

/// What all steps of a turn share.
pub(super) struct TurnContext<'t> {
    pub(super) turn: &'t Turn<'t>,
    pub(super) executor: &'t ToolExecutor,
    pub(super) hooks: &'t TurnHooks,
    /// Given up while a person is asked.
    pub(super) slot: Option<&'t TurnSlot>,
    pub(super) redactor: &'t Redactor,
}

impl TurnContext<'_> {
    /// Emits an event, to hooks as well.
    pub(super) fn emit(&self, event: Event) {
        if self.hooks.has_observers()
            && let Some(event) = event.hook_event(self.hooks.subject().depth)
        {
            self.hooks.notify(&event);
        }
        (self.turn.events)(event);
    }

    /// `text` with secrets filtered.
    pub(super) fn clean(&self, text: &str) -> String {
        self.redactor.clean(text).into_owned()
    }
}

/// A turn while it runs.
pub(super) struct TurnLoop<'t> {
    pub(super) context: &'t TurnContext<'t>,
    pub(super) chain: &'t FallbackChain,
    pub(super) active: &'t ActiveTurn,
    pub(super) conversation: Conversation,
    pub(super) session: SessionRollback,
    /// Requests to the model.
    pub(super) max_rounds: u64,
    /// Messages of this turn that the model is sent; `None` is no limit but the context window.
    pub(super) max_messages: Option<usize>,
    pub(super) outcome: TurnOutcome,
}

/// The session of a turn; rolled back on drop unless the turn is kept.
pub(super) struct SessionRollback {
    session: Session,
    before: RollbackPoint,
    is_kept: bool,
}

impl SessionRollback {
    pub(super) fn new(session: Session) -> Self {
        Self { before: session.rollback_point(), session, is_kept: false }
    }
}

impl Drop for SessionRollback {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        if let Err(error) = self.session.roll_back(&self.before) {
            tracing::warn!(target: "session", "A stopped turn could not be rolled back: {error}");
        }
    }
}

/// The result of one round.
enum RoundResult {
    Continue,
    Answer(String),
}

impl TurnLoop<'_> {
    /// Runs the turn to its end.
    pub(super) async fn run(mut self) -> Result<TurnOutcome, TurnError> {
        let answer = self.run_rounds().await;
        let (usage, needs_approval) = self.active.children.counted();
        self.outcome.usage += usage;
        self.outcome.needs_approval |= needs_approval;
        match answer {
            Ok(answer) => {
                let model_name = Some(self.outcome.model.clone()).filter(|model| !model.is_empty());
                self.push(Message { model_name, ..Message::text(Role::Assistant, answer) })?;
                self.keep().await?;
                let last = self.conversation.request.messages.pop();
                self.outcome.answer = last.map(|last| last.content).unwrap_or_default();
                Ok(self.outcome)
            }
            Err(error) => {
                // The results of tools are worth keeping; a question without any answer is not.
                if !error.rolls_back() && self.conversation.active_len() > 1 {
                    self.keep().await?;
                }
                Err(error)
            }
        }
    }

    async fn run_rounds(&mut self) -> Result<String, TurnError> {
        if self.conversation.is_too_long() {
            self.make_room()?;
        }
        self.push(Message::text(Role::User, self.context.turn.input.clone()))?;
        self.sync().await?;
        let answer = self.ask_and_call().await?;
        self.wait_for_children(answer).await
    }

    /// Asks the model and runs its calls, until it makes none.
    async fn ask_and_call(&mut self) -> Result<String, TurnError> {
        let turn = self.context.turn;
        loop {
            if turn.halt.is_cancelled() {
                return Err(TurnError::Halted);
            }
            let is_steered = self.take_steering()?;
            self.deliver_results()?;
            if turn.steering.take_interrupt() && self.is_model() {
                self.active.children.stop();
                return self.summarize_now().await;
            }
            if !is_steered && self.outcome.rounds >= self.max_rounds {
                return Ok(format!(
                    "Stopped after {max} rounds of tool calls: `agents.defaults.max_tool_iterations` is {max}. Raise it in config.json to let a turn go on longer.",
                    max = self.max_rounds
                ));
            }
            if let Some(why) = self.active.budget.spent() {
                return Ok(why);
            }
            let answer = self.ask().await?;
            if let RoundResult::Answer(answer) = self.finish_round(answer).await? {
                return Ok(answer);
            }
        }
    }

    fn is_model(&self) -> bool {
        self.chain.kind() == ProviderKind::Model
    }

    /// Adds one message that arrived meanwhile.
    fn take_steering(&mut self) -> Result<bool, TurnError> {
        if self.outcome.rounds == 0 {
            return Ok(false);
        }
        match self.context.turn.steering.take() {
            Some(text) => self.push(Message::text(Role::User, text)).map(|()| true),
            None => Ok(false),
        }
    }

    /// Adds the results of subagents that have ended.
    fn deliver_results(&mut self) -> Result<(), TurnError> {
        // The direct provider would take a result for a call.
        if !self.is_model() {
            return Ok(());
        }
        while let Some(child) = self.active.children.take() {
            self.push(Message::text(Role::User, strip_base64(child.text())))?;
            self.context.emit(Event::Subagent { info: child.info, event: SubagentEvent::Delivered });
        }
        Ok(())
    }

    /// Waits for the result of a subagent, or for a message.
    async fn wait(&self) -> Result<(), TurnError> {
        let turn = self.context.turn;
        let waiting = async {
            tokio::select! {
                biased;
                () = turn.halt.cancelled() => Err(TurnError::Halted),
                () = self.active.children.changed() => Ok(()),
                () = turn.steering.received() => Ok(()),
            }
        };
        self.active.rest_while(waiting).await
    }

    /// Waits for every subagent that is left, and adds the results to the session.
    async fn wait_for_children(&mut self, mut answer: String) -> Result<String, TurnError> {
        let children = &self.active.children;
        while children.is_busy() {
            tokio::select! {
                biased;
                () = self.context.turn.halt.cancelled() => return Err(TurnError::Halted),
                () = self.active.rest_while(children.changed()) => {}
            }
            self.deliver_results()?;
            // Left here with the direct provider: the results become part of the answer.
            while let Some(child) = children.take() {
                answer = format!("{}\n{}", answer.trim_end_matches('\n'), child.text());
            }
        }
        Ok(answer)
    }

    /// Makes one last request, without tools.
    async fn summarize_now(&mut self) -> Result<String, TurnError> {
        let tools = std::mem::take(&mut self.conversation.request.tools);
        self.push(Message::text(Role::User, INTERRUPT))?;
        let answer = self.ask().await;
        self.conversation.request.tools = tools;
        // Calls that it makes all the same are dropped: they would have no results.
        Ok(or_empty_answer(answer?.content))
    }

    /// Runs the calls of an answer, or takes it as the last one.
    async fn finish_round(&mut self, answer: Answer) -> Result<RoundResult, TurnError> {
        if answer.tool_calls.is_empty() {
            let has_children = self.active.children.is_busy() && self.is_model();
            if !self.context.turn.steering.is_waiting() && !has_children {
                return Ok(RoundResult::Answer(or_empty_answer(answer.content)));
            }
            if !answer.content.is_empty() {
                self.push(Message::text(Role::Assistant, answer.content.clone()))?;
            }
            if has_children {
                self.context.emit(Event::Said(self.context.clean(&answer.content)));
                self.wait().await?;
            }
            return Ok(RoundResult::Continue);
        }
        let calls = answer.tool_calls.clone();
        self.push(Message {
            tool_calls: answer.tool_calls,
            reasoning_content: answer.reasoning,
            model_name: Some(self.outcome.model.clone()),
            ..Message::text(Role::Assistant, answer.content)
        })?;
        for call in calls {
            let text = match self.skip_reason() {
                Some(why) => why.to_owned(),
                None => self.call(&call).await?,
            };
            self.push(Message::result(call.id, text))?;
        }
        let TurnContext { executor, turn, .. } = self.context;
        executor.registry().round_over(&turn.subject);
        self.conversation.set_tools(tool_specs::visible(executor, &turn.subject));
        Ok(RoundResult::Continue)
    }

    /// Why the rest of a batch of calls is skipped.
    fn skip_reason(&self) -> Option<&'static str> {
        let steering = self.context.turn.steering;
        if !self.is_model() {
            return None;
        }
        if steering.is_interrupted() {
            return Some(SKIPPED_FOR_INTERRUPT);
        }
        steering.is_waiting().then_some(SKIPPED_FOR_MESSAGE)
    }

    async fn call(&mut self, call: &ToolCall) -> Result<String, TurnError> {
        let reply = tool_calls::run(self.context, self.outcome.rounds, call).await?;
        self.outcome.needs_approval |= matches!(reply, Reply::NeedsApproval(_));
        self.outcome.failed = !matches!(reply, Reply::Done(_));
        if self.context.turn.halt.is_cancelled() {
            return Err(TurnError::Halted);
        }
        let text = reply.text();
        Ok(if self.is_model() { strip_base64(text) } else { text })
    }

    /// Asks the model; drops the oldest messages as long as it says that there are too many.
    async fn ask(&mut self) -> Result<Answer, TurnError> {
        if let Some(max) = self.max_messages {
            self.conversation.trim(max);
        }
        loop {
            self.outcome.rounds += 1;
            let asked =
                model_call::ask(self.context, self.chain, &self.conversation, self.outcome.rounds).await?;
            let Some(ModelAnswer { answer, model, tokens }) = asked else {
                self.make_room()?;
                continue;
            };
            self.outcome.model = model;
            self.outcome.usage += answer.usage;
            self.active.budget.add(tokens)?;
            return Ok(answer);
        }
    }

    /// Drops the oldest turns; an error when only the active one is left.
    fn make_room(&mut self) -> Result<(), TurnError> {
        match self.conversation.compress() {
            Some(Dropped { messages, first }) => {
                self.session.session.set_summary(self.conversation.summary(), first)?;
                self.context.emit(Event::Compacted { dropped: messages });
                Ok(())
            }
            // Before the first request only the estimate says so: the model may take more.
            None if self.outcome.rounds == 0 => Ok(()),
            None => Err(TurnError::TooLong),
        }
    }

    /// Adds a message to the conversation and to the session.
    fn push(&mut self, message: Message) -> Result<(), TurnError> {
        let message = self.conversation.push(message);
        Ok(self.session.session.append(message)?)
    }

    /// Keeps the messages of this turn in the session.
    async fn keep(&mut self) -> Result<(), TurnError> {
        self.session.is_kept = true;
        self.sync().await
    }

    async fn sync(&self) -> Result<(), TurnError> {
        let Some(durability) = self.session.session.durability() else { return Ok(()) };
        let synced = tokio::task::spawn_blocking(move || durability.sync()).await;
        Ok(synced.map_err(|error| TurnError::Broken(error.to_string()))?.map_err(SessionError::from)?)
    }
}

fn or_empty_answer(content: String) -> String {
    if content.trim().is_empty() { EMPTY_ANSWER.to_owned() } else { content }
}
