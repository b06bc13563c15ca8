//! The request to the model, kept within its context window: instructions, earlier turns, and the
//! active turn.

use super::token_estimate;
use crate::message::{Message, Role};
use crate::providers::{Request, ToolSpec};
use crate::sessions::StoredMessage;
use picoclaw_sandbox::Redactor;

/// The conversation of a turn. Configured secrets are filtered from everything in it.
pub(super) struct Conversation {
    pub(super) request: Request,
    /// The line numbers of the earlier messages, which follow the instructions.
    lines: Vec<u64>,
    /// The line number behind them.
    end: u64,
    instructions: String,
    summary: String,
    /// Estimated tokens of the messages.
    message_tokens: u64,
    /// Estimated tokens of the tools.
    tool_tokens: u64,
    context_window: u64,
    redactor: Redactor,
}

/// What was dropped to make room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dropped {
    /// How many messages.
    pub(super) messages: usize,
    /// The line number of the first that stayed.
    pub(super) first: u64,
}

impl Conversation {
    /// From the messages of a session; `request` has everything but messages.
    pub(super) fn new(
        request: Request,
        context_window: u64,
        instructions: &str,
        summary: &str,
        history: Vec<StoredMessage>,
        end: u64,
        redactor: Redactor,
    ) -> Self {
        let tool_tokens = token_estimate::of_tools(&request.tools);
        let (lines, history): (Vec<u64>, Vec<Message>) =
            history.into_iter().map(|stored| (stored.line, stored.message)).unzip();
        let instructions = redactor.clean(instructions).into_owned();
        let summary = redactor.clean(summary).into_owned();
        let mut conversation = Self {
            request,
            lines,
            end,
            instructions,
            summary,
            message_tokens: 0,
            tool_tokens,
            context_window,
            redactor,
        };
        conversation.request.messages = vec![conversation.system()];
        for message in history {
            let clean = conversation.clean(message);
            conversation.request.messages.push(clean);
        }
        conversation.count();
        conversation
    }

    /// Adds a message of the active turn, and returns it as it is sent.
    pub(super) fn push(&mut self, message: Message) -> &Message {
        let message = self.clean(message);
        self.message_tokens += token_estimate::of_message(&message);
        self.request.messages.push(message);
        &self.request.messages[self.request.messages.len() - 1]
    }

    /// Keeps at most `max` messages of the active turn: its first, and the newest whole rounds.
    pub(super) fn trim(&mut self, max: usize) {
        let first = 1 + self.lines.len();
        while self.active_len() > max {
            // A round is a message of the model and the results of its calls; providers reject half
            // of one.
            let rest = &self.request.messages[first + 1..];
            let starts: Vec<usize> =
                (0..rest.len()).filter(|at| *at > 0 && rest[*at].role != Role::Tool).collect();
            let Some(until) = starts.first() else { break };
            self.request.messages.drain(first + 1..first + 1 + until);
        }
        self.count();
    }

    /// Replaces the tools.
    pub(super) fn set_tools(&mut self, tools: Vec<ToolSpec>) {
        self.tool_tokens = token_estimate::of_tools(&tools);
        self.request.tools = tools;
    }

    /// How many messages the active turn has.
    pub(super) fn active_len(&self) -> usize {
        self.request.messages.len() - 1 - self.lines.len()
    }

    /// The summary of the messages that are not sent any more.
    pub(super) fn summary(&self) -> &str {
        &self.summary
    }

    /// The estimated tokens of the request.
    pub(super) fn estimate(&self) -> u64 {
        self.message_tokens + self.tool_tokens
    }

    /// Whether the context window has no room for an answer.
    pub(super) fn is_too_long(&self) -> bool {
        // `max_tokens` may be as large as the window.
        let answer = self.request.max_tokens.min(self.context_window / 2);
        self.estimate() + answer > self.context_window
    }

    /// Drops the older half of the earlier turns, and more as long as there is no room; `None` when
    /// there are none.
    pub(super) fn compress(&mut self) -> Option<Dropped> {
        let mut dropped = self.drop_turns(|turns| turns.div_ceil(2))?;
        while self.is_too_long() {
            match self.drop_turns(|_| 1) {
                Some(more) => {
                    dropped = Dropped { messages: dropped.messages + more.messages, first: more.first }
                }
                None => break,
            }
        }
        let note = format!(
            "[Emergency compression dropped {} oldest messages due to context limit]",
            dropped.messages
        );
        self.summary = if self.summary.is_empty() { note } else { format!("{}\n{note}", self.summary) };
        self.request.messages[0] = self.system();
        self.count();
        Some(dropped)
    }

