//! `--allow-host` and `isolation.network.allow`: what a cage reaches by name, and that it reaches
//! nothing else.

use super::{Project, is_here};
use crate::test_instance::{Ran, TestInstance, has_native_cage, ran};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;

/// A network of its own with hosts at 10.9.8.7 and on the loopback, whose names are in `/etc/hosts`;
/// then the command. Each host answers with its name and port.
const WORLD: &str = r#"
import ctypes, fcntl, os, socket, struct, subprocess, sys, threading

def interface(name, request, rest):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, request, struct.pack('16s', name) + rest)

interface(b'lo', 0x8914, struct.pack('H22x', 0x41))
interface(b'lo:1', 0x8916, struct.pack('HH4s16x', socket.AF_INET, 0, socket.inet_aton('10.9.8.7')))
names = sys.argv[1] + '/hosts'
with open(names, 'w') as hosts:
    hosts.write('127.0.0.1 localhost\n10.9.8.7 web.test other.test a.wild.test\n127.0.0.1 rebound.test\n')
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(names.encode(), b'/etc/hosts', None, 4096, None) != 0:
    sys.exit('no mount')

def serve(address, port):
    server = socket.create_server((address, port))
    def answer():
        while True:
            client, _ = server.accept()
            client.recv(100)
            client.sendall(f'{address}:{port}'.encode())
            client.close()
    threading.Thread(target=answer, daemon=True).start()

for address, port in [('10.9.8.7', 443), ('10.9.8.7', 8443), ('10.9.8.7', 22), ('127.0.0.1', 443)]:
    serve(address, port)
sys.exit(subprocess.call(sys.argv[2:]))
"#;

/// Asks each `host:port` of the arguments, and prints a line for each.
const ASK: &str = r#"
import socket, sys
for target in sys.argv[1:]:
    host, port = target.rsplit(':', 1)
    try:
        with socket.create_connection((host, int(port)), 10) as server:
            server.sendall(b'?')
            print(target, server.recv(100).decode() or 'nothing')
    except socket.gaierror:
        print(target, 'no such name')
    except OSError as why:
        print(target, type(why).__name__)
sys.exit(3)
"#;

/// `picoclaw run` in that world; `None` where there can be none, said loudly.
fn in_world(project: &Project, flags: &[&str], targets: &[&str]) -> Option<Ran> {
    let command = project.command(&[flags, &["--", "/usr/bin/python3", "-c", ASK], targets].concat());
    let mut world = Command::new("unshare");
    world.args(["-Urnm", "/usr/bin/python3", "-c", WORLD]).arg(project.instance.dir());
    world.arg(command.get_program()).args(command.get_args()).current_dir(project.dir());
    world.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = ran(world.stdin(Stdio::null()).output().unwrap());
    if ran.stderr.contains("unshare:") || ran.stderr.contains("no mount") {
        picoclaw_testing::skip!("a network of one's own cannot be made here: {}", ran.stderr);
        return None;
    }
    Some(ran)
}

