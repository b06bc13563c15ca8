//! `picoclaw mcp serve`: the tools, for an agent that somebody else runs.
//!
//! Invariant: standard output carries the protocol and nothing else.

use super::arguments::ServeArguments;
use crate::compose::{self, Offer};
use crate::exit::{self, Exit};
use crate::print;
use crate::settings::{Loaded, Surroundings, fault_in, first_line};
use anyhow::{Context, Result, bail};
use picoclaw_agent::executor::ToolExecutor;
use picoclaw_agent::mcp::server::http::{self, Token};
use picoclaw_agent::mcp::server::{Premises, Streams, serve};
use picoclaw_policy::{AgentId, Origin, Subject};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// The variable with the token.
const TOKEN: &str = "PICOCLAW_MCP_TOKEN";

/// Threads for calls that wait: a few more than run at once.
const THREADS: usize = 40;

/// Where and to whom.
enum Place {
    Stdio,
    Http { address: SocketAddr, token: Token },
}

/// Serves until the client is gone.
pub(crate) fn run(arguments: &ServeArguments, loaded: &Loaded, surroundings: &Surroundings) -> Result<Exit> {
    let (place, subject, loaded) = match asked(arguments, loaded, surroundings) {
        Ok(asked) => asked,
        Err(why) => return Ok(exit::bad_usage(&why)),
    };
    let offer = if arguments.read_only { Offer::ReadOnly } else { Offer::Everything };
    let house = compose::house_for(&loaded, offer)?;
    let premises =
        Premises::new(ToolExecutor::new(house.warden, house.registry), Arc::new(loaded.config), subject);
    let runtime = runtime().context("could not start the runtime")?;
    match place {
        Place::Stdio => {
            runtime.block_on(serve(&premises, streams().context("could not use the streams")?))?
        }
        Place::Http { address, token } => runtime.block_on(listen(&premises, address, token))?,
    }
    runtime.block_on(premises.close());
    // A reader that still waits for standard input must not keep the process.
    runtime.shutdown_background();
    Ok(Exit::Done)
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().max_blocking_threads(THREADS).build()
}

/// Standard input and output by their handles: what `std` puts in between looks for line ends in every answer.
fn streams() -> std::io::Result<Streams> {
    let (input, output) = (std::io::stdin(), std::io::stdout());
    Ok(Streams {
        input: Box::new(File::from(input.as_fd().try_clone_to_owned()?)),
        output: Box::new(File::from(output.as_fd().try_clone_to_owned()?)),
        is_deaf: Box::new(|| {
            let out = std::io::stdout();
            let mut polled = [PollFd::new(&out, PollFlags::empty())];
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            // A pipe without a reader reports an error, whatever was asked for.
            poll(&mut polled, Some(&now)).is_ok_and(|ready| {
                ready > 0 && polled[0].revents().intersects(PollFlags::ERR | PollFlags::NVAL)
            })
        }),
    })
}

async fn listen(premises: &Arc<Premises>, address: SocketAddr, token: Token) -> Result<()> {
    let listener =
        TcpListener::bind(address).await.with_context(|| format!("could not listen on `{address}`"))?;
    let bound = listener.local_addr()?;
    if !bound.ip().is_loopback() {
        tracing::warn!(target: "mcp", address = %bound, "Other machines can connect, and the token travels unencrypted");
    }
    print::note(&format!("picoclaw mcp: listening on http://{bound}/mcp"));
    Ok(http::serve(premises, listener, token).await?)
}

/// What was asked for, checked before anything listens.
fn asked(
    arguments: &ServeArguments,
    loaded: &Loaded,
    surroundings: &Surroundings,
) -> Result<(Place, Subject, Loaded)> {
    let mut subject = compose::subject(loaded, arguments.agent.as_deref(), Origin::Mcp)?;
    let mut loaded = loaded.clone();
    let place = match &arguments.http {
        None => Place::Stdio,
        Some(text) => {
            let (address, (token, secret)) =
                (address(text)?, token(arguments.token_file.as_deref(), surroundings)?);
            // Whatever a tool says from here on, it does not say the token.
            loaded.config.secrets.push(secret);
            Place::Http { address, token }
        }
    };
    subject.session = match place {
        Place::Stdio => "mcp:stdio",
        Place::Http { .. } => "mcp:http",
    }
    .to_owned();
    if let Some(named) = &arguments.workspace {
        take_workspace(named, &subject.agent, &mut loaded, surroundings)?;
    }
    Ok((place, subject, loaded))
}

fn address(text: &str) -> Result<SocketAddr> {
    let localhost = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    if let Some(port) = localhost {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse().with_context(|| {
        format!("`{text}` is no address\nhint: an address and a port, such as 127.0.0.1:8931")
    })
}

fn token(file: Option<&Path>, surroundings: &Surroundings) -> Result<(Token, String)> {
    let hint =
        format!("\nhint: make one with `openssl rand -hex 32`; give it in `{TOKEN}` or with --token-file");
    let text = match file {
        Some(file) => {
            first_line(file).with_context(|| format!("could not read the token file `{}`", file.display()))?
        }
        None => match surroundings.variable(TOKEN) {
            Some(text) => text.to_string_lossy().into_owned(),
            None => bail!("--http needs a token{hint}"),
        },
    };
    let token = Token::new(&text).map_err(|why| anyhow::anyhow!("{why}{hint}"))?;
    Ok((token, text.trim().to_owned()))
}

/// Puts `named` in place of the agent's own workspace: never what holds more than a project, or is another agent's.
fn take_workspace(
    named: &Path,
    agent: &AgentId,
    loaded: &mut Loaded,
    surroundings: &Surroundings,
) -> Result<()> {
    let real = std::path::absolute(named)
        .and_then(|path| path.canonicalize())
        .with_context(|| format!("could not use `{}` as the workspace", named.display()))?;
    if !real.is_dir() {
        bail!("`{}` is not a directory", named.display());
    }
    for own in loaded.config.agents.iter_mut().filter(|own| own.id == *agent) {
        own.workspace = Some(real.clone());
    }
    match fault_in(&loaded.config, loaded, surroundings) {
        Some(fault) => bail!("{fault}\nhint: name a project's directory with --workspace"),
        None => Ok(()),
    }
}
