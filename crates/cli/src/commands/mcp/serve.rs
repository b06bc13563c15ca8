//! `picoclaw mcp serve`: serves the tools on standard streams or over HTTP. Standard output carries
//! only the protocol.

use super::arguments::ServeArguments;
use crate::app::{self, ToolSet};
use crate::console::{is_stdout_closed, own_streams};
use crate::exit::{self, Exit};
use crate::print;
use crate::settings::{ProcessEnv, Settings, first_line, workspace_fault_in};
use anyhow::{Context, Result, bail};
use picoclaw_agent::executor::ToolExecutor;
use picoclaw_agent::http_guard::Strength;
use picoclaw_agent::mcp::server::http::{self, Token};
use picoclaw_agent::mcp::server::{ServerState, Streams, serve};
use picoclaw_policy::{AgentId, Origin, Subject};
use picoclaw_sandbox::printable_path;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// The environment variable with the token.
const TOKEN_VARIABLE: &str = "PICOCLAW_MCP_TOKEN";

/// Threads for blocking calls: a few more than calls at once.
const MAX_BLOCKING_THREADS: usize = 40;

enum Transport {
    Stdio,
    Http { address: SocketAddr, token: Token },
}

/// Serves until the client disconnects.
pub(crate) fn run(arguments: &ServeArguments, loaded: &Settings, process_env: &ProcessEnv) -> Result<Exit> {
    let (transport, subject, loaded) = match prepare(arguments, loaded, process_env) {
        Ok(prepared) => prepared,
        Err(why) => return Ok(exit::bad_usage(&why)),
    };
    let offer = if arguments.read_only { ToolSet::ReadOnly } else { ToolSet::Everything };
    let core = app::core_with_tools(&loaded, offer)?;
    let state =
        ServerState::new(ToolExecutor::new(core.warden, core.registry), Arc::new(loaded.config), subject);
    let runtime = runtime().context("could not start the runtime")?;
    match transport {
        Transport::Stdio => {
            runtime.block_on(serve(&state, streams().context("could not use the streams")?))?
        }
        Transport::Http { address, token } => runtime.block_on(listen(&state, address, token))?,
    }
    runtime.block_on(state.close());
    // Does not wait for blocking threads.
    runtime.shutdown_background();
    Ok(Exit::Done)
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().max_blocking_threads(MAX_BLOCKING_THREADS).build()
}

/// Standard input and output without `std`'s line buffering.
fn streams() -> std::io::Result<Streams> {
    let (input, output) = own_streams()?;
    let is_output_closed = Box::new(is_stdout_closed);
    Ok(Streams { input: Box::new(input), output: Box::new(output), is_output_closed })
}

async fn listen(state: &Arc<ServerState>, address: SocketAddr, token: Token) -> Result<()> {
    let listener =
        TcpListener::bind(address).await.with_context(|| format!("could not listen on `{address}`"))?;
    let bound = listener.local_addr()?;
    if !bound.ip().is_loopback() {
        tracing::warn!(target: "mcp", address = %bound, "Other machines can connect, and the token travels unencrypted");
    }
    print::note(&format!("picoclaw mcp: listening on http://{bound}/mcp"));
    http::serve(state, listener, token).await;
    Ok(())
}

/// Checks the arguments before anything listens.
fn prepare(
    arguments: &ServeArguments,
    loaded: &Settings,
    process_env: &ProcessEnv,
) -> Result<(Transport, Subject, Settings)> {
    let mut subject = app::subject(loaded, arguments.agent.as_deref(), Origin::Mcp)?;
    let mut loaded = loaded.clone();
    let transport = match &arguments.http {
        None => Transport::Stdio,
        Some(text) => {
            let (address, (token, secret)) =
                (parse_address(text)?, read_token(arguments.token_file.as_deref(), process_env)?);
            if !address.ip().is_loopback() && token.strength() == Strength::Guessable {
                bail!(
                    "other machines can reach `{address}`, and the token could be guessed\n\
                     hint: make one with `openssl rand -hex 32`, or listen on localhost"
                );
            }
            // Redacts the token from every tool's output.
            loaded.config.secrets.push(secret);
            Transport::Http { address, token }
        }
    };
    subject.session = match transport {
        Transport::Stdio => "mcp:stdio",
        Transport::Http { .. } => "mcp:http",
    }
    .to_owned();
    if let Some(named) = &arguments.workspace {
        set_workspace(named, &subject.agent, &mut loaded, process_env)?;
    }
    Ok((transport, subject, loaded))
}

fn parse_address(text: &str) -> Result<SocketAddr> {
    let localhost = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    if let Some(port) = localhost {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse().with_context(|| {
        format!("`{text}` is not an address\nhint: an address and a port, such as 127.0.0.1:8931")
    })
}

fn read_token(file: Option<&Path>, process_env: &ProcessEnv) -> Result<(Token, String)> {
    let hint = format!(
        "\nhint: make one with `openssl rand -hex 32`; give it in `{TOKEN_VARIABLE}` or with --token-file"
    );
    let text = match file {
        Some(file) => first_line(file)
            .with_context(|| format!("could not read the token file `{}`", printable_path(file)))?,
        None => match process_env.variable(TOKEN_VARIABLE) {
            Some(text) => text.to_string_lossy().into_owned(),
            None => bail!("--http needs a token{hint}"),
        },
    };
    let token = Token::new(&text).map_err(|why| anyhow::anyhow!("{why}{hint}"))?;
    Ok((token, text.trim().to_owned()))
}

/// Replaces the agent's workspace by `named`, under the same checks as a configured workspace.
fn set_workspace(
    named: &Path,
    agent: &AgentId,
    loaded: &mut Settings,
    process_env: &ProcessEnv,
) -> Result<()> {
    let real = std::path::absolute(named)
        .and_then(|path| path.canonicalize())
        .with_context(|| format!("could not use `{}` as the workspace", printable_path(named)))?;
    if !real.is_dir() {
        bail!("`{}` is not a directory", printable_path(named));
    }
    for own in loaded.config.agents.iter_mut().filter(|own| own.id == *agent) {
        own.workspace = Some(real.clone());
        own.in_project = true;
    }
    match workspace_fault_in(&loaded.config, loaded, process_env) {
        Some(fault) => bail!("{fault}\nhint: name a project's directory with --workspace"),
        None => Ok(()),
    }
}
