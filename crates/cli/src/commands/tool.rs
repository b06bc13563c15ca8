//! `picoclaw tool`: one call, exactly as an agent would make it. Standard output is the model's
//! result.

use crate::arguments::ToolArguments;
use crate::exit::{self, Exit};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::{app, print};
use anyhow::{Context, Result, bail};
use picoclaw_agent::call::{Call, Reply};
use picoclaw_agent::executor::{ToolExecutor, Watcher};
use picoclaw_agent::hooks::CallHooks;
use picoclaw_agent::mcp::client::can_be_of;
use picoclaw_agent::tools::{Outcome, Registry, ToolContext, unwatched};
use picoclaw_policy::Origin;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::printable;
use std::io::Read;
use std::sync::Arc;
use std::time::Instant;

/// Maximum size of arguments on standard input.
const MAX_INPUT_LEN: u64 = 64 << 20;

/// Runs one tool.
pub(crate) fn run(arguments: &ToolArguments, settings: &Settings) -> Result<Exit> {
    let registry = app::registry(&settings.config);
    if arguments.name == "list" {
        return match arguments.mcp {
            true => print_all_tools(arguments, settings),
            false => print_tools(&registry, arguments, settings),
        };
    }
    let prepared = parse_call(arguments, settings);
    let call = match prepared {
        Ok(call) => call,
        Err(why) => return Ok(exit::bad_usage(&why)),
    };
    let progress = Progress::of(&format!("running {}", printable(&call.tool)));
    let core = app::core(settings)?;
    let is_meant = |server: &str| can_be_of(server, &call.tool);
    let (reply, known) = if app::has_mcp_servers(settings, is_meant) || settings.config.hooks.is_any_enabled()
    {
        let subject = call.subject.clone();
        let run = async |executor| call_with_services(&executor, &call, settings).await;
        app::with_mcp_servers(settings, core, &subject, is_meant, run)?
    } else {
        let halt = CancelToken::new();
        let context = ToolContext::new(&core.warden, &call.subject, &halt, &unwatched);
        (core.registry.run_unattended(&call, &context), core.registry)
    };
    drop(progress);
    if !known.knows(&call.tool) {
        // The call was judged and recorded like any other; here it is a misspelled name.
        let names: Vec<_> = known.tools().map(|tool| tool.name()).collect();
        let why = anyhow::anyhow!("{}\nhint: there are {}", reply.text(), names.join(", "));
        return Ok(exit::bad_usage(&why));
    }
    let text = reply.text();
    // A file's contents are printed unchanged; everything else is a line.
    if call.tool == "read_file" && matches!(reply, Reply::Done(_)) {
        print::exactly(&print::untrusted(&text))?;
    } else {
        print::line(&print::untrusted(&text))?;
    }
    Ok(match reply {
        Reply::Done(_) => Exit::Done,
        Reply::Failed(_) | Reply::Ended { .. } | Reply::Refused(_) => Exit::Refused,
        Reply::NeedsApproval(_) => Exit::NeedsApproval,
    })
}

/// The same call with hooks or MCP servers running.
async fn call_with_services(
    executor: &ToolExecutor,
    call: &Call,
    settings: &Settings,
) -> (Reply, Arc<Registry>) {
    let Some(hooks) = CallHooks::new(&settings.config, executor) else {
        return call_once(executor, call).await;
    };
    let began = Instant::now();
    let done = match hooks.before(call.clone()).await {
        Err(reply) => (reply, executor.registry()),
        Ok(call) => {
            let (reply, known) = call_once(executor, &call).await;
            (hooks.after(&call, reply, began.elapsed()).await, known)
        }
    };
    hooks.close().await;
    done
}

/// Runs the call. No person can be asked.
async fn call_once(executor: &ToolExecutor, call: &Call) -> (Reply, Arc<Registry>) {
    let (halt, unwatched): (_, Watcher) = (CancelToken::new(), Arc::new(|_| {}));
    let reply = match executor.call(call.clone(), &halt, Arc::clone(&unwatched)).await {
        Outcome::Reply(reply) => reply,
        Outcome::NeedsApproval(asked) => {
            executor.answer(asked, call.subject.clone(), None, &halt, unwatched).await
        }
    };
    (reply, executor.registry())
}

/// Every tool, including those of the MCP servers.
fn print_all_tools(arguments: &ToolArguments, settings: &Settings) -> Result<Exit> {
    let subject = match app::subject(settings, arguments.agent.as_deref(), Origin::Tool) {
        Ok(subject) => subject,
        Err(why) => return Ok(exit::bad_usage(&why)),
    };
    let progress = Progress::of("connecting to MCP servers");
    let core = app::core(settings)?;
    let registry =
        app::with_mcp_servers(settings, core, &subject, |_| true, async |executor| executor.registry())?;
    drop(progress);
    print_tools(&registry, arguments, settings)
}

fn parse_call(arguments: &ToolArguments, settings: &Settings) -> Result<Call> {
    let subject = app::subject(settings, arguments.agent.as_deref(), Origin::Tool)?;
    let mut text = arguments.json.clone();
    if text == "-" {
        text.clear();
        let read = std::io::stdin().lock().take(MAX_INPUT_LEN + 1).read_to_string(&mut text);
        if read.context("could not read the arguments from standard input")? as u64 > MAX_INPUT_LEN {
            bail!("the arguments are longer than {MAX_INPUT_LEN} bytes");
        }
    }
    let json = serde_json::from_str(&text).context("the arguments are not JSON")?;
    Ok(Call { tool: arguments.name.clone(), arguments: json, subject })
}

fn print_tools(registry: &Registry, arguments: &ToolArguments, settings: &Settings) -> Result<Exit> {
    if arguments.as_json {
        for tool in registry.tools() {
            let entry = serde_json::json!({"name": tool.name(), "description": tool.about(), "parameters": tool.schema()});
            print::line(&print::untrusted(&entry.to_string()))?;
        }
        return Ok(Exit::Done);
    }
    let width = registry.tools().map(|tool| tool.name().chars().count()).max().unwrap_or(0).max(4);
    print::line(&print::fitted(&format!("{:<width$}  DESCRIPTION", "NAME")))?;
    for tool in registry.tools() {
        let about = tool.about().lines().next().unwrap_or_default();
        let sentence = about.split_once(". ").map_or(about, |(first, _)| first).trim_end_matches('.');
        let off = if is_off(tool.name(), arguments, settings) { " (switched off)" } else { "" };
        let line = format!("{:<width$}  {sentence}{off}", tool.name());
        print::line(&print::fitted(&printable(&line)))?;
    }
    Ok(Exit::Done)
}

/// Whether the configuration switches a tool off for the agent.
fn is_off(tool: &str, arguments: &ToolArguments, settings: &Settings) -> bool {
    let config = &settings.config;
    let id = arguments.agent.as_deref().unwrap_or(config.default_agent.as_str());
    let own = config.agents.iter().find(|agent| agent.id.as_str() == id);
    let mut names = own.iter().flat_map(|own| &own.disabled_tools).chain(&config.tools.disabled);
    names.any(|name| match name.strip_suffix('*') {
        Some(start) => tool.starts_with(start),
        None => name == tool,
    })
}
