//! Parses slash commands. A line that begins with `/` and a letter is never sent to a model by
//! mistake.

/// Every command and its description.
pub(super) const NAMES: &[(&str, &str)] = &[
    ("/help", "this list"),
    ("/tools", "the tools this agent may call"),
    ("/check", "CMD: would this command be allowed? Nothing runs"),
    ("/agents", "the agents, and where each works"),
    ("/model", "[NAME]: the model, or another one from now on"),
    ("/session", "[NAME]: the session, or another one from now on"),
    ("/resume", "[N]: the latest sessions, or one of them from now on"),
    ("/new", "begin a new session; the old one is kept"),
    ("/compact", "replace the oldest messages by a summary"),
    ("/cost", "tokens, time and cost since the start"),
    ("/context", "how much of the model's memory is used"),
    ("/history", "what was said in this session"),
    ("/clear", "forget what was said in this session"),
    ("/approvals", "what is asked about, and who answers"),
    ("/stop", "stop what runs (Ctrl-C does the same)"),
    ("/exit", "leave (so do `exit`, `quit` and Ctrl-D)"),
];

/// A slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Slash {
    /// `/help`
    Help,
    /// `/tools`
    Tools,
    /// `/check CMD`
    Check(String),
    /// `/agents`
    Agents,
    /// `/model [NAME]`
    Model(String),
    /// `/session [NAME]`
    Session(String),
    /// `/resume [N]`
    Resume(String),
    /// `/new`
    New,
    /// `/compact`
    Compact,
    /// `/cost`
    Cost,
    /// `/context`
    Context,
    /// `/history`
    History,
    /// `/clear`
    Clear,
    /// `/approvals`
    Approvals,
    /// `/stop`
    Stop,
    /// `/exit`
    Exit,
    /// An unknown command, and the nearest known one.
    Unknown(String, Option<&'static str>),
}

impl Slash {
    /// The command in `line`; `None` if the line is for the agent. A path such as `/bin/ls` is for
    /// the agent.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        if matches!(line, "exit" | "quit") {
            return Some(Self::Exit);
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let name = word.strip_prefix('/')?;
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || name.contains('/') {
            return None;
        }
        let rest = rest.trim().to_owned();
        Some(match name {
            "help" => Self::Help,
            "tools" => Self::Tools,
            "check" => Self::Check(rest),
            "agents" => Self::Agents,
            "model" => Self::Model(rest),
            "session" => Self::Session(rest),
            "resume" => Self::Resume(rest),
            "new" => Self::New,
            "compact" => Self::Compact,
            "cost" => Self::Cost,
            "context" => Self::Context,
            "history" => Self::History,
            "clear" => Self::Clear,
            "approvals" => Self::Approvals,
            "stop" => Self::Stop,
            "exit" | "quit" => Self::Exit,
            _ => Self::Unknown(word.to_owned(), nearest(word)),
        })
    }
}

/// The nearest command: one that the word is a prefix of, else one within two edits.
fn nearest(word: &str) -> Option<&'static str> {
    let names = || NAMES.iter().map(|(name, _)| *name);
    let begun = names().find(|name| word.len() > 2 && name.starts_with(word));
    // The comparison is quadratic, and no command is this long.
    begun.or_else(|| {
        if word.len() > 64 {
            return None;
        }
        names()
            .map(|name| (strsim::levenshtein(word, name), name))
            .min()
            .filter(|(far, _)| *far <= 2)
            .map(|(_, name)| name)
    })
}

/// The list of commands.
pub(super) fn help() -> String {
    let lines: Vec<String> = NAMES.iter().map(|(name, does)| format!("  {name:<11} {does}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_for_the_session_or_for_the_agent() {
        for (why, line, want) in [
            ("a command", "/help", Some(Slash::Help)),
            ("with an argument", "/check  rm -rf x ", Some(Slash::Check("rm -rf x".to_owned()))),
            ("leaving, as in shells", " exit ", Some(Slash::Exit)),
            ("also", "quit", Some(Slash::Exit)),
            ("a misspelt one is answered", "/hlep", Some(Slash::Unknown("/hlep".to_owned(), Some("/help")))),
            ("a shortened one", "/sess", Some(Slash::Unknown("/sess".to_owned(), Some("/session")))),
            ("an unknown one", "/xyzzyplugh", Some(Slash::Unknown("/xyzzyplugh".to_owned(), None))),
            ("a path is for the agent", "/bin/ls -la", None),
            ("a comment is for the agent", "// why?", None),
            ("words are for the agent", "exit the program", None),
            ("a slash alone", "/", None),
        ] {
            assert_eq!(Slash::parse(line), want, "{why}");
        }
    }

    #[test]
    fn every_command_that_is_listed_is_obeyed() {
        for (name, _) in NAMES {
            assert!(!matches!(Slash::parse(name), Some(Slash::Unknown(..)) | None), "{name}");
        }
    }
}
