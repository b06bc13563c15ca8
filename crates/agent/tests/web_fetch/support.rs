//! A warden, the tool, and servers that say what they are told to.

use picoclaw_agent::call::Reply;
use picoclaw_agent::tools::{Arguments, Outcome, Tool, ToolContext, WebFetch, unwatched};
use picoclaw_policy::config::{Config, WebConfig};
use picoclaw_policy::network::HostRules;
use picoclaw_policy::shell::guard::Guard;
use picoclaw_policy::{AgentId, AgentRules, Origin, PathRules, Policy, Reach, Subject};
use picoclaw_sandbox::exec::ExecEnv;
use picoclaw_sandbox::files::Files;
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::ledger::{Ledger, Reader, Record};
use picoclaw_sandbox::outbound::Resolver;
use picoclaw_sandbox::warden::Warden;
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a test server's own address needs to be reached at all.
pub(crate) const HERE: &[&str] = &["127.0.0.1/32"];

pub(crate) struct Fixture {
    pub(crate) web: WebConfig,
    warden: Warden,
    ledger: PathBuf,
    _dir: tempfile::TempDir,
}

impl Fixture {
    pub(crate) fn new(whitelist: &[&str]) -> Self {
        Self::with(whitelist, &[])
    }

    pub(crate) fn with(whitelist: &[&str], disabled: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.tools.web.private_host_whitelist = whitelist.iter().map(ToString::to_string).collect();
        let instance = Instance::prepare(&dir.path().join("home"), &config, &[]).unwrap();
        let zones = instance.zones();
        let files = Files::open(zones.clone(), &instance.locks()).unwrap();
        let ledger = Ledger::open(&instance.ledger()).unwrap();
        let exec_env = ExecEnv::new(&config, &instance, std::env::vars_os()).unwrap();
        let agents =
            zones.into_iter().map(|(id, zones)| (id, AgentRules { zones, disabled: Default::default() }));
        let policy = Policy {
            agents: agents.collect(),
            read_rules: PathRules::default(),
            write_rules: PathRules::default(),
            reads: Reach::Workspace,
            writes: Reach::Workspace,
            shared: Vec::new(),
            disabled: disabled
                .iter()
                .map(|tool| (tool.to_string(), format!("tools.{tool}.enabled")))
                .collect(),
            guard: Guard::compile(&config.tools.exec).unwrap(),
            ask: Vec::new(),
            on_block: config.tools.exec.on_block,
            hosts: HostRules::compile(&config.tools.web.private_host_whitelist).unwrap(),
            spawning: Default::default(),
            protect: Default::default(),
        };
        let warden = Warden::new(policy, files, exec_env, ledger);
        Self { web: config.tools.web, warden, ledger: instance.ledger(), _dir: dir }
    }

    pub(crate) fn tool(&self) -> WebFetch {
        WebFetch::new(&self.web).within(Duration::from_secs(20))
    }

    pub(crate) fn fetch(&self, url: &str) -> Reply {
        self.run(&self.tool(), &json!({"url": url}), &CancelToken::new())
    }

    pub(crate) fn fetch_with(&self, tool: &WebFetch, url: &str) -> Reply {
        self.run(tool, &json!({"url": url}), &CancelToken::new())
    }

    pub(crate) fn run(&self, tool: &WebFetch, arguments: &Value, halt: &CancelToken) -> Reply {
        let subject = Subject::root(Origin::Cli, AgentId::main(), "s");
        let context = ToolContext::new(&self.warden, &subject, halt, &unwatched);
        match tool.run(&Arguments::check(tool.parameters(), arguments).unwrap(), &context) {
            Outcome::Reply(reply) => reply,
            Outcome::NeedsApproval(asked) => panic!("{asked:?}"),
        }
    }

    /// Every record so far.
    pub(crate) fn records(&self) -> Vec<Record> {
        let mut all = Reader::open(&self.ledger).unwrap().unwrap().all().unwrap();
        let mut found = Vec::new();
        while let Some(stored) = all.next().unwrap() {
            found.push(stored.record.unwrap());
        }
        found
    }
}

/// The code of a refusal.
pub(crate) fn refused(reply: &Reply) -> &'static str {
    match reply {
        Reply::Refused(no) => no.code.as_str(),
        other => panic!("not refused: {other:?}"),
    }
}

/// What a page came to.
pub(crate) fn done(reply: &Reply) -> Value {
    match reply {
        Reply::Done(text) => serde_json::from_str(text).unwrap(),
        other => panic!("not done: {other:?}"),
    }
}

/// Why it failed.
pub(crate) fn failed(reply: &Reply) -> &str {
    match reply {
        Reply::Failed(text) => text,
        other => panic!("did not fail: {other:?}"),
    }
}

/// A server on loopback; what it was asked is kept.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    visits: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl Server {
    /// Answers each request with `answer`, given its head.
    pub(crate) fn new(answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0".parse().unwrap(), answer)
    }

    pub(crate) fn at(at: SocketAddr, answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = Arc::clone(&asked);
        Self::raw(at, asked, move |mut stream| {
            let head = head(&mut stream);
            heard.lock().unwrap().push(head.clone());
            answer(&head, &mut stream);
        })
    }

    /// Has `serve` deal with each connection.
    pub(crate) fn raw(
        at: SocketAddr,
        asked: Arc<Mutex<Vec<String>>>,
        serve: impl Fn(TcpStream) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(at).unwrap();
        let address = listener.local_addr().unwrap();
        let (visits, is_over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (seen, over, serve) = (Arc::clone(&visits), Arc::clone(&is_over), Arc::new(serve));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if over.load(Ordering::Acquire) {
                    return;
                }
                seen.fetch_add(1, Ordering::AcqRel);
                stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
                let serve = Arc::clone(&serve);
                std::thread::spawn(move || serve(stream));
            }
        });
        Self { address, asked, visits, is_over }
    }

    /// Always this text.
    pub(crate) fn saying(text: &'static str) -> Self {
        Self::new(move |_, stream| say(stream, text))
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// How many connections there were.
    pub(crate) fn visits(&self) -> usize {
        self.visits.load(Ordering::Acquire)
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address);
    }
}

/// The head of a request.
pub(crate) fn head(stream: &mut impl Read) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.extend(byte);
    }
    String::from_utf8(head).unwrap()
}

/// Writes to a peer that may have closed the connection.
pub(crate) fn say(stream: &mut impl Write, text: &str) {
    let _ = stream.write_all(text.as_bytes());
}

/// A whole answer of plain text.
pub(crate) fn plain(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// Gives its answers one after the other, and then the last again.
pub(crate) struct Fickle {
    answers: Vec<Vec<IpAddr>>,
    pub(crate) asked: AtomicUsize,
}

impl Fickle {
    pub(crate) fn new(answers: &[&[&str]]) -> Arc<Self> {
        let answers = answers.iter().map(|answer| answer.iter().map(|ip| ip.parse().unwrap()).collect());
        Arc::new(Self { answers: answers.collect(), asked: AtomicUsize::new(0) })
    }

    pub(crate) fn times(&self) -> usize {
        self.asked.load(Ordering::Acquire)
    }
}

impl Resolver for Fickle {
    fn resolve(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
        let nth = self.asked.fetch_add(1, Ordering::AcqRel);
        self.answers.get(nth).or(self.answers.last()).cloned().ok_or_else(|| io::Error::other("unknown"))
    }
}
