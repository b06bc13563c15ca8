//! `picoclaw gateway`: the long-running process.
//!
//! Invariant: nothing listens before everything is composed, and the end leaves no turn half done.

mod address;
mod staffing;
mod watch;

use crate::arguments::GatewayArguments;
use crate::commands::version::VERSION;
use crate::exit::{self, Exit};
use crate::print;
use crate::settings::{ProcessEnv, Settings};
use address::Reach;
use anyhow::{Context, Result};
use picoclaw_agent::gateway::{Gate, Opening, listen};
use picoclaw_sandbox::launch::{raise_descriptors, resident_bytes};
use picoclaw_sandbox::presence::Presence;
use picoclaw_sandbox::readiness::notify;
use picoclaw_sandbox::relay::{Then, Told, on_signals};
use staffing::{Source, staff};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

/// Threads for calls that wait.
const THREADS: usize = 64;

/// Descriptors, where the host lets us: a connection has one, and so has much else.
const DESCRIPTORS: u64 = 8192;

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Reload,
    End,
}

/// What signals ask for.
pub(crate) struct Wishes(mpsc::UnboundedReceiver<Wish>);

impl Wishes {
    /// Listens for signals; to be called before any thread is started, so that none of them is ended in its place.
    pub(crate) fn listen() -> Result<Self> {
        let (sender, wishes) = mpsc::unbounded_channel();
        on_signals(move |told| {
            let wish = if told == Told::HangUp { Wish::Reload } else { Wish::End };
            // Asked to end a second time, it ends at once.
            if wish == Wish::End && sender.is_closed() {
                return Then::End;
            }
            let _gone = sender.send(wish);
            Then::Stay
        })
        .context("could not listen for signals")?;
        Ok(Self(wishes))
    }
}

/// Runs until it is told to end.
pub(crate) fn run(
    arguments: &GatewayArguments,
    wishes: Wishes,
    loaded: &Settings,
    surroundings: &ProcessEnv,
    config: Option<PathBuf>,
) -> Result<Exit> {
    let host = arguments.host.as_deref().unwrap_or(&loaded.config.gateway.host);
    let port = arguments.port.unwrap_or(loaded.config.gateway.port);
    let addresses = match address::parse(host, port).and_then(|found| checked(found, loaded)) {
        Ok(addresses) => addresses,
        Err(why) => return Ok(exit::bad_usage(&why)),
    };
    let presence = Presence::claim(&loaded.home, VERSION, host, port).map_err(|why| match why.hint() {
        Some(hint) => anyhow::anyhow!("{why}\nhint: {hint}"),
        None => anyhow::anyhow!("{why}"),
    })?;
    let reach =
        if addresses.iter().all(|at| at.ip().is_loopback()) { Reach::Loopback } else { Reach::Others };
    let source = Source { config, own: presence.recorded().token.clone(), reach };
    // Where the host has fewer there are fewer places; whoever comes too late is turned away.
    let descriptors = raise_descriptors(DESCRIPTORS);
    let runtime = runtime()?;
    let ended = {
        let _inside = runtime.enter();
        let staff = staff(loaded.clone(), &source)?;
        if let Err(why) = staff.check() {
            return Ok(exit::bad_usage(&anyhow::anyhow!("{why}\nhint: {}", why.hint())));
        }
        let opening = Opening {
            staff,
            reload: source.reload(),
            home: loaded.home.clone(),
            version: VERSION,
            resident: resident_bytes,
            descriptors,
        };
        runtime.block_on(serve(opening, &addresses, wishes, loaded, surroundings))
    };
    // Whatever still blocks a thread must not hold the end back.
    runtime.shutdown_background();
    drop(presence);
    ended.map(|()| Exit::Done)
}

/// Other machines reach it only with a token that somebody chose.
fn checked(addresses: Vec<SocketAddr>, loaded: &Settings) -> Result<Vec<SocketAddr>> {
    let open = addresses.iter().find(|at| !at.ip().is_loopback());
    if let (Some(open), None) = (open, &loaded.config.gateway.token) {
        anyhow::bail!(
            "`{}` can be reached from other machines, and `gateway.token` is not set\n\
             hint: put a token into `.security.yml` (gateway: {{token: …}}) or `PICOCLAW_GATEWAY_TOKEN`, or listen on localhost",
            open.ip()
        );
    }
    staffing::chosen(&loaded.config)?;
    Ok(addresses)
}

fn runtime() -> Result<Runtime> {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().max_blocking_threads(THREADS).build().context("could not start the runtime")
}

async fn serve(
    opening: Opening,
    addresses: &[SocketAddr],
    Wishes(mut wishes): Wishes,
    loaded: &Settings,
    surroundings: &ProcessEnv,
) -> Result<()> {
    let listeners = bind(addresses).await?;
    let gate = Gate::open(opening)?;
    let bound: Vec<String> =
        listeners.iter().filter_map(|at| Some(at.local_addr().ok()?.to_string())).collect();
    for listener in listeners {
        tokio::spawn(listen(Arc::clone(&gate), listener));
    }
    gate.prepare().await?;
    welcome(&gate, &bound);
    let systemd = surroundings.variable("NOTIFY_SOCKET").filter(|socket| !socket.is_empty());
    let tell = |state: &str| {
        if let Some(Err(why)) = systemd.map(|socket| notify(socket, state)) {
            tracing::warn!(target: "gateway", error = %why, "Whoever started this program could not be told");
        }
    };
    tell("READY=1\nSTATUS=Ready");
    tokio::spawn(watch::files(Arc::clone(&gate), [loaded.config_path.clone(), loaded.secrets_path.clone()]));
    while let Some(wish) = wishes.recv().await {
        match wish {
            // What came of it is logged and told to whoever watches.
            Wish::Reload => drop(gate.reload().await),
            Wish::End => break,
        }
    }
    tell("STOPPING=1");
    drop(wishes);
    tracing::info!(target: "gateway", "Ending");
    gate.end().await;
    tracing::info!(target: "gateway", "Ended");
    Ok(())
}

async fn bind(addresses: &[SocketAddr]) -> Result<Vec<TcpListener>> {
    let mut bound: Vec<TcpListener> = Vec::new();
    for address in addresses {
        match TcpListener::bind(address).await {
            Ok(listener) => bound.push(listener),
            // A machine without IPv6 has no loopback of it either.
            Err(why) if address.is_ipv6() && !bound.is_empty() && address::is_absent(&why) => {}
            Err(why) => return Err(why).with_context(|| format!("could not listen on `{address}`")),
        }
    }
    Ok(bound)
}

fn welcome(gate: &Gate, bound: &[String]) {
    let staff = gate.staff();
    print::note("📦 Agent Status:");
    print::note(&format!("  • Agents: {}", staff.config.agents.len()));
    print::note(&format!("  • Tools: {} loaded", staff.hall.registry().tools().count()));
    print::note("✓ Cron service started");
    if staff.config.heartbeat.enabled {
        print::note("✓ Heartbeat service started");
    }
    let first = bound.first().map_or("", String::as_str);
    print::note(&format!("✓ Health endpoints available at http://{first}/health, /ready and /reload (POST)"));
    print::note(&format!(
        "✓ Console at http://{first}/ (it asks for the token in .picoclaw.pid, or gateway.token)"
    ));
    print::note(&format!("✓ Gateway started on {}", bound.join(", ")));
    print::note("Press Ctrl+C to stop");
}