#[test]
fn an_allowed_name_is_reached_and_no_other_host_or_port() {
    let Some(project) = Project::new("`--allow-host`") else { return };
    if !is_here("python3") {
        return;
    }
    let targets = [
        "web.test:443",
        "WEB.test:443",
        "web.test:22",
        "web.test:8443",
        "other.test:443",
        "sub.web.test:443",
        "10.9.8.7:443",
        "127.0.0.1:443",
    ];
    let Some(control) = in_world(&project, &["--net", "host"], &targets) else { return };
    let reached = |ran: &Ran| -> Vec<String> {
        let lines = ran.stdout.lines().filter(|line| line.ends_with("43") || line.ends_with(":22"));
        lines.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
    };
    assert_eq!(reached(&control).len(), 7, "the control reaches all but `sub.web.test`: {control:?}");
    let ran = in_world(&project, &["--allow-host", "web.test"], &targets).unwrap();
    assert_eq!(reached(&ran), ["web.test:443", "WEB.test:443"], "{ran:?}");
    assert!(ran.stdout.contains("other.test:443 no such name\n"), "{ran:?}");
    assert!(ran.stdout.contains("web.test:22 ConnectionRefusedError\n"), "{ran:?}");
    for host in ["other.test", "sub.web.test"] {
        let hint = format!("`{host}` is not one of the allowed hosts: `--allow-host {host}`\n");
        assert!(ran.stderr.contains(&hint), "{host}: {ran:?}");
    }
    let ran = in_world(&project, &["--allow-host", "web.test:8443"], &targets).unwrap();
    assert_eq!(reached(&ran), ["web.test:8443"], "{ran:?}");
    let ran = in_world(&project, &["--allow-host", "10.9.8.7"], &targets).unwrap();
    assert_eq!(reached(&ran), ["10.9.8.7:443"], "an address: {ran:?}");
}

#[test]
fn a_name_does_not_lead_to_this_machine_nor_a_domain_into_a_private_network() {
    let Some(project) = Project::new("`--allow-host` and addresses") else { return };
    if !is_here("python3") {
        return;
    }
    let targets = ["rebound.test:443", "a.wild.test:443"];
    let Some(control) = in_world(&project, &["--net", "host"], &targets) else { return };
    assert_eq!(control.stdout, "rebound.test:443 127.0.0.1:443\na.wild.test:443 10.9.8.7:443\n");
    let ran = in_world(&project, &["--allow-host", "rebound.test", "--allow-host", "*.wild.test"], &targets)
        .unwrap();
    assert!(!ran.stdout.contains("10.9.8.7") && !ran.stdout.contains("127.0.0.1"), "{ran:?}");
    assert!(ran.stderr.contains("not reached: rebound.test:443: it is `127.0.0.1`: this machine"), "{ran:?}");
    assert!(
        ran.stderr.contains("not reached: a.wild.test:443: it is `10.9.8.7`: a private network"),
        "{ran:?}"
    );
    let named = in_world(&project, &["--allow-host", "a.wild.test"], &targets).unwrap();
    assert!(named.stdout.contains("a.wild.test:443 10.9.8.7:443\n"), "the name itself: {named:?}");
}

/// A server on the host's loopback that answers every connection with `text`.
fn host_server(text: &'static str) -> u16 {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in server.incoming().map_while(Result::ok) {
            let (mut client, mut question) = (client, [0; 1]);
            let _ = client.read(&mut question);
            let _ = client.write_all(text.as_bytes());
        }
    });
    port
}

#[test]
fn one_port_of_the_hosts_loopback_is_reached_and_recorded() {
    let Some(project) = Project::new("`--allow-host localhost`") else { return };
    if !is_here("python3") {
        return;
    }
    let (open, closed) = (host_server("open"), host_server("closed"));
    let targets = [format!("localhost:{open}"), format!("127.0.0.1:{closed}"), format!("127.0.0.1:{open}")];
    let flag = format!("localhost:{open}");
    let mut arguments = vec!["--allow-host", &flag, "--", "/usr/bin/python3", "-c", ASK];
    arguments.extend(targets.iter().map(String::as_str));
    let ran = project.run(&arguments);
    let want =
        format!("localhost:{open} open\n127.0.0.1:{closed} ConnectionRefusedError\n127.0.0.1:{open} open\n");
    assert_eq!(ran.stdout, want, "{ran:?}");
    let records = project.instance.records();
    let of_connection: Vec<_> = records.iter().filter(|record| record["tool"] == "connect").collect();
    assert_eq!(of_connection.len(), 2, "one decided, one finished: {of_connection:?}");
    let (decided, finished) = (of_connection[0], of_connection[1]);
    assert_eq!(decided["intent"], format!("connect localhost:{open}"));
    assert_eq!((&decided["phase"], &decided["verdict"]), (&"decided".into(), &"allow".into()));
    assert_eq!(decided["rule"], format!("isolation.network.allow:localhost:{open}"));
    assert_eq!((&finished["phase"], &finished["outcome"]), (&"finished".into(), &"ok: 2 connections".into()));
    let other = format!("127.0.0.2:{open}");
    let other = project.run(&["--allow-host", &other, "--", "/usr/bin/python3", "-c", ASK, &other]);
    assert!(other.stderr.contains("not reached: 127.0.0.2:"), "another address of the loopback: {other:?}");
    assert_eq!(project.instance.run(&["audit", "verify"]).code, 0);
}

