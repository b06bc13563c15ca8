//! `--publish`: a port of the host's loopback leads into the cage, and nothing leads out.

use super::{Project, is_here};
use picoclaw_testing::wait_until;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixListener};
use std::process::{Child, Command, Stdio};

/// A server on this port of the cage's loopback that answers each connection with `text` and what it was sent.
fn server(port: u16, text: &str) -> String {
    format!(
        "import socket\nserver = socket.create_server(('127.0.0.1', {port}))\nwhile True:\n    \
         client, _ = server.accept()\n    sent = client.makefile().read()\n    \
         client.sendall(('{text} ' + sent).encode())\n    client.close()\n"
    )
}

/// What a server says; `None` when none answers.
fn ask(address: impl Into<SocketAddr>, question: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address.into()).ok()?;
    stream.write_all(question.as_bytes()).ok()?;
    stream.shutdown(std::net::Shutdown::Write).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    (!answer.is_empty()).then_some(answer)
}

/// A port of the loopback on which nothing listens.
pub(super) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

struct Running(Child);

impl Running {
    fn start(mut command: Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

fn publishing(project: &Project, port: &str, code: &str) -> Running {
    Running::start(project.command(&["--publish", port, "--", "/usr/bin/python3", "-c", code]))
}

#[test]
fn a_server_in_the_cage_is_reached_from_the_loopback_alone() {
    if !is_here("python3") {
        return;
    }
    let Some(project) = Project::new("`--publish`") else { return };
    let (host, cage) = (free_port(), 4711);
    let running = publishing(&project, &format!("{host}:{cage}"), &server(cage, "inside"));
    let v4 = ([127, 0, 0, 1], host);
    wait_until("the server answers", || ask(v4, "hello").as_deref() == Some("inside hello"));
    let long = "x".repeat(1 << 20);
    assert_eq!(ask(v4, &long), Some(format!("inside {long}")), "a megabyte each way");
    if TcpListener::bind("[::1]:0").is_ok() {
        assert_eq!(ask(([0, 0, 0, 0, 0, 0, 0, 1], host), "six").as_deref(), Some("inside six"));
    }
    assert_eq!(ask(([127, 0, 0, 1], cage), "hello"), None, "the port of the cage is not the host's");
    // The address of this machine in its network, without sending anything.
    let outer = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    match outer {
        Ok(outer) if !outer.ip().is_loopback() => {
            assert_eq!(ask((outer.ip(), host), "hello"), None, "nor any other address");
        }
        _ => picoclaw_testing::skip!("another address of this host: it has none"),
    }
    assert_eq!(ask(([127, 0, 0, 2], host), "hello"), None, "nor another one of the loopback");
    drop(running);
    wait_until("the port is free again", || TcpListener::bind(v4_address(host)).is_ok());
}

fn v4_address(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

#[test]
fn nothing_leads_out_of_a_cage_with_a_published_port() {
    if !is_here("python3") {
        return;
    }
    let Some(project) = Project::new("the other direction of `--publish`") else { return };
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let name = format!("picoclaw-test-{port}");
    let abstract_name = UnixAddr::from_abstract_name(&name).unwrap();
    let _abstract = UnixListener::bind_addr(&abstract_name).unwrap();
    let code = format!(
        "import socket\ndef tried(family, address):\n    try:\n        \
         socket.socket(family).connect(address)\n        return 'reached'\n    except OSError:\n        \
         return 'refused'\n\
         print(tried(socket.AF_INET, ('127.0.0.1', {port})), tried(socket.AF_INET, ('192.0.2.1', 80)), \
         tried(socket.AF_UNIX, '\\0{name}'))\n"
    );
    let published = free_port().to_string();
    let inside = project.run(&["--publish", &published, "--", "/usr/bin/python3", "-c", &code]);
    assert_eq!(inside.stdout, "refused refused refused\n", "{inside:?}");
    let open = project.run(&["--net", "host", "--", "/usr/bin/python3", "-c", &code]);
    assert!(open.stdout.starts_with("reached "), "the control: an open network: {open:?}");
    let look = "cat /proc/self/status | grep -i capeff; ip link add x type dummy 2>&1; ls /sys/class/net 2>&1; id -u; \
        python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)' 2>&1 | tail -1";
    let held = project.run(&["--publish", &published, "--", "sh", "-c", look]);
    assert!(
        held.stdout.contains("0000000000000000") && held.stdout.contains("Operation not permitted"),
        "{held:?}"
    );
}

#[test]
fn two_cages_do_not_reach_each_other() {
    if !is_here("python3") {
        return;
    }
    let Some(project) = Project::new("two published cages") else { return };
    let (host, cage) = (free_port(), 4712);
    let _running = publishing(&project, &format!("{host}:{cage}"), &server(cage, "first"));
    wait_until("the first answers", || ask(([127, 0, 0, 1], host), "x").is_some());
    let code = format!("import socket; socket.create_connection(('127.0.0.1', {cage}), 5)");
    let other = project.run(&["--publish", &free_port().to_string(), "--", "/usr/bin/python3", "-c", &code]);
    assert!(other.stderr.contains("ConnectionRefusedError"), "{other:?}");
}

#[test]
fn a_port_that_cannot_be_published_is_named() {
    let Some(project) = Project::new("faults of `--publish`") else { return };
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (why, flags, code, want) in [
        ("taken", &["--publish", port.as_str()][..], 125, "of this host's loopback is taken"),
        (
            "an open network",
            &["--publish", "3000", "--net", "host"],
            2,
            "`--publish` is not needed with an open network",
        ),
        ("an address", &["--publish", "0.0.0.0:3000"], 2, "is not HOSTPORT or HOSTPORT:CAGEPORT"),
    ] {
        let ran = project.run(&[flags, &["--", "echo", "it ran"]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{why}: {ran:?}");
        assert!(ran.stderr.contains(want), "{why}: {ran:?}");
    }
    if !is_here("bwrap") {
        return;
    }
    let bwrap = r#"{"isolation": {"backend": "bwrap"}}"#;
    let Some(project) = Project::with_config("`--publish` with bubblewrap", bwrap) else { return };
    let ran = project.run(&["--publish", &free_port().to_string(), "--", "echo", "it ran"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran:?}");
    assert!(ran.stderr.contains("`--publish` needs a native cage"), "{ran:?}");
}
