//! `--ssh-agent`, `--gpg`, and the runtime directory that they use.

use super::{Project, SYSTEM_PATH, is_here};
use crate::test_instance::{Ran, ran};
use picoclaw_testing::wait_until;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A line in a shell outside, which must succeed.
fn outside(dir: &Path, variables: &[(&str, &Path)], line: &str) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(dir).env("HOME", dir).env("PATH", SYSTEM_PATH);
    let ran = ran(shell.envs(variables.iter().copied()).stdin(Stdio::null()).output().unwrap());
    assert_eq!(ran.code, 0, "{line}: {ran:?}");
    ran.stdout
}

fn caged(project: &Project, variables: &[(&str, &Path)], flags: &[&str], line: &str) -> Ran {
    let arguments = [flags, &["--", "sh", "-c", line]].concat();
    let mut command = project.command(&arguments);
    command.env_remove("SSH_AUTH_SOCK").env_remove("GNUPGHOME");
    ran(command.envs(variables.iter().copied()).stdin(Stdio::null()).output().unwrap())
}

/// An ssh-agent with one key, in a directory beside the project.
struct SshAgent {
    process: Child,
    dir: PathBuf,
}

impl SshAgent {
    fn start(project: &Project) -> Self {
        let dir = project.instance.dir().join(".ssh");
        std::fs::create_dir(&dir).unwrap();
        let mut process = Command::new("ssh-agent");
        process.args(["-D", "-a"]).arg(dir.join("sock")).stdout(Stdio::null());
        let agent = Self { process: process.spawn().unwrap(), dir };
        wait_until("the agent listens", || UnixStream::connect(agent.socket()).is_ok());
        outside(
            &agent.dir,
            &[("SSH_AUTH_SOCK", &agent.socket())],
            "ssh-keygen -q -t ed25519 -N '' -f id && ssh-add -q id",
        );
        agent
    }

    fn socket(&self) -> PathBuf {
        self.dir.join("sock")
    }
}

