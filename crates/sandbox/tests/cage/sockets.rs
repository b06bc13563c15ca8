//! UNIX sockets and cages: those of the host are masked wherever they have gone, those of the cage work.

use crate::support::{Instance, instance};
use picoclaw_policy::config::{ExposeMode, Network};
use picoclaw_sandbox::isolate::Confinement;
use picoclaw_sandbox::launch::{Deadline, LaunchSpec, Running, run_to_end, start};
use picoclaw_testing::wait_until;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;

const NETWORKS: [Network; 2] = [Network::None, Network::Host];

/// A shell line that says how a connection to a path went.
fn connect(path: &str) -> String {
    format!(
        "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{path}')\" && echo reached || echo no"
    )
}

fn said(place: &Instance, cage: &Confinement, line: &str) -> String {
    let finished = run_to_end(place.spec(line, cage.clone())).expect("it runs");
    eprintln!("{line}: {}", finished.stderr.to_text());
    finished.stdout.to_text().trim().to_owned()
}

/// Starts a server that makes the file `up` when it listens.
fn serve(place: &Instance, spec: LaunchSpec) -> Running {
    let server = start(spec).expect("it starts");
    wait_until("the server listens", || place.workspace.join("up").exists());
    server
}

/// A command that runs until it is dropped.
fn lasting(place: &Instance, line: &str, cage: Confinement) -> LaunchSpec {
    LaunchSpec { deadline: Deadline::None, ..place.spec(line, cage) }
}

/// An instance with this network; its cages are made from it as it is then.
fn with_network(network: &Network) -> Instance {
    let mut place = instance();
    place.isolation.network = network.clone();
    place
}

fn bind(path: &Path) -> UnixListener {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    UnixListener::bind(path).expect("a socket")
}

#[test]
fn a_socket_of_the_host_stays_masked_wherever_commands_move_it() {
    for network in NETWORKS {
        let place = with_network(&network);
        let _listener = bind(&place.workspace.join("sub/dir/socket"));
        let cage = place.cage();
        assert_eq!(said(&place, &cage, &connect("sub/dir/socket")), "no", "{network:?}");
        let control = std::os::unix::net::UnixStream::connect(place.workspace.join("sub/dir/socket"));
        assert!(control.is_ok(), "the control: {control:?}");
        let line = "mv sub/dir/socket away; rm sub/dir/socket; mv sub moved && mkdir -p a/b && mv moved a/b/ && ls a/b/moved/dir";
        assert_eq!(said(&place, &cage, line), "socket", "{network:?}: directories may be moved");
        assert_eq!(said(&place, &cage, &connect("a/b/moved/dir/socket")), "no", "{network:?}");
        assert_eq!(
            said(&place, &place.cage(), &connect("a/b/moved/dir/socket")),
            "no",
            "{network:?}: a new cage"
        );
        let control = std::os::unix::net::UnixStream::connect(place.workspace.join("a/b/moved/dir/socket"));
        assert!(control.is_ok(), "the control: {control:?}");
    }
}

#[test]
fn a_directory_that_commands_have_closed_hides_no_socket() {
    for network in NETWORKS {
        let place = with_network(&network);
        let _listener = bind(&place.workspace.join("sub/socket"));
        let cage = place.cage();
        said(&place, &cage, "mv sub closed; chmod 0 closed");
        // Root searches it all the same; for a user it is hidden as a whole.
        let opened = format!("chmod 700 closed 2>/dev/null; {}", connect("closed/socket"));
        assert_eq!(said(&place, &cage, &opened), "no", "{network:?}");
        let path = place.workspace.join("closed");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("it is ours");
        assert!(path.join("socket").metadata().is_ok_and(|meta| meta.mode() & 0o170_000 == 0o140_000));
    }
}

#[test]
fn a_path_that_is_too_long_for_the_kernel_hides_no_socket() {
    // With 4,090 bytes the directory can be opened, and nothing in it.
    for (network, bytes) in
        NETWORKS.into_iter().flat_map(|network| [(network.clone(), 4090), (network, 6000)])
    {
        let place = with_network(&network);
        // Each step is taken from the one before.
        let length = bytes - "/sub".len() - place.workspace.as_os_str().len();
        let (steps, first) = (length / 100, length % 100 + 99);
        let deep = format!(
            "import os, socket\nfor step in range({steps}):\n  name = 'd' * (99 if step else {first})\n  os.path.isdir(name) or os.mkdir(name)\n  os.chdir(name)\n"
        );
        let _listener = bind(&place.workspace.join("sub/socket"));
        let cage = place.cage();
        let moves = format!("python3 -c \"{deep}os.rename('../' * {steps} + 'sub', 'sub')\"");
        said(&place, &cage, &moves);
        assert!(!place.workspace.join("sub").exists(), "{network:?}: it was moved");
        let connects = format!(
            "python3 -c \"{deep}socket.socket(socket.AF_UNIX).connect('sub/socket')\" && echo reached"
        );
        assert_eq!(said(&place, &cage, &format!("{connects}; echo ran")), "ran", "{network:?}");
    }
}

