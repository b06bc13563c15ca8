//! `agents`.

use super::key::{DefaultValue, Key, Shape};

/// `agents`.
pub(super) const AGENTS: &[Key] = &[
    Key::section("defaults", DEFAULTS, "What every agent shares."),
    Key::new("agents", Shape::List(&Shape::Section(AGENT)), "Agents; without any there is one, `main`.")
        .twin("list"),
    Key::foreign("dispatch", "dispatch of chat channels to agents"),
];

const DEFAULTS: &[Key] = &[
    Key::new("workspace", Shape::Path, "Workspace of `main`; `workspace` in the instance when not set."),
    Key::flag("restrict_to_workspace", true, "Hold files and commands to the workspace."),
    Key::flag(
        "allow_read_outside_workspace",
        false,
        "Let `read_file` and `list_dir` read outside the workspace.",
    ),
    Key::new("provider", Shape::Text, "Protocol of a model id that names none."),
    Key::new("model_name", Shape::Text, "Model that agents ask for, by its name in `model_list`.")
        .older(&["model"]),
    Key::new("model_fallbacks", Shape::List(&Shape::Text), "Models to try when that one fails."),
    Key::count("max_tokens", 32_768, 1 << 30, "Longest answer, in tokens."),
    Key::count(
        "context_window",
        0,
        1 << 40,
        "Context of the model, in tokens; 0 is four times `max_tokens`.",
    ),
    Key::new(
        "temperature",
        Shape::Number(0.0, 2.0),
        "Sampling temperature; the provider's own when not set.",
    ),
    Key::count("max_tool_iterations", 50, 100_000, "Rounds of tool calls in one turn; 0 is 20."),
    Key::count("turn_token_budget", 0, 1 << 40, "Tokens one turn may use, in and out; 0 is no limit."),
    Key::count(
        "max_parallel_turns",
        1,
        1_000,
        "Turns at once, over all sessions; one that waits for a person does not count. 0 is 1.",
    ),
    Key::count("summarize_message_threshold", 20, 1 << 30, "Messages after which a session is summarised."),
    Key::count(
        "summarize_token_percent",
        75,
        100,
        "Share of the context after which a session is summarised.",
    ),
    Key::count("max_llm_retries", 2, 1_000, "Tries after a failed request."),
    Key::count("llm_retry_backoff_secs", 2, 86_400, "Seconds before the first of them."),
    Key::section("subturn", SUBTURN, "Bounds of subagents."),
    Key::foreign("image_model", "a model for images"),
    Key::foreign("image_model_fallbacks", "a model for images"),
    Key::foreign("max_media_size", "media of chat channels"),
    Key::foreign("routing", "routing of simple tasks to a light model"),
    Key::foreign("steering_mode", "steering of a running turn"),
    Key::foreign("tool_feedback", "tool messages in chat channels"),
    Key::foreign("split_on_marker", "splitting of chat messages"),
    Key::foreign("context_manager", "other context managers"),
    Key::foreign("context_manager_config", "other context managers"),
    Key::foreign(
        "turn_profile",
        "turn profiles; what they restrict is not restricted, `tools.disabled` of an agent is",
    ),
    Key::foreign("log_level", "a log level in this place; `gateway.log_level` is read"),
];

const SUBTURN: &[Key] = &[
    Key::count("max_depth", 3, 64, "Spawns between a subagent and a person; 0 is 3."),
    Key::count("max_concurrent", 5, 1_000, "Subagents at once; 0 is 5."),
    Key::count("default_timeout_minutes", 5, 525_600, "Minutes one may take; 0 is 5."),
    Key::count("default_token_budget", 0, 1 << 40, "Tokens one may use; 0 is no limit."),
    Key::count("concurrency_timeout_sec", 30, 86_400, "Seconds one waits for a free place; 0 is 30."),
    Key::count("max_per_turn", 16, 100_000, "Subagents that one turn may start, theirs included; 0 is 16."),
    Key::count(
        "max_per_session",
        64,
        1_000_000,
        "Subagents that one session may start while the program runs; 0 is 64.",
    ),
];

const AGENT: &[Key] = &[
    Key::new("id", Shape::Text, "Name of the agent: lower-case letters, digits, `_` and `-`."),
    Key {
        default: DefaultValue::Unset,
        ..Key::flag("default", false, "The agent that is used when none is named.")
    },
    Key::new("name", Shape::Text, "What people call it."),
    Key::new("workspace", Shape::Path, "Its own workspace."),
    Key::new("model", Shape::TextOr(MODEL_CHOICE), "The model it asks for."),
    Key::new(
        "token_budget",
        Shape::Whole(0, 1 << 40),
        "Tokens it may use in a day (UTC), over all its sessions; 0 is no limit.",
    ),
    Key::section("tools", AGENT_TOOLS, "What it has less than others."),
    Key::section("subagents", SUBAGENTS, "What it may start."),
    Key::foreign("skills", "skills of an agent"),
];

const AGENT_TOOLS: &[Key] = &[Key::new(
    "disabled",
    Shape::List(&Shape::Text),
    "Tools it does not get; `*` at the end stands for any ending.",
)];

const SUBAGENTS: &[Key] = &[
    Key::new("allow_agents", Shape::List(&Shape::Text), "Agents it may start, or `*`."),
    Key::new("model", Shape::TextOr(MODEL_CHOICE), "The model of those it starts."),
];

const MODEL_CHOICE: &[Key] = &[
    Key::new("primary", Shape::Text, "The model."),
    Key::new("fallbacks", Shape::List(&Shape::Text), "Models to try when it fails."),
];
