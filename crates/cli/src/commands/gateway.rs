//! `picoclaw gateway`: the long-running process.

mod address;
mod build;
mod config_watcher;

use crate::arguments::GatewayArguments;
use crate::commands::version::VERSION;
use crate::exit::{self, Exit};
use crate::print;
use crate::settings::{ProcessEnv, Settings};
use address::Reach;
use anyhow::{Context, Result};
use build::{GeneratedToken, Source, services};
use picoclaw_agent::gateway::{Gateway, GatewayOptions, Services, listen};
use picoclaw_sandbox::launch::{raise_fd_limit, resident_bytes};
use picoclaw_sandbox::presence::GatewayLock;
use picoclaw_sandbox::sd_notify::notify;
use picoclaw_sandbox::terminal::{SignalAction, SignalEvent, on_signals};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

/// Threads for blocking calls.
const MAX_BLOCKING_THREADS: usize = 64;

/// The descriptor limit, where the host allows it: each connection takes one.
const MAX_DESCRIPTORS: u64 = 8192;

/// What a signal requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signal {
    Reload,
    Terminate,
}

/// The signals that arrive.
pub(crate) struct Signals(mpsc::UnboundedReceiver<Signal>);

impl Signals {
    /// Invariant: called before any other thread is started, so that all of them block the signals.
    pub(crate) fn listen() -> Result<Self> {
        let (sender, signals) = mpsc::unbounded_channel();
        on_signals(move |told| {
            let signal = if told == SignalEvent::HangUp { Signal::Reload } else { Signal::Terminate };
            // The second request to terminate ends the process at once.
            if signal == Signal::Terminate && sender.is_closed() {
                return SignalAction::Die;
            }
            let _ = sender.send(signal);
            SignalAction::Continue
        })
        .context("could not listen for signals")?;
        Ok(Self(signals))
    }
}

/// Runs until a signal ends it.
pub(crate) fn run(
    arguments: &GatewayArguments,
    signals: Signals,
    loaded: &Settings,
    process_env: &ProcessEnv,
    config: Option<PathBuf>,
) -> Result<Exit> {
    let host = arguments.host.as_deref().unwrap_or(&loaded.config.gateway.host);
    let port = arguments.port.unwrap_or(loaded.config.gateway.port);
    let addresses = match address::parse(host, port) {
        Ok(addresses) => addresses,
        Err(why) => return Ok(exit::bad_usage(&why)),
    };
    let reach =
        if addresses.iter().all(|at| at.ip().is_loopback()) { Reach::Loopback } else { Reach::Network };
    if let Err(why) = build::check_token(&loaded.config, reach) {
        return Ok(exit::bad_usage(&why));
    }
    let presence =
        GatewayLock::acquire(&loaded.home, VERSION, host, port).map_err(|why| match why.hint() {
            Some(hint) => anyhow::anyhow!("{why}\nhint: {hint}"),
            None => anyhow::anyhow!("{why}"),
        })?;
    let presence = Arc::new(presence);
    let beside = loaded.config.gateway.token.as_ref().map(|secret| secret.reveal().to_owned());
    let generated = GeneratedToken { text: presence.pid_file().token, beside };
    let source = Source { config, generated: Arc::new(Mutex::new(generated)), reach };
    // With a lower limit fewer connections are accepted.
    let max_descriptors = raise_fd_limit(MAX_DESCRIPTORS);
    let runtime = runtime()?;
    let ended = {
        let _inside = runtime.enter();
        let services = services(loaded.clone(), &source)?;
        if let Err(why) = services.check() {
            return Ok(exit::bad_usage(&anyhow::anyhow!("{why}\nhint: {}", why.hint())));
        }
        let options = GatewayOptions {
            services,
            reload: source.reload(),
            home: loaded.home.clone(),
            lock: Arc::clone(&presence),
            version: VERSION,
            resident_bytes,
            max_descriptors,
        };
        runtime.block_on(serve(options, &addresses, signals, loaded, process_env))
    };
    // Does not wait for blocking threads.
    runtime.shutdown_background();
    drop(presence);
    ended.map(|()| Exit::Done)
}

