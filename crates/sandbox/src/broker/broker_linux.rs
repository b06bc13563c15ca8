//! The broker of one network: its name server, and the connections to the hosts outside.
//!
//! A name that is allowed gets an address of the network's own, at which the broker listens and
//! connects each connection to the host. It reads nothing of what is said.

use super::connection_log::{ConnectionLog, NetworkReport};
use super::dns_message::{Answer, Asked, MAX_QUERY, Query};
use super::name_service::NAME_SERVER;
use crate::dial::{HostDialer, WaitLimit};
use crate::launch::{CancelToken, ClosedNetwork, relay};
use picoclaw_policy::Verdict;
use picoclaw_policy::network::{AllowedHosts, HostVerdict};
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The port of name servers.
const DNS_PORT: u16 = 53;

/// The most names with an address: those of the name server's network class.
const MAX_NAMES: u8 = 253;

/// The most connections at a time; more are closed at once.
const MAX_CONNECTIONS: usize = 256;

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
    open: Mutex<BTreeMap<usize, TcpStream>>,
}

/// The thread that answers queries and accepts connections.
struct Server {
    network: ClosedNetwork,
    outside: Arc<Outside>,
    queries: UdpSocket,
    /// The addresses of names, from the second of the name server's network class.
    names: BTreeMap<String, Ipv4Addr>,
    listeners: Vec<Listener>,
    accepted: usize,
}

/// A port of a host.
struct Listener {
    socket: TcpListener,
    host: Arc<str>,
    port: u16,
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
            dialer: HostDialer::new(),
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
            let host = if address.is_loopback() { "localhost".to_owned() } else { address.to_string() };
            server.listen(address, port, &Arc::from(host))?;
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
        for stream in self.outside.open().values() {
            // The peer may have closed it before.
            let _ = stream.shutdown(Shutdown::Both);
        }
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
        while let Ok((length, from)) = self.queries.recv_from(&mut buffer) {
            let message = buffer.get(..length).unwrap_or_default();
            let Some(query) = Query::parse(message) else { continue };
            let answer = self.answer(&query);
            // A lost answer is asked for again.
            let _ = self.queries.send_to(&query.answer(answer), from);
        }
    }

    fn answer(&mut self, query: &Query<'_>) -> Answer {
        let hosts = Arc::clone(&self.outside.hosts);
        if hosts.ports(&query.name).is_empty() {
            if query.asked != Asked::Other {
                self.outside.log.refuse(&hosts, &query.name);
            }
            return Answer::NoSuchName;
        }
        match query.asked {
            Asked::Ipv4 => self.address(&query.name).map_or(Answer::Failed, Answer::Address),
            Asked::Ipv6 | Asked::Other => Answer::Nothing,
        }
    }

    /// The address of a name; its ports are listened on.
    fn address(&mut self, name: &str) -> Option<Ipv4Addr> {
        if let Some(known) = self.names.get(name) {
            return Some(*known);
        }
        let nth = u8::try_from(self.names.len()).ok().filter(|nth| *nth < MAX_NAMES)?;
        let [a, b, c, first] = NAME_SERVER.octets();
        let address = Ipv4Addr::new(a, b, c, first + 1 + nth);
        let host: Arc<str> = Arc::from(name);
        for port in self.outside.hosts.ports(name) {
            if let Err(why) = self.listen(address, port, &host) {
                tracing::warn!(target: "isolation", host = name, port, error = %why, "An allowed host is not reached");
                return None;
            }
        }
        self.names.insert(name.to_owned(), address);
        Some(address)
    }

    fn listen(&mut self, address: Ipv4Addr, port: u16, host: &Arc<str>) -> io::Result<()> {
        let socket = self.network.listen(SocketAddrV4::new(address, port))?;
        socket.set_nonblocking(true)?;
        self.listeners.push(Listener { socket, host: Arc::clone(host), port });
        Ok(())
    }

    /// Accepts a connection and connects it to its host.
    fn accept(&mut self, nth: usize) {
        let Some(Listener { socket, host, port }) = self.listeners.get(nth) else { return };
        let client = match socket.accept() {
            Ok((client, _)) => client,
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => return thread::sleep(REST),
        };
        if self.outside.open().len() >= MAX_CONNECTIONS || client.set_nonblocking(false).is_err() {
            return;
        }
        self.accepted += 1;
        let (outside, host, port, number) =
            (Arc::clone(&self.outside), Arc::clone(host), *port, self.accepted);
        outside.open().extend(client.try_clone().map(|client| (number, client)));
        let relayed = thread::Builder::new().name("relay".to_owned()).spawn(move || {
            outside.connect(&client, &host, port, number);
            outside.open().remove(&number);
        });
        if relayed.is_err() {
            // Without a thread the connection is closed.
            self.outside.open().remove(&number);
        }
    }
}

impl Outside {
    fn open(&self) -> MutexGuard<'_, BTreeMap<usize, TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects to the host and relays until both sides have ended.
    fn connect(&self, client: &TcpStream, host: &str, port: u16, number: usize) {
        let HostVerdict::Allowed(entry) = self.hosts.judge(host, port) else { return };
        let verdict: Verdict = self.hosts.verdict(host, Some(port));
        if let Err(why) = self.log.permit(host, port, &verdict) {
            return tracing::error!(target: "ledger", error = %why, "Not connected, since it could not be recorded");
        }
        let limit = WaitLimit::new(CONNECT_TIMEOUT, &self.stop);
        match self.dialer.connect(host, port, &|ip| entry.why_not(ip), &limit) {
            Ok(server) => {
                // Both ends are closed when the broker is dropped, whichever it is.
                let ends = server.try_clone().map(|server| self.open().insert(number, server));
                if ends.is_ok() && !self.stop.is_cancelled() {
                    // The client's end is the command's affair.
                    let _ = relay(client, &server);
                }
            }
            Err(why) => {
                self.log.failed(host, port, &why.to_string());
                // A reset, not an end: the host did not answer.
                let _ = rustix::net::sockopt::set_socket_linger(client, Some(Duration::ZERO));
            }
        }
    }
}