impl Drop for SshAgent {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[test]
fn an_ssh_agent_signs_and_its_keys_stay_outside() {
    if !is_here("ssh-agent") {
        return;
    }
    if !Command::new("id").arg("-un").output().unwrap().status.success() {
        picoclaw_testing::skip!("ssh refuses a user without an entry in the password database");
        return;
    }
    let Some(project) = Project::new("`--ssh-agent`") else { return };
    let agent = SshAgent::start(&project);
    let (socket, key) = (agent.socket(), agent.dir.join("id"));
    let known =
        "host.example.org ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n";
    project.file(".ssh/known_hosts", known);
    std::fs::copy(agent.dir.join("id.pub"), project.dir().join("id.pub")).unwrap();
    let variables = [("SSH_AUTH_SOCK", socket.as_path())];
    let sign = "echo text > note; ssh-keygen -q -Y sign -n file -f id.pub note && cat note.sig";
    let signed = caged(&project, &variables, &["--ssh-agent"], sign);
    assert!(signed.code == 0 && signed.stdout.contains("BEGIN SSH SIGNATURE"), "{signed:?}");
    let found = caged(
        &project,
        &variables,
        &["--ssh-agent"],
        "ssh-keygen -F host.example.org -f /etc/ssh/ssh_known_hosts2",
    );
    assert_eq!(found.code, 0, "known hosts: {found:?}");
    let private = std::fs::read_to_string(&key).unwrap();
    let dir = agent.dir.display();
    let look =
        caged(&project, &variables, &["--ssh-agent"], &format!("ssh-add -L; ls -a {dir}; cat {dir}/id"));
    assert!(look.stdout.starts_with("ssh-ed25519 "), "the public key: {look:?}");
    assert!(
        !look.stdout.contains(private.lines().nth(1).unwrap()) && !look.stdout.contains("sock"),
        "{look:?}"
    );
    let write = caged(&project, &variables, &["--ssh-agent"], "echo evil >> /etc/ssh/ssh_known_hosts2");
    assert_ne!(write.code, 0, "{write:?}");
    assert_eq!(std::fs::read_to_string(agent.dir.join("known_hosts")).unwrap(), known);
    if is_here("bwrap") {
        let config = r#"{"isolation": {"backend": "bwrap"}}"#;
        let Some(other) = Project::with_config("`--ssh-agent` with bubblewrap", config) else { return };
        let listed = caged(&other, &variables, &["--ssh-agent"], "ssh-add -L; stat -c %a $XDG_RUNTIME_DIR");
        assert!(
            listed.stdout.starts_with("ssh-ed25519 ") && listed.stdout.ends_with("\n700\n"),
            "{listed:?}"
        );
    }
    let without = caged(
        &project,
        &variables,
        &[],
        "echo \"[$SSH_AUTH_SOCK]\"; ssh-add -l; ls /etc/ssh/ssh_known_hosts2",
    );
    assert!(without.code != 0 && without.stdout == "[]\n", "the control: not without the flag: {without:?}");
}

#[test]
fn an_agent_that_is_not_there_is_named() {
    let Some(project) = Project::new("missing agents") else { return };
    let gone = project.instance.dir().join("gone");
    let home = project.instance.dir().join("gnupg");
    for (why, flag, variables, want) in [
        ("no variable", "--ssh-agent", &[][..], "`SSH_AUTH_SOCK` is not set"),
        (
            "no socket",
            "--ssh-agent",
            &[("SSH_AUTH_SOCK", gone.as_path())],
            "no ssh-agent answers at `SSH_AUTH_SOCK`",
        ),
        ("no gpg-agent", "--gpg", &[("GNUPGHOME", home.as_path())], "`gpgconf --launch gpg-agent`"),
    ] {
        let ran = caged(&project, variables, &[flag], "echo it ran");
        assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{why}: {ran:?}");
        assert!(ran.stderr.contains(want), "{why}: {ran:?}");
    }
}

/// A home of GnuPG with one key, whose agent has its restricted socket there.
struct GpgHome(PathBuf);

impl GpgHome {
    fn new(project: &Project) -> Self {
        let home = project.instance.dir().join("gnupg");
        std::fs::create_dir(&home).unwrap();
        let socket = format!("extra-socket {}\n", home.join("S.gpg-agent.extra").display());
        project.file("gnupg/gpg-agent.conf", &socket);
        outside(&home, &[], "chmod 700 .");
        let home = Self(home);
        home.run(
            "gpg --batch -q --passphrase '' --quick-generate-key 'A <a@example.org>' default default never",
        );
        home
    }