fn runtime() -> Result<Runtime> {
    let mut builder = Builder::new_current_thread();
    builder
        .enable_all()
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .build()
        .context("could not start the runtime")
}

async fn serve(
    options: GatewayOptions,
    addresses: &[SocketAddr],
    Signals(mut signals): Signals,
    loaded: &Settings,
    process_env: &ProcessEnv,
) -> Result<()> {
    let listeners = bind(addresses).await?;
    let gateway = Gateway::new(options)?;
    let bound: Vec<String> =
        listeners.iter().filter_map(|at| Some(at.local_addr().ok()?.to_string())).collect();
    for listener in listeners {
        tokio::spawn(listen(Arc::clone(&gateway), listener));
    }
    gateway.start().await?;
    print_banner(&gateway, &bound);
    crate::announce(loaded);
    let systemd = process_env.variable("NOTIFY_SOCKET").filter(|socket| !socket.is_empty());
    let notify_systemd = |state: &str| {
        if let Some(Err(why)) = systemd.map(|socket| notify(socket, state)) {
            tracing::warn!(target: "gateway", error = %why, "The service manager could not be notified");
        }
    };
    notify_systemd("READY=1\nSTATUS=Ready");
    let files = [loaded.config_path.clone(), loaded.secrets_path.clone()];
    tokio::spawn(config_watcher::watch(Arc::clone(&gateway), files));
    while let Some(signal) = signals.recv().await {
        match signal {
            // The result is logged and published.
            Signal::Reload => drop(gateway.reload().await),
            Signal::Terminate => break,
        }
    }
    notify_systemd("STOPPING=1");
    drop(signals);
    tracing::info!(target: "gateway", "Ending");
    gateway.shut_down().await;
    tracing::info!(target: "gateway", "Ended");
    Ok(())
}

async fn bind(addresses: &[SocketAddr]) -> Result<Vec<TcpListener>> {
    let mut bound: Vec<TcpListener> = Vec::new();
    for address in addresses {
        match TcpListener::bind(address).await {
            Ok(listener) => bound.push(listener),
            // Without IPv6 there is no IPv6 loopback address.
            Err(why) if address.is_ipv6() && !bound.is_empty() && address::is_absent(&why) => {}
            Err(why) => return Err(why).with_context(|| format!("could not listen on `{address}`")),
        }
    }
    Ok(bound)
}

/// Where it listens first, then what runs in it.
fn print_banner(gateway: &Gateway, bound: &[String]) {
    let services = gateway.services();
    let first = bound.first().map_or("", String::as_str);
    print::note(&format!("✓ Gateway started on {}", bound.join(", ")));
    print::note(&format!(
        "✓ Console at http://{first}/ (it asks for the token in .picoclaw.pid, or gateway.token)"
    ));
    print::note(&format!("✓ Health endpoints available at http://{first}/health, /ready and /reload (POST)"));
    print::note(&format!(
        "📦 Agent Status: {} agents, {} tools loaded",
        services.config.agents.len(),
        services.executor.registry().tools().count()
    ));
    print::note(&isolation_line(&services));
    print::note("✓ Cron service started");
    if services.config.heartbeat.enabled {
        print::note("✓ Heartbeat service started");
    }
    print::note("Press Ctrl+C to stop");
}

/// What holds the commands of agents; `picoclaw status` says it in full.
fn isolation_line(services: &Services) -> String {
    let exec_env = services.executor.warden().exec_env();
    let Some(backend) = exec_env.backend().filter(|_| services.config.isolation.enabled) else {
        return "✗ Isolation is off; `picoclaw status` says what holds commands".to_owned();
    };
    let words = backend.enforced(&services.config.isolation).words();
    let less = words.iter().filter(|(_, word)| word != "held");
    let less: Vec<_> = less.map(|(layer, word)| format!("{layer} {}", brief(word))).collect();
    format!(
        "✓ Isolation by {}: {}",
        backend.name(),
        if less.is_empty() { "held".to_owned() } else { less.join(", ") }
    )
}

/// A grade without its reason.
fn brief(grade: &str) -> &str {
    grade.split_once(':').map_or(grade, |(grade, _)| grade)
}
