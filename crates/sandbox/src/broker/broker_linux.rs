//! The broker of one network: its name server, and the connections to the hosts outside.
//!
//! A name that is allowed gets an address of the network's own, at which the broker listens and
//! connects each connection to the host. It reads nothing of what is said.

use super::connection_log::{ConnectionLog, NetworkReport};
use super::dns_message::{Answer, Asked, MAX_QUERY, Query, format_error};
use super::fd_budget::FdBudget;
use super::name_service::NAME_SERVER;
use crate::dial::{HostDialer, WaitLimit};
use crate::launch::{CancelToken, ClosedNetwork, relay, reset_when_closed};
use picoclaw_policy::network::{AllowedHosts, HostVerdict};
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The port of name servers.
const DNS_PORT: u16 = 53;

/// The most names with an address: those of the name server's network class.
const MAX_NAMES: u8 = 253;

/// The most connections at a time; more are closed at once.
const MAX_CONNECTIONS: usize = 256;

/// How long a port that is taken is not tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The most queries that are answered before connections are accepted.
const QUERIES_A_TURN: usize = 64;

/// How long the broker rests that could not accept, for want of descriptors or memory.
const REST: Duration = Duration::from_millis(100);

/// The longest that finding and reaching a host may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A running broker. Dropping it ends its connections.
#[derive(Debug)]
pub(super) struct Broker {
    stop: CancelToken,
    outside: Arc<Outside>,
}

/// What the connections have in common.
#[derive(Debug)]
struct Outside {
    hosts: Arc<AllowedHosts>,
    dialer: HostDialer,
    log: ConnectionLog,
    stop: CancelToken,
    /// Open connections, by number.
    open: Mutex<BTreeMap<usize, Arc<OpenConnection>>>,
}

/// A connection of a command, and the one outside.
#[derive(Debug)]
struct OpenConnection {
    client: TcpStream,
    server: OnceLock<TcpStream>,
    /// Whether the command has sent all that it will send.
    has_ended: AtomicBool,
    _fds: FdBudget,
}

/// The thread that answers queries and accepts connections.
struct Server {
    network: ClosedNetwork,
    outside: Arc<Outside>,
    queries: UdpSocket,
    /// The names that have an address.
    names: BTreeMap<String, Named>,
    listeners: Vec<Listener>,
    accepted: usize,
}

/// A name with an address, from the second of the name server's network class.
#[derive(Debug, Clone)]
struct Named {
    address: Ipv4Addr,
    /// Ports at which the broker could not listen, and when it tried.
    missing: Vec<u16>,
    tried: Option<Instant>,
}

/// A port of a host.
struct Listener {
    socket: TcpListener,
    host: Arc<str>,
    port: u16,
    _fd: FdBudget,
}

impl Broker {
    /// Starts one in this network.
    pub(super) fn start(
        network: &ClosedNetwork,
        hosts: &Arc<AllowedHosts>,
        log: ConnectionLog,
    ) -> io::Result<Self> {
        let stop = CancelToken::new();
        if stop.event_fd().is_none() {
            return Err(io::Error::other("the kernel gave no eventfd"));
        }
        let outside = Arc::new(Outside {
            hosts: Arc::clone(hosts),
            dialer: HostDialer::default(),
            log,
            stop: stop.clone(),
            open: Mutex::default(),
        });
        let queries = network.receive_at(SocketAddrV4::new(NAME_SERVER, DNS_PORT))?;
        queries.set_nonblocking(true)?;
        let (network, names) = (network.clone(), BTreeMap::new());
        let mut server = Server {
            network,
            outside: Arc::clone(&outside),
            queries,
            names,
            listeners: Vec::new(),
            accepted: 0,
        };
        for (address, port) in hosts.addresses() {
            // The host's own loopback may have a server on `::1` alone.
            let is_localhost = address == Ipv4Addr::LOCALHOST;
            let host = if is_localhost { "localhost".to_owned() } else { address.to_string() };
            let listener = server.listen(address, port, &Arc::from(host))?;
            server.listeners.push(listener);
        }
        thread::Builder::new().name("broker".to_owned()).spawn(move || server.serve())?;
        Ok(Self { stop, outside })
    }