    /// Drops the oldest turns: as many as `how_many` returns for their number.
    fn drop_turns(&mut self, how_many: impl Fn(usize) -> usize) -> Option<Dropped> {
        let starts = turn_starts(&self.request.messages[1..=self.lines.len()]);
        if self.lines.is_empty() {
            return None;
        }
        let count = how_many(starts.len()).max(1);
        let until = starts.get(count).copied().unwrap_or(self.lines.len());
        self.request.messages.drain(1..=until);
        self.lines.drain(..until);
        self.count();
        Some(Dropped { messages: until, first: self.lines.first().copied().unwrap_or(self.end) })
    }

    fn system(&self) -> Message {
        let text = if self.summary.is_empty() {
            self.instructions.clone()
        } else {
            format!("{}\n\n---\n\nCONTEXT_SUMMARY: {}", self.instructions, self.summary)
        };
        Message::text(Role::System, text)
    }

    fn clean(&self, message: Message) -> Message {
        message.map_text(|text| match self.redactor.clean(&text) {
            std::borrow::Cow::Borrowed(_) => text,
            std::borrow::Cow::Owned(clean) => clean,
        })
    }

    fn count(&mut self) {
        self.message_tokens = self.request.messages.iter().map(token_estimate::of_message).sum();
    }
}

/// The indices at which turns begin: the first message, and each of the user's.
pub(super) fn turn_starts(messages: &[Message]) -> Vec<usize> {
    let begins = |(at, message): (usize, &Message)| (at == 0 || message.role == Role::User).then_some(at);
    messages.iter().enumerate().filter_map(begins).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use picoclaw_policy::AgentId;

    fn conversation(turns: u64, window: u64) -> Conversation {
        let request = Request {
            messages: Vec::new(),
            tools: Vec::new(),
            max_tokens: 10,
            temperature: None,
            agent: AgentId::main(),
        };
        let said = |line: u64| {
            let role = if line.is_multiple_of(2) { Role::User } else { Role::Assistant };
            StoredMessage { line: line + 100, message: Message::text(role, "x".repeat(88)) }
        };
        let history = (0..2 * turns).map(said).collect();
        let redactor = Redactor::new(&["hunter2hunter2".to_owned()]);
        Conversation::new(request, window, "be good", "", history, 2 * turns + 100, redactor)
    }

    #[test]
    fn the_older_half_of_whole_turns_goes_and_the_active_one_stays() {
        for (why, turns, window, dropped, first, left) in [
            ("half of four", 4, 10_000, 4, 104, 4),
            ("the larger half of three", 3, 10_000, 4, 104, 2),
            ("the only one", 1, 10_000, 2, 102, 0),
            ("more than half, until there is room", 8, 200, 12, 112, 4),
            ("everything but the active one", 4, 30, 8, 108, 0),
        ] {
            let mut conversation = conversation(turns, window);
            conversation.push(Message::text(Role::User, "now"));
            let seen = conversation.compress().unwrap();
            assert_eq!(seen, Dropped { messages: dropped, first }, "{why}");
            assert_eq!(conversation.request.messages.len(), left + 2, "{why}");
            assert_eq!(conversation.request.messages[0].role, Role::System, "{why}");
            assert_eq!(conversation.request.messages[left + 1].content, "now", "{why}");
            let note = format!("CONTEXT_SUMMARY: [Emergency compression dropped {dropped} oldest messages");
            assert!(conversation.request.messages[0].content.contains(&note), "{why}");
            let counted: u64 = conversation.request.messages.iter().map(token_estimate::of_message).sum();
            assert_eq!(conversation.message_tokens, counted, "{why}: the running estimate is right");
        }
        let mut alone = conversation(0, 10);
        alone.push(Message::text(Role::User, "now"));
        assert!(alone.is_too_long());
        assert_eq!(alone.compress(), None, "the active turn is never dropped");
    }

    #[test]
    fn a_trimmed_turn_keeps_its_task_and_whole_rounds() {
        let mut conversation = conversation(0, 100_000);
        conversation.push(Message::text(Role::User, "the task"));
        for round in 0..10 {
            conversation.push(Message::text(Role::Assistant, format!("calls {round}")));
            conversation.push(Message::result(format!("a{round}"), "x".to_owned()));
            conversation.push(Message::result(format!("b{round}"), "y".to_owned()));
        }
        for (why, most, want) in
            [("room enough", 50, 31), ("whole rounds go", 20, 19), ("one round always stays", 1, 4)]
        {
            conversation.trim(most);
            let messages = &conversation.request.messages;
            assert_eq!(messages.len(), want + 1, "{why}");
            assert_eq!((&*messages[1].content, messages[2].role), ("the task", Role::Assistant), "{why}");
            assert_eq!(messages[messages.len() - 3].content, "calls 9", "{why}: the newest stay");
        }
    }

    #[test]
    fn no_secret_is_sent() {
        let mut conversation = conversation(0, 1000);
        let sent = conversation.push(Message::text(Role::User, "key hunter2hunter2 here"));
        assert_eq!(sent.content, "key [FILTERED] here");
    }
}
