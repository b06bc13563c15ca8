//! What a command learns about its network, and which settings of the operator it gets.

use super::publish::free_port;
use super::{Project, is_here};
use crate::test_instance::ran;

const HINT: &str = "this cage has no network: `--net host`, or `--allow-host NAME` for one host";

#[test]
fn a_look_up_in_a_closed_network_is_followed_by_the_flag() {
    let Some(project) = Project::new("the hint for the network") else { return };
    if !is_here("python3") {
        return;
    }
    for (why, line, want) in [
        ("a name", "socket.getaddrinfo('example.org', 80)", true),
        ("an address", "socket.create_connection(('192.0.2.1', 80), 1)", true),
        (
            "the loopback",
            "socket.create_server(('127.0.0.1', 0)); socket.getaddrinfo('localhost', 80)",
            false,
        ),
        ("nothing", "print(1)", false),
        (
            "a name that it can do without",
            "import contextlib\nwith contextlib.suppress(OSError): socket.getaddrinfo('example.org', 80)",
            false,
        ),
    ] {
        let ran = project.run(&["--", "/usr/bin/python3", "-c", &format!("import socket; {line}")]);
        assert_eq!(ran.stderr.contains(HINT), want, "{why}: {ran:?}");
        assert!(!want || ran.stderr.ends_with(&format!("{HINT}\n")), "{why}: it is the last line: {ran:?}");
    }
    let refused = "import socket; socket.create_connection(('127.0.0.1', 9))";
    let ran = project.run(&["--", "/usr/bin/python3", "-c", refused]);
    assert!(
        ran.stderr.ends_with(
            "; `--net host` reaches the services of this host, `--allow-host localhost:PORT` one of them\n"
        ),
        "{ran:?}"
    );
    let open = project.run(&[
        "--net",
        "host",
        "--",
        "/usr/bin/python3",
        "-c",
        "import socket; socket.create_connection(('127.0.0.1', 1))",
    ]);
    assert!(!open.stderr.contains(HINT), "an open network: {open:?}");
}

/// Root has no capability in the cage, and low ports need none in its own network.
#[test]
fn a_closed_network_has_low_ports_and_the_hosts_stays_as_it_is() {
    const SETTING: &str = "/proc/sys/net/ipv4/ip_unprivileged_port_start";
    let Some(project) = Project::new("low ports") else { return };
    if !is_here("python3") {
        return;
    }
    let before = std::fs::read_to_string(SETTING).unwrap();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    if [" /proc ro", " /proc/sys ro"].iter().any(|mount| mounts.contains(mount)) {
        picoclaw_testing::skip!("low ports: `/proc/sys` is read-only here");
        return;
    }
    let bind = "import socket; socket.create_server(('127.0.0.1', 80)); print('listens')";
    for flags in [&[][..], &["--publish", &format!("{}:80", free_port())]] {
        let ran = project.run(&[flags, &["--", "/usr/bin/python3", "-c", bind]].concat());
        assert_eq!(ran.stdout, "listens\n", "{flags:?}: {ran:?}");
    }
    assert_eq!(std::fs::read_to_string(SETTING).unwrap(), before, "the host's own network");
    let open = project.run(&["--net", "host", "--", "cat", SETTING]);
    assert_eq!(open.stdout, before, "the host's network in a cage: {open:?}");
}

#[test]
fn tools_are_told_whether_there_is_a_network() {
    let Some(project) = Project::new("variables about the network") else { return };
    let host = [
        ("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"),
        ("NODE_EXTRA_CA_CERTS", "/root/ca.pem"),
        ("https_proxy", "http://proxy.example.org:3128"),
        ("HTTP_PROXY", "http://user:word@proxy.example.org:3128"),
    ];
    let environment = |flags: &[&str]| {
        let mut command = project.command(&[flags, &["--", "env"]].concat());
        ran(command.envs(host).output().unwrap()).stdout
    };
    let closed = environment(&[]);
    for line in ["npm_config_offline=true", "CARGO_NET_OFFLINE=true", "UV_OFFLINE=1", "PIP_NO_INDEX=1"] {
        assert!(closed.lines().any(|known| known == line), "{line}: {closed}");
    }
    assert!(!closed.contains("proxy.example.org") && !closed.contains("SSL_CERT_FILE"), "{closed}");
    let open = environment(&["--net", "host"]);
    assert!(open.contains("https_proxy=http://proxy.example.org:3128\n"), "{open}");
    assert!(!open.contains("user:word") && !open.contains("OFFLINE") && !open.contains("ca.pem"), "{open}");
    if std::path::Path::new(host[0].1).exists() {
        assert!(open.contains("SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt\n"), "{open}");
    }
    let online = environment(&["--env", "npm_config_offline=false"]);
    assert!(online.contains("npm_config_offline=false\n"), "a flag wins: {online}");
}

#[test]
fn a_variable_is_passed_by_its_name() {
    let Some(project) = Project::new("`--pass`") else { return };
    let mut command = project.command(&[
        "--pass",
        "MY_TOKEN",
        "--pass",
        "NOT_SET",
        "--",
        "sh",
        "-c",
        "echo $MY_TOKEN; cat /proc/*/cmdline | tr '\\0' ' '",
    ]);
    let ran = ran(command.env("MY_TOKEN", "word-7391").output().unwrap());
    assert!(ran.stdout.starts_with("word-7391\n"), "{ran:?}");
    assert_eq!(ran.stdout.matches("word-7391").count(), 1, "no command line has it: {ran:?}");
    assert!(ran.stderr.contains("`--pass NOT_SET`: it is not set"), "{ran:?}");
    let records = format!("{:?}", project.instance.records());
    assert!(!records.contains("word-7391"), "nor has the audit log");
    let mut without = project.command(&["--", "sh", "-c", "echo \"$MY_TOKEN\""]);
    let without = without.env("MY_TOKEN", "word-7391").output().unwrap();
    assert_eq!(without.stdout, b"\n", "the control: it does not pass by itself");
}