    /// What was not reached since the last call.
    pub(super) fn take_report(&self) -> NetworkReport {
        self.outside.log.take_report()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.stop.cancel();
        for connection in self.outside.open().values() {
            connection.shut_down();
        }
        self.outside.log.take_report();
        self.outside.log.settle();
    }
}

impl Server {
    /// Serves until the broker is dropped.
    fn serve(mut self) {
        let stop = self.outside.stop.clone();
        while !stop.is_cancelled() {
            let Some(event) = stop.event_fd() else { return };
            let sockets = self.listeners.iter().map(|listener| listener.socket.as_fd());
            let all = [event, self.queries.as_fd()].into_iter().chain(sockets);
            let mut fds: Vec<_> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
            if poll(&mut fds, None).is_err_and(|why| why != rustix::io::Errno::INTR) {
                return;
            }
            let ready: Vec<bool> = fds.iter().skip(2).map(|fd| !fd.revents().is_empty()).collect();
            for (nth, _) in ready.iter().enumerate().filter(|(_, is_ready)| **is_ready) {
                self.accept(nth);
            }
            self.answer_queries();
        }
    }

    /// Answers the queries that have arrived.
    fn answer_queries(&mut self) {
        let mut buffer = [0; MAX_QUERY];
        // Connections have their turn among any number of queries.
        for _ in 0..QUERIES_A_TURN {
            let Ok((length, from)) = self.queries.recv_from(&mut buffer) else { return };
            let message = buffer.get(..length).unwrap_or_default();
            let answer = match Query::parse(message) {
                Some(query) => query.answer(self.answer(&query)),
                None => format_error(message),
            };
            // A lost answer is asked for again.
            let _ = (!answer.is_empty()).then(|| self.queries.send_to(&answer, from));
        }
    }

    fn answer(&mut self, query: &Query<'_>) -> Answer {
        let hosts = Arc::clone(&self.outside.hosts);
        if hosts.ports(&query.name).is_empty() {
            if query.asked != Asked::Other && !query.name.is_empty() {
                self.outside.log.refuse(&hosts, &query.name);
            }
            return Answer::NoSuchName;
        }
        match query.asked {
            Asked::Ipv4 => self.address(&query.name).map_or(Answer::Failed, Answer::Address),
            Asked::Ipv6 | Asked::Other => Answer::Nothing,
        }
    }

    /// The address of a name, if the broker listens at one of its ports.
    fn address(&mut self, name: &str) -> Option<Ipv4Addr> {
        let ports = self.outside.hosts.ports(name);
        let mut named = match self.names.get(name) {
            Some(named) => named.clone(),
            None => Named { address: self.next_address(name)?, missing: ports.clone(), tried: None },
        };
        let is_due = named.tried.is_none_or(|at| at.elapsed() >= RETRY_INTERVAL);
        if is_due && !named.missing.is_empty() {
            let host = Arc::from(name);
            let missing = std::mem::take(&mut named.missing);
            for port in missing {
                match self.listen(named.address, port, &host) {
                    Ok(listener) => self.listeners.push(listener),
                    Err(why) => {
                        self.outside.log.failed(name, port, &why.to_string());
                        named.missing.push(port);
                    }
                }
            }
            named.tried = Some(Instant::now());
        }
        let address = (named.missing.len() < ports.len()).then_some(named.address);
        self.names.insert(name.to_owned(), named);
        address
    }

    fn next_address(&self, name: &str) -> Option<Ipv4Addr> {
        let [a, b, c, first] = NAME_SERVER.octets();
        let Some(nth) = u8::try_from(self.names.len()).ok().filter(|nth| *nth < MAX_NAMES) else {
            self.outside.log.note_failure(format!("{name}: there are too many names in one network"));
            return None;
        };
        Some(Ipv4Addr::new(a, b, c, first + 1 + nth))
    }