    fn run(&self, line: &str) -> String {
        outside(&self.0, &[("GNUPGHOME", &self.0)], line)
    }
}

impl Drop for GpgHome {
    fn drop(&mut self) {
        self.run("gpgconf --kill all; gpgconf --remove-socketdir || true");
    }
}

#[test]
fn a_gpg_agent_signs_and_its_keys_stay_outside() {
    if !is_here("gpg") || !is_here("gpg-agent") || !is_here("git") {
        return;
    }
    let Some(project) = Project::new("`--gpg`") else { return };
    project.file(".gitconfig", "[user]\n\tname = A\n\temail = a@example.org\n");
    let home = GpgHome::new(&project);
    let variables = [("GNUPGHOME", home.0.as_path())];
    let sign = "echo text | gpg --batch -q --clearsign -o note.asc && gpg --batch --verify note.asc 2>&1";
    let signed = caged(&project, &variables, &["--gpg"], sign);
    assert!(signed.code == 0 && signed.stdout.contains("Good signature"), "{signed:?}");
    home.run("gpg --batch -q --verify ../project/note.asc");
    let commit = "git init -q . && git commit -q --allow-empty -S -m one && git verify-commit HEAD";
    let committed = caged(&project, &variables, &["--gpg"], commit);
    assert_eq!(committed.code, 0, "{committed:?}");
    let export = "gpg --batch --pinentry-mode loopback --passphrase '' --armor --export-secret-keys";
    assert!(!home.run(export).is_empty(), "the control: outside they can be exported");
    let dir = home.0.display();
    let looked = caged(
        &project,
        &variables,
        &["--gpg"],
        &format!("{export} | wc -c; ls -a {dir} ~/.gnupg/private-keys-v1.d"),
    );
    assert!(looked.stdout.starts_with("0\n") && !looked.stdout.contains(".key"), "{looked:?}");
    let write = caged(
        &project,
        &variables,
        &["--gpg"],
        "gpg --batch --yes --delete-keys a@example.org; echo x >> ~/.gnupg/pubring.kbx",
    );
    assert_ne!(write.code, 0, "{write:?}");
    assert!(home.run("gpg --list-keys").contains("a@example.org"), "the keyring is as it was");
    // A link in the place of the cage's home is not followed on the host.
    let outside = project.file("outside/kept", "");
    let outside = outside.parent().unwrap();
    let line = format!("cd ~/.. && mv home moved && ln -s {} home", outside.display());
    assert_eq!(caged(&project, &[], &[], &line).code, 0);
    assert_ne!(caged(&project, &variables, &["--gpg"], "true").code, 0);
    assert!(!outside.join(".gnupg").exists(), "nothing is made behind the link");
    assert_eq!(caged(&project, &[], &[], "cd ~/.. && rm home && mv moved home").code, 0);
    let without = caged(&project, &variables, &[], "gpg --list-keys; echo text | gpg --batch --clearsign");
    assert!(without.code != 0 && !without.stdout.contains("a@example.org"), "the control: {without:?}");
}

#[test]
fn links_in_a_home_of_gnupg_lend_nothing_else() {
    let Some(project) = Project::new("`--gpg` and links") else { return };
    project.file("key", "SECRET\n");
    let home = project.dir().join(".gnupg");
    std::fs::create_dir(&home).unwrap();
    let shown = |variables: &[(&str, &Path)]| {
        let look = "cat ~/.gnupg/pubring.kbx; test -e $XDG_RUNTIME_DIR/gnupg/S.gpg-agent && echo socket";
        caged(&project, variables, &["--gpg"], look)
    };
    let variables = [("GNUPGHOME", home.as_path())];
    let other = UnixListener::bind(project.instance.dir().join("other")).unwrap();
    std::os::unix::fs::symlink("../../other", home.join("S.gpg-agent.extra")).unwrap();
    let told = shown(&variables);
    assert_eq!((told.code, told.stdout.as_str()), (125, ""), "another socket: {told:?}");
    std::fs::remove_file(home.join("S.gpg-agent.extra")).unwrap();
    drop(other);
    let _own = UnixListener::bind(home.join("S.gpg-agent.extra")).unwrap();
    std::os::unix::fs::symlink("../../key", home.join("pubring.kbx")).unwrap();
    let told = shown(&variables);
    assert_eq!(told.stdout, "socket\n", "another file: {told:?}");
    std::fs::remove_file(home.join("pubring.kbx")).unwrap();
    std::fs::write(home.join("pubring.kbx"), "public\n").unwrap();
    assert_eq!(shown(&variables).stdout, "public\nsocket\n", "the control");
}

#[test]
fn a_gpg_agent_runs_in_a_cage_with_a_long_path() {
    if !is_here("gpg") || !is_here("gpg-agent") {
        return;
    }
    let Some(project) = Project::new("gpg in a cage") else { return };
    let long = project.dir().join("with-a-long-name".repeat(6));
    std::fs::create_dir(&long).unwrap();
    let line = "gpg --batch -q --passphrase '' --quick-generate-key b@example.org default default never && \
        echo text | gpg --batch -q --clearsign";
    let mut command = project.command(&["--", "sh", "-c", line]);
    let first = ran(command.current_dir(&long).output().unwrap());
    assert!(first.code == 0 && first.stdout.contains("BEGIN PGP SIGNATURE"), "{first:?}");
}

#[test]
fn the_runtime_directory_is_the_cages_own() {
    let Some(project) = Project::new("the runtime directory") else { return };
    let line = "stat -c '%a %u' $XDG_RUNTIME_DIR && ls -A $XDG_RUNTIME_DIR && echo x > $XDG_RUNTIME_DIR/new && \
        echo $XDG_RUNTIME_DIR && ls /run/user";
    let ran = caged(&project, &[("XDG_RUNTIME_DIR", Path::new("/run/user/4711"))], &[], line);
    let user = rustix::process::geteuid().as_raw();
    assert_eq!(ran.stdout, format!("700 {user}\n/run/user/{user}\n{user}\n"), "{ran:?}");
    assert!(!Path::new(&format!("/run/user/{user}/new")).exists());
}
