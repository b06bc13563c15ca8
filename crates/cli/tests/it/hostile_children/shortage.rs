//! C12: a lower level is taken only for a lasting reason, never for a passing shortage.

use super::{Faults, Native, Project, is_here, is_root, outside};
use crate::test_instance::{TestInstance, ran};
use std::process::Command;

/// Runs its arguments with one system call failing: `fail.pl ERRNO NUMBER FLAGS …`; with FLAGS not 0, only where one of
/// those bits is in the first argument. The numbers are those of x86_64.
const FAIL: &str = r#"my ($errno, $number, $flags) = splice @ARGV, 0, 3;
my @which = $flags ? ([0x15, 0, 3, $number], [0x20, 0, 0, 16], [0x45, 0, 1, $flags]) : ([0x15, 0, 1, $number]);
my @code = ([0x20, 0, 0, 0], @which, [6, 0, 0, 0x50000 + $errno], [6, 0, 0, 0x7fff0000]);
my $code = join '', map { pack 'SCCL', @$_ } @code;
my $program = pack 'Sx6P', scalar @code, $code;
syscall(157, 38, 1, 0, 0, 0) == 0 && syscall(157, 22, 2, $program) == 0 or die "no filter: $!";
exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!";"#;

/// An instance on `backend: auto`, whose commands tell whether they see the host's tree.
struct Auto {
    instance: TestInstance,
    line: String,
}

impl Auto {
    fn new() -> Option<Self> {
        Project::new(Native)?;
        let instance = TestInstance::with_config("{}");
        std::fs::create_dir(instance.dir().join("project")).unwrap();
        std::fs::write(instance.dir().join("beside"), "").unwrap();
        let line = format!("test -e {}/beside && echo LOWER || echo CAGE", instance.dir().display());
        Some(Self { instance, line })
    }

    /// What comes of `run --net host` when `wrapper` starts it: `CAGE`, `LOWER`, or the code of a refusal.
    fn level(&self, wrapper: &[&str]) -> String {
        let words = ["run", "--net", "host", "--", "/bin/sh", "-c", &self.line];
        let mut command: Command = self.instance.wrapped(wrapper, &words);
        let told = ran(command.current_dir(self.instance.dir().join("project")).output().unwrap());
        if told.code == 0 { told.stdout.trim().to_owned() } else { format!("{} {}", told.code, told.stderr) }
    }

    fn check(&self, faults: &mut Faults, why: &str, wrapper: &[&str]) {
        let level = self.level(wrapper);
        faults.check(level == "CAGE" || level.starts_with("125 "), format!("{why}: {level}"));
    }
}

#[test]
fn few_descriptors_do_not_lower_the_level() {
    let mut faults = Faults::default();
    let Some(auto) = Auto::new() else { return };
    assert_eq!(auto.level(&[]), "CAGE", "the control");
    for limit in 4..40 {
        let line = format!("ulimit -n {limit}; exec \"$@\"");
        auto.check(&mut faults, &format!("ulimit -n {limit}"), &["sh", "-c", &line, "sh"]);
    }
}

#[test]
fn a_passing_failure_does_not_lower_the_level() {
    if !cfg!(target_arch = "x86_64") {
        picoclaw_testing::skip!("the numbers of the calls are those of x86_64");
        return;
    }
    let mut faults = Faults::default();
    let Some(auto) = Auto::new() else { return };
    let lower = |errno: &str| {
        auto.level(&["perl", "-e", super::WITHOUT_NAMESPACES, "perl", "-e", FAIL, errno, "999", "0"])
    };
    assert_eq!(lower("1"), "LOWER", "the control: namespaces that are refused for good");
    for (errno, name) in
        [(24, "EMFILE"), (23, "ENFILE"), (12, "ENOMEM"), (11, "EAGAIN"), (5, "EIO"), (4, "EINTR")]
    {
        for (call, number, flags) in [
            ("clone with namespaces", "56", "2113929216"),
            ("clone3", "435", "0"),
            ("unshare", "272", "0"),
            ("mount", "165", "0"),
            ("open_tree", "428", "0"),
            ("move_mount", "429", "0"),
            ("fsopen", "430", "0"),
            ("fsmount", "432", "0"),
            ("mount_setattr", "442", "0"),
            ("pivot_root", "155", "0"),
            ("sethostname", "170", "0"),
            ("pipe2", "293", "0"),
            ("eventfd2", "290", "0"),
            ("memfd_create", "319", "0"),
            ("openat2", "437", "0"),
        ] {
            let errno = errno.to_string();
            auto.check(&mut faults, &format!("{call}: {name}"), &["perl", "-e", FAIL, &errno, number, flags]);
        }
    }
}

/// H1d: seccomp profiles of container runtimes, and a cage around this one, answer ENOSYS.
#[test]
fn without_openat2_there_is_a_native_cage() {
    if !cfg!(target_arch = "x86_64") {
        picoclaw_testing::skip!("the numbers of the calls are those of x86_64");
        return;
    }
    let Some(project) = Project::with_isolation(
        Native,
        r#", "expose_paths": [{"source": "/usr/lib", "target": "/usr/share", "mode": "ro"}]"#,
    ) else {
        return;
    };
    let wrapper = ["perl", "-e", FAIL, "38", "437", "0"];
    let told = ran(project
        .wrapped(&wrapper, &[], &["sh", "-c", "ls /usr/share > list && cat list"])
        .output()
        .unwrap());
    assert_eq!(told.code, 0, "{told:?}");
    let shown = outside(&project.dir(), &["ls", "/usr/lib"]).stdout;
    assert_eq!(told.stdout.lines().count(), shown.lines().count(), "the exposure beneath a mount: {told:?}");
    let line =
        "mkdir -p .git/hooks a/b && echo was > .git/hooks/h && echo was > a/b/.envrc && : > .git/config";
    assert_eq!(outside(&project.dir(), &["sh", "-c", line]).code, 0);
    for errno in ["38", "1"] {
        let attack = "echo evil > .git/hooks/h; echo evil > a/b/.envrc; echo new > a/.envrc";
        let wrapper = ["perl", "-e", FAIL, errno, "437", "0"];
        let told = ran(project.wrapped(&wrapper, &[], &["sh", "-c", attack]).output().unwrap());
        let content = outside(&project.dir(), &["cat", ".git/hooks/h", "a/b/.envrc"]).stdout;
        assert_eq!(content, "was\nwas\n", "protected files, errno {errno}: {told:?}");
        assert!(told.stderr.contains("`a/.envrc` (new)"), "the report, errno {errno}: {told:?}");
        assert_eq!(outside(&project.dir(), &["rm", "a/.envrc"]).code, 0);
    }
}

#[test]
fn a_missing_proc_does_not_lower_the_level() {
    let mut faults = Faults::default();
    let Some(auto) = Auto::new().filter(|_| is_here("unshare")) else { return };
    let namespaces: &[&str] = if is_root() { &["unshare", "-m"] } else { &["unshare", "-Urm"] };
    let hide = ["sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"];
    if ran(Command::new(namespaces[0]).args(&namespaces[1..]).args(hide).arg("true").output().unwrap()).code
        != 0
    {
        picoclaw_testing::skip!("/proc cannot be hidden here");
        return;
    }
    auto.check(&mut faults, "without /proc", &[namespaces, &hide].concat());
}