    fn listen(&self, address: Ipv4Addr, port: u16, host: &Arc<str>) -> io::Result<Listener> {
        let fd = FdBudget::take(1)?;
        let taken = |why: io::Error| match why.kind() {
            io::ErrorKind::AddrInUse => io::Error::other(format!("a command listens at port {port} itself")),
            _ => why,
        };
        let socket = self.network.listen(SocketAddrV4::new(address, port)).map_err(taken)?;
        socket.set_nonblocking(true)?;
        Ok(Listener { socket, host: Arc::clone(host), port, _fd: fd })
    }

    /// Accepts a connection and connects it to its host.
    fn accept(&mut self, nth: usize) {
        let Some(Listener { socket, host, port, .. }) = self.listeners.get(nth) else { return };
        let client = match socket.accept() {
            Ok((client, _)) => client,
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => return thread::sleep(REST),
        };
        let (outside, host, port) = (Arc::clone(&self.outside), Arc::clone(host), *port);
        // One network leaves descriptors for others.
        let (most, open) = (MAX_CONNECTIONS.min(FdBudget::limit() / 8), outside.open().len());
        if open >= most && !outside.close_ended() {
            let why = format!("more than {most} connections at once");
            reset_when_closed(&client);
            return outside.log.note_failure(format!("{host}:{port}: {why}"));
        }
        let fds = match client.set_nonblocking(false).and_then(|()| FdBudget::take(2)) {
            Ok(fds) => fds,
            Err(why) => {
                reset_when_closed(&client);
                return outside.log.note_failure(format!("{host}:{port}: {why}"));
            }
        };
        let (server, has_ended) = (OnceLock::new(), AtomicBool::new(false));
        let connection = Arc::new(OpenConnection { client, server, has_ended, _fds: fds });
        self.accepted += 1;
        let number = self.accepted;
        outside.open().insert(number, Arc::clone(&connection));
        let relayed = thread::Builder::new().name("relay".to_owned()).spawn(move || {
            outside.connect(&connection, &host, port);
            outside.open().remove(&number);
        });
        if relayed.is_err() {
            // Without a thread the connection is closed.
            self.outside.open().remove(&number);
        }
    }
}

impl OpenConnection {
    fn shut_down(&self) {
        for stream in [Some(&self.client), self.server.get()].into_iter().flatten() {
            // The peer may have closed it before.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Outside {
    fn open(&self) -> MutexGuard<'_, BTreeMap<usize, Arc<OpenConnection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the oldest connection on which the command has ended and the host has not, if there
    /// is one.
    fn close_ended(&self) -> bool {
        let open = self.open();
        let ended = open.values().find(|connection| connection.has_ended.swap(false, Ordering::AcqRel));
        ended.map(|connection| connection.shut_down()).is_some()
    }

    /// Connects to the host and relays until both sides have ended.
    fn connect(&self, connection: &OpenConnection, host: &str, port: u16) {
        let OpenConnection { client, server: place, has_ended, .. } = connection;
        let HostVerdict::Allowed(entry) = self.hosts.judge(host, port) else {
            return reset_when_closed(client);
        };
        if let Err(why) = self.log.permit(host, port, &self.hosts.verdict(host, Some(port))) {
            reset_when_closed(client);
            self.log.failed(host, port, "it could not be recorded");
            return tracing::error!(target: "ledger", error = %why, "Not connected, since it could not be recorded");
        }
        let limit = WaitLimit::new(CONNECT_TIMEOUT, &self.stop);
        match self.dialer.connect(host, port, &|ip| self.hosts.why_not(entry, ip, port), &limit) {
            Ok(server) => {
                self.log.connected(host, port);
                let server = place.get_or_init(|| server);
                if !self.stop.is_cancelled() {
                    // The end of a connection is the command's affair.
                    let _ = relay(client, server, || has_ended.store(true, Ordering::Release));
                }
            }
            Err(why) => {
                self.log.failed(host, port, &why.to_string());
                // A reset, not an end: the host did not answer.
                reset_when_closed(client);
            }
        }
    }
}