/// A server on the host's loopback that does what the first byte of a connection asks for.
const ODD_SERVER: &str = r#"
import socket, struct, threading

server = socket.create_server(('127.0.0.1', 0), backlog=200)
print(server.getsockname()[1], flush=True)

def answer(client):
    asked = client.recv(1)
    if asked == b'r':
        client.sendall(b'x' * 1000)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    elif asked == b'e':
        rest = b''.join(iter(lambda: client.recv(100), b''))
        client.sendall(b'after the end: ' + rest)
    else:
        client.sendall(asked)
        client.recv(1)
    client.close()

while True:
    client, _ = server.accept()
    threading.Thread(target=answer, args=(client,), daemon=True).start()
"#;

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const ODD_CLIENT: &str = r#"
import socket, sys
port = int(sys.argv[1])

def ask(what):
    server = socket.create_connection(('localhost', port), 20)
    server.sendall(what)
    return server

many = [ask(b'm') for _ in range(40)]
print('many', all(server.recv(1) == b'm' for server in many))
ended = ask(b'e' + b'rest')
ended.shutdown(socket.SHUT_WR)
print('half', ended.makefile().read())
try:
    got = ask(b'r').makefile().read()
    print('reset: an end', len(got))
except ConnectionResetError:
    print('reset: a reset')
"#;

