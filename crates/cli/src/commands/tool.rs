//! `picoclaw tool`: one call, exactly as an agent would make it.
//!
//! Invariant: standard output is what a model would have been given.

use crate::arguments::ToolArguments;
use crate::exit::{self, Exit};
use crate::settings::Loaded;
use crate::{compose, print};
use anyhow::{Context, Result, bail};
use picoclaw_agent::call::{Call, Reply};
use picoclaw_agent::executor::{ToolExecutor, Watcher};
use picoclaw_agent::hooks::CallHooks;
use picoclaw_agent::mcp::client::can_be_of;
use picoclaw_agent::tools::{Outcome, Registry, ToolContext, schema_of, unwatched};
use picoclaw_policy::Origin;
use picoclaw_sandbox::launch::Halt;
use std::io::Read;
use std::sync::Arc;
use std::time::Instant;

/// The largest arguments that are read from standard input.
const MOST_INPUT: u64 = 64 << 20;

/// Runs one tool.
pub(crate) fn run(arguments: &ToolArguments, loaded: &Loaded) -> Result<Exit> {
    let registry = compose::registry(&loaded.config);
    if arguments.name == "list" {
        return if arguments.mcp { list_all(arguments, loaded) } else { list(&registry) };
    }
    let prepared = call(arguments, loaded);
    let call = match prepared {
        Ok(call) => call,
        Err(why) => return Ok(exit::bad_usage(&why)),
    };
    let house = compose::house_for_one_call(loaded)?;
    let is_meant = |server: &str| can_be_of(server, &call.tool);
    let (reply, known) = if compose::has_servers(loaded, is_meant) || loaded.config.hooks.are_any() {
        let subject = call.subject.clone();
        let consult = async |hall| attended(&hall, &call, loaded).await;
        compose::with_servers(loaded, house, &subject, is_meant, consult)?
    } else {
        let visit = ToolContext {
            warden: &house.warden,
            subject: &call.subject,
            halt: &Halt::new(),
            watcher: &unwatched,
        };
        (house.registry.run_unattended(&call, &visit), house.registry)
    };
    if !known.knows(&call.tool) {
        // It went to the desk like any other call, and is in the ledger; for a person it is a slip of the fingers.
        let names: Vec<_> = known.tools().map(|tool| tool.name()).collect();
        let why = anyhow::anyhow!("{}\nhint: there are {}", reply.text(), names.join(", "));
        return Ok(exit::bad_usage(&why));
    }
    let text = reply.text();
    // A file's contents are passed on to the byte; everything else is a line.
    if call.tool == "read_file" && matches!(reply, Reply::Done(_)) {
        print::exactly(&text)?;
    } else {
        print::line(&text)?;
    }
    Ok(match reply {
        Reply::Done(_) => Exit::Done,
        Reply::Failed(_) | Reply::Ended { .. } | Reply::Refused(_) => Exit::Refused,
        Reply::NeedsApproval(_) => Exit::Unasked,
    })
}

/// The same call where hooks or servers wait.
async fn attended(hall: &ToolExecutor, call: &Call, loaded: &Loaded) -> (Reply, Arc<Registry>) {
    let Some(attendance) = CallHooks::of(&loaded.config, hall) else { return consult(hall, call).await };
    let began = Instant::now();
    let done = match attendance.before(call.clone()).await {
        Err(reply) => (reply, hall.registry()),
        Ok(call) => {
            let (reply, known) = consult(hall, &call).await;
            (attendance.after(&call, reply, began.elapsed()).await, known)
        }
    };
    attendance.close().await;
    done
}

/// The call itself: nobody can be asked here either.
async fn consult(hall: &ToolExecutor, call: &Call) -> (Reply, Arc<Registry>) {
    let (halt, unwatched): (_, Watcher) = (Halt::new(), Arc::new(|_| {}));
    let reply = match hall.call(call.clone(), &halt, Arc::clone(&unwatched)).await {
        Outcome::Reply(reply) => reply,
        Outcome::NeedsApproval(asked) => {
            hall.answer(asked, call.subject.clone(), None, &halt, unwatched).await
        }
    };
    (reply, hall.registry())
}

/// Every tool, those of the MCP servers too.
fn list_all(arguments: &ToolArguments, loaded: &Loaded) -> Result<Exit> {
    let subject = match compose::subject(loaded, arguments.agent.as_deref(), Origin::Tool) {
        Ok(subject) => subject,
        Err(why) => return Ok(exit::bad_usage(&why)),
    };
    let house = compose::house_for_one_call(loaded)?;
    compose::with_servers(loaded, house, &subject, |_| true, async |hall| list(&hall.registry()))?
}

fn call(arguments: &ToolArguments, loaded: &Loaded) -> Result<Call> {
    let subject = compose::subject(loaded, arguments.agent.as_deref(), Origin::Tool)?;
    let mut text = arguments.json.clone();
    if text == "-" {
        text.clear();
        let read = std::io::stdin().lock().take(MOST_INPUT + 1).read_to_string(&mut text);
        if read.context("could not read the arguments from standard input")? as u64 > MOST_INPUT {
            bail!("the arguments are longer than {MOST_INPUT} bytes");
        }
    }
    let json = serde_json::from_str(&text).context("the arguments are not JSON")?;
    Ok(Call { tool: arguments.name.clone(), arguments: json, subject })
}

fn list(registry: &Registry) -> Result<Exit> {
    for tool in registry.tools() {
        print::line(&serde_json::json!({"name": tool.name(), "description": tool.about(), "parameters": schema_of(tool)}).to_string())?;
    }
    Ok(Exit::Done)
}