#[test]
fn a_socket_that_is_gone_leaves_nothing_behind() {
    for network in NETWORKS {
        let place = with_network(&network);
        let path = place.workspace.join("socket");
        let listener = bind(&path);
        let cage = place.cage();
        drop(listener);
        std::fs::remove_file(&path).expect("it was there");
        assert_eq!(said(&place, &cage, "ls"), "mine", "{network:?}");
        assert!(!path.exists(), "no file was made to mount on");
        // Restarted, the server binds the name again. In a shared network a child of another test may run.
        let listener = bind(&path);
        if network == Network::None {
            assert_eq!(said(&place, &cage, &connect("socket")), "no", "{network:?}");
        }
        assert_eq!(said(&place, &place.cage(), &connect("socket")), "no", "{network:?}: a new cage");
        // One that no process has bound any more can be replaced.
        drop(listener);
        let line = "rm -f socket; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('socket')\" && echo bound";
        // A child of another test that has not executed yet may hold a copy of the listener for a moment.
        assert!((0..50).any(|_| said(&place, &place.cage(), line) == "bound"), "{network:?}");
    }
}

#[test]
fn commands_of_one_cage_reach_each_others_sockets() {
    const SERVE: &str = "python3 -c \"import socket, time
for name in ('own', '$HOME/own'):
    server = socket.socket(socket.AF_UNIX); server.bind(name); server.listen(); globals()[name] = server
open('up', 'w'); time.sleep(100000)\"";
    for network in NETWORKS {
        let place = with_network(&network);
        let cage = place.cage();
        let server = serve(&place, lasting(&place, SERVE, cage.clone()));
        for path in ["own", "$HOME/own"] {
            assert_eq!(said(&place, &cage, &connect(path)), "reached", "{network:?}: {path}");
        }
        drop(server);
    }
}

#[test]
fn a_socket_of_the_cage_may_have_the_inode_of_one_that_is_gone() {
    const SERVE: &str = "python3 -c \"import socket, time
servers = [socket.socket(socket.AF_UNIX) for number in range(20)]
for number, server in enumerate(servers):
    server.bind('own%d' % number); server.listen()
open('up', 'w'); time.sleep(100000)\"";
    const CONNECT: &str = "python3 -c \"import socket
for number in range(20):
    try: socket.socket(socket.AF_UNIX).connect('own%d' % number)
    except OSError as why: print(number, why)
print('tried')\"";
    let place = with_network(&Network::Host);
    // While a child runs, the sockets of the host are not listed anew.
    let child = start(lasting(&place, "sleep 100000", place.cage())).expect("it starts");
    let path = place.workspace.join("socket");
    let listener = bind(&path);
    let inode = path.metadata().expect("it is there").ino();
    let cage = place.cage();
    drop(listener);
    std::fs::remove_file(&path).expect("it was there");
    let server = serve(&place, lasting(&place, SERVE, cage.clone()));
    let own = (0..20).map(|number| place.workspace.join(format!("own{number}")));
    let is_reused = own.map(|path| path.metadata().expect("a socket").ino()).any(|own| own == inode);
    assert_eq!(said(&place, &cage, CONNECT), "tried", "these are masked");
    drop((server, child));
    if !is_reused {
        picoclaw_testing::skip!("the file system did not give the inode of a removed socket to a new one");
    }
}

#[test]
fn the_operator_may_expose_one_socket() {
    for network in NETWORKS {
        let mut place = with_network(&network);
        let agent = place.outside.join("agent.sock");
        let other = place.outside.join("other.sock");
        let _listeners = [bind(&agent), bind(&other)];
        place.expose(&place.outside.clone(), &place.outside.clone(), ExposeMode::ReadWrite);
        place.expose(&agent, &agent, ExposeMode::ReadWrite);
        place.expose(&agent, Path::new("/run/agent.sock"), ExposeMode::ReadWrite);
        let cage = place.cage();
        for (path, want) in
            [(agent.as_path(), "reached"), (Path::new("/run/agent.sock"), "reached"), (&other, "no")]
        {
            let path = path.to_str().expect("a path");
            assert_eq!(said(&place, &cage, &connect(path)), want, "{network:?}: {path}");
        }
    }
}