#[test]
fn connections_are_many_and_end_as_the_host_ends_them() {
    let Some(project) = Project::new("connections by name") else { return };
    if !is_here("python3") {
        return;
    }
    let mut server = Command::new("/usr/bin/python3");
    server.args(["-c", ODD_SERVER]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut server = Server(server.spawn().unwrap());
    let mut port = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let flag = format!("localhost:{}", port.trim());
    let ask = ["--", "/usr/bin/python3", "-c", ODD_CLIENT, port.trim()];
    let control = project.run(&[&["--net", "host"][..], &ask].concat());
    let ran = project.run(&[&["--allow-host", flag.as_str()][..], &ask].concat());
    assert_eq!(control.stdout, "many True\nhalf after the end: rest\nreset: a reset\n", "{control:?}");
    assert_eq!(ran.stdout, control.stdout, "{ran:?}");
}

/// Names that a command looks up while it listens at their port, and afterwards.
const SQUATTER: &str = r#"
import socket, time
def look_up(name):
    try:
        return socket.getaddrinfo(name, 8443, socket.AF_INET)[0][4][0].startswith('198.18.0.')
    except OSError:
        return False

server = socket.create_server(('0.0.0.0', 8443))
print(look_up('a.example'), look_up('c.example'))
server.close()
print(look_up('b.example'))
deadline = time.monotonic() + 20
while not look_up('a.example') and time.monotonic() < deadline:
    time.sleep(0.1)
print(look_up('a.example'), socket.gethostbyname(socket.gethostname()))
"#;

#[test]
fn a_command_that_takes_a_port_closes_its_own_host_alone() {
    let Some(project) = Project::new("ports of allowed hosts") else { return };
    if !is_here("python3") {
        return;
    }
    let names = ["a.example:8443", "b.example:8443", "c.example:8443", "c.example"];
    let names = names.map(|name| ["--allow-host", name]).concat();
    let ran = project.run(&[&names[..], &["--", "/usr/bin/python3", "-c", SQUATTER]].concat());
    assert_eq!(ran.stdout, "False True\nTrue\nTrue 127.0.1.1\n", "{ran:?}");
    let looped = project.run(&["--publish", "4711", "--allow-host", "localhost:4711", "--", "true"]);
    assert!(looped.code == 125 && looped.stderr.contains("would lead to itself"), "{looped:?}");
}

#[test]
fn a_flag_that_cannot_be_held_is_refused() {
    let Some(project) = Project::new("`--allow-host` that cannot be") else { return };
    for (flags, want) in [
        (&["--net", "host", "--allow-host", "a.example"][..], "an open network reaches every host already"),
        (&["--allow-host", "https://a.example/x"], "this is a URL"),
        (&["--allow-host", "0.0.0.0:80"], "not the address of one host"),
        (&["--allow-host", "*"], "this is not a host"),
        (&["--allow-host", "[::1]:80"], "an IPv6 address cannot be reached"),
    ] {
        let ran = project.run(&[flags, &["--", "true"]].concat());
        assert_eq!(ran.code, 2, "{flags:?}: {ran:?}");
        assert!(ran.stderr.contains(want), "{flags:?}: {ran:?}");
    }
    if is_here("bwrap") {
        let mut command = project.command(&["--allow-host", "a.example", "--", "true"]);
        let ran = ran(command.env("PICOCLAW_ISOLATION_BACKEND", "bwrap").output().unwrap());
        assert_eq!(ran.code, 125, "{ran:?}");
        assert!(ran.stderr.contains("--allow-host") && ran.stderr.contains("a native cage"), "{ran:?}");
    }
}

#[test]
fn commands_of_an_agent_reach_what_the_configuration_names() {
    if !has_native_cage("hosts of an agent's commands") || !is_here("python3") {
        return;
    }
    let (open, closed) = (host_server("open"), host_server("closed"));
    let config = format!(
        r#"{{"isolation": {{"enabled": true, "network": {{"allow": ["localhost:{open}", "*.example.org"], "deny": ["no.example.org"]}}}},
            "tools": {{"exec": {{"guard": "smart"}}}}}}"#
    );
    let instance = TestInstance::with_config(&config);
    std::fs::create_dir_all(instance.workspace()).unwrap();
    std::fs::write(instance.workspace().join("ask.py"), ASK).unwrap();
    let line = format!("python3 ask.py localhost:{open} localhost:{closed} elsewhere.example:443");
    let ran = instance.run(&["tool", "exec", &serde_json::json!({"command": line}).to_string()]);
    assert!(ran.stdout.contains(&format!("localhost:{open} open\n")), "{ran:?}");
    assert!(ran.stdout.contains(&format!("localhost:{closed} ConnectionRefusedError\n")), "{ran:?}");
    let note = "`elsewhere.example` is not one of the hosts that `isolation.network.allow` lists";
    assert!(ran.stdout.contains(note), "{ran:?}");
    for (asked, code) in [
        (format!("localhost:{open}"), 0),
        ("a.example.org:443".to_owned(), 0),
        ("no.example.org:443".to_owned(), 1),
        ("a.example.org:22".to_owned(), 1),
        ("http://a.example.org".to_owned(), 2),
    ] {
        let ran = instance.run(&["check", "connect", &asked]);
        assert_eq!(ran.code, code, "{asked}: {ran:?}");
    }
    let status = instance.run(&["status"]).stdout;
    assert!(
        status.contains(&format!("network by name: localhost:{open}, *.example.org, but not no.example.org")),
        "{status}"
    );
    let mut bwrap = instance.command(&["tool", "list_dir", "{}"]);
    let refused =
        crate::test_instance::ran(bwrap.env("PICOCLAW_ISOLATION_BACKEND", "bwrap").output().unwrap());
    assert_eq!(refused.code, 2, "what cannot be held stops the start: {refused:?}");
}
