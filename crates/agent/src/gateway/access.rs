//! Which tokens are accepted, and what each of them may do.
//!
//! There are three kinds: the token of the PID file, for programs of the same user on this machine;
//! `gateway.token`; and named tokens, of which only the hash is stored. The first two lie in files
//! of the instance. Where nothing keeps a command of a model from reading those, they do not
//! approve: a command could answer its own question.

use crate::http_guard::{GuessLimit, Sent, Strength, Token};
use crate::tokens::{ALL_SCOPES, NamedToken, Scope, Scopes, TokenStore};
use http::HeaderMap;
use picoclaw_sandbox::presence::GatewayLock;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How often an open stream looks for the removal of its named token.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The principal of the PID file's token.
const PID_FILE: &str = "pid-file";

/// The principal of `gateway.token`.
const CONFIGURED: &str = "gateway.token";

/// Whether the kernel keeps commands of models from reading the instance's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstanceFiles {
    /// It does, for every agent.
    Hidden,
    /// A command of some agent can read them.
    Readable,
}

/// The tokens of one configuration.
#[derive(Clone)]
pub struct Credentials {
    /// The token of the PID file.
    pub pid_file_token: String,
    /// `gateway.token`.
    pub configured: Option<Token>,
    /// Who can read these two.
    pub instance_files: InstanceFiles,
}

/// The holder of an accepted token.
#[derive(Clone)]
pub(super) struct Principal {
    /// The name that the audit log shows.
    pub(super) name: String,
    scopes: Scopes,
    token: Token,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Accepted from this machine alone.
    PidFile,
    Configured,
    Named,
}

impl Principal {
    pub(super) fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }
}

/// What a request's token is worth.
pub(super) enum Authentication {
    Accepted(Principal),
    /// No token, or a wrong one.
    Refused,
    /// Too many wrong ones came from this address.
    Throttled(Duration),
}

/// The accepted tokens.
pub(super) struct Access {
    lock: Arc<GatewayLock>,
    store: TokenStore,
    credentials: RwLock<Vec<Principal>>,
    /// Notified when the credentials have changed.
    changed: watch::Sender<()>,
    guesses: GuessLimit,
}

impl Access {
    pub(super) fn new(lock: Arc<GatewayLock>, store: TokenStore, credentials: &Credentials) -> Self {
        if let Err(why) = store.list() {
            tracing::error!(target: "gateway", error = %why, "No named token is accepted");
        }
        Self {
            lock,
            store,
            credentials: RwLock::new(principals(credentials)),
            changed: watch::Sender::new(()),
            guesses: GuessLimit::default(),
        }
    }

    /// Accepts these credentials instead; the PID file gets its new token first.
    pub(super) fn replace(&self, credentials: &Credentials) {
        if self.lock.pid_file().token != credentials.pid_file_token
            && let Err(why) = self.lock.set_token(&credentials.pid_file_token)
        {
            tracing::error!(target: "gateway", error = %why, "The PID file keeps a token that is not accepted any more");
        }
        *self.credentials.write().unwrap_or_else(PoisonError::into_inner) = principals(credentials);
        self.changed.send_replace(());
    }

    /// Who sent a request. A wrong token counts against the address.
    pub(super) fn authenticate(&self, headers: &HeaderMap, peer: SocketAddr) -> Authentication {
        let sent = match Sent::of(headers) {
            Sent::Nothing => return Authentication::Refused,
            sent => sent,
        };
        let (address, now) = (peer.ip().to_canonical(), Instant::now());
        let wait = self.guesses.wait(address, now);
        let found = match &sent {
            Sent::Token(digest) => self.find(|principal| principal.token.is(digest)),
            Sent::Nothing | Sent::Unreadable => None,
        };
        let found = found.filter(|principal| principal.is_reached_from(address));
        match (found, wait) {
            (Some(principal), None) => Authentication::Accepted(principal),
            (Some(principal), Some(_)) if principal.token.strength() == Strength::Strong => {
                Authentication::Accepted(principal)
            }
            (_, Some(wait)) => Authentication::Throttled(wait),
            (None, None) => {
                self.guesses.count(address, now);
                Authentication::Refused
            }
        }
    }

    /// Resolves when a principal has lost its token or this scope.
    pub(super) async fn revoked(&self, principal: &Principal, scope: Scope) {
        let mut changed = self.changed.subscribe();
        loop {
            let is_same =
                |now: &Principal| now.kind == principal.kind && now.token.is(principal.token.digest());
            if !self.find(is_same).is_some_and(|now| now.may(scope)) {
                return;
            }
            match principal.kind {
                Kind::Named => tokio::time::sleep(POLL_INTERVAL).await,
                // The sender lives as long as `self`.
                Kind::PidFile | Kind::Configured => drop(changed.changed().await),
            }
        }
    }

    /// The current principal that `is_meant` selects. All are looked at, whichever it is.
    fn find(&self, is_meant: impl Fn(&Principal) -> bool) -> Option<Principal> {
        let known = self.credentials.read().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().rfind(|principal| is_meant(principal)).cloned();
        drop(known);
        let named = self.store.list().unwrap_or_else(|why| {
            tracing::debug!(target: "gateway", error = %why, "No named token is accepted");
            Vec::new()
        });
        let named = named.iter().filter_map(Principal::named).rfind(|principal| is_meant(principal));
        found.or(named)
    }
}

impl Principal {
    fn named(token: &NamedToken) -> Option<Self> {
        Some(Self {
            name: token.name.clone(),
            scopes: token.scopes.clone(),
            token: Token::of_digest(token.digest()?),
            kind: Kind::Named,
        })
    }

    fn is_reached_from(&self, address: IpAddr) -> bool {
        self.kind != Kind::PidFile || address.is_loopback()
    }
}

/// The principals of the PID file and of the configuration.
fn principals(credentials: &Credentials) -> Vec<Principal> {
    let mut scopes = Scopes::from(ALL_SCOPES);
    if credentials.instance_files == InstanceFiles::Readable {
        scopes.remove(&Scope::Approve);
    }
    let principal = |name: &str, token: &Token, kind| Principal {
        name: name.to_owned(),
        scopes: scopes.clone(),
        token: token.clone(),
        kind,
    };
    let generated = Token::new(&credentials.pid_file_token).ok();
    let generated = generated.map(|token| principal(PID_FILE, &token, Kind::PidFile));
    let configured = credentials.configured.as_ref();
    let configured = configured.map(|token| principal(CONFIGURED, token, Kind::Configured));
    generated.into_iter().chain(configured).collect()
}
