//! What a caged child sees: the default view, exposures and their order, and what is refused before anything starts.

use crate::support::instance;
use picoclaw_policy::config::{Expose, ExposeMode};
use picoclaw_sandbox::isolate::PlanError;
use picoclaw_sandbox::launch::{LaunchError, Status, run_to_end};
use std::path::{Path, PathBuf};

#[test]
fn the_default_view_is_small() {
    let place = instance();
    for (why, line, want) in [
        ("the workspace is the working directory", "pwd", format!("{}\n", place.workspace.display())),
        ("and writable", "echo x > new && cat mine", "mine".into()),
        ("the skills are readable", "cat ../skills/skill.md", "a skill".into()),
        (
            "of the instance only the own parts are there",
            "ls -A ..",
            "runtime-user-env\nskills\nworkspace\n".into(),
        ),
        ("of the user environments only the own one", "ls -A ../runtime-user-env", "agents\n".into()),
        ("its home is its own", "cd && echo x > y && pwd | grep -c agents/main/home", "1\n".into()),
        ("its temporary directory too", "mktemp | grep -c agents/main/tmp", "1\n".into()),
        ("a private /tmp", "echo x > /tmp/y && ls -A /tmp | grep -cx y", "1\n".into()),
        ("and shared memory", "echo x > /dev/shm/y && cat /dev/shm/y", "x\n".into()),
        ("the top is read-only", "mkdir /new 2>&1 | grep -c Read-only", "1\n".into()),
        ("programs are there", "ls /bin/sh", "/bin/sh\n".into()),
        (
            "names and certificates too",
            "test -r /etc/passwd && test -r /etc/hosts && echo yes",
            "yes\n".into(),
        ),
        ("devices that hold nothing", "echo x > /dev/null && head -c 2 /dev/zero | wc -c", "2\n".into()),
        ("no disk, no memory", "ls /dev | grep -cE 'vda|sda|mem|kmsg'", "0\n".into()),
        ("it is the only one here", "ls /proc | grep -cE '^[0-9]+$'", "5\n".into()),
        (
            "kernel settings can be read",
            "test -n \"$(cat /proc/sys/kernel/ostype)\" && echo yes",
            "yes\n".into(),
        ),
        ("and the machine's state", "grep -c MemTotal /proc/meminfo", "1\n".into()),
        (
            "standard streams have their names",
            "echo out > /dev/stdout; echo err > /dev/stderr",
            "out\n".into(),
        ),
        ("a substituted process works", "cat /dev/fd/0 < mine", "mine".into()),
    ] {
        let finished = place.run(line).expect(why);
        let text = finished.stdout.to_text();
        let close_enough =
            why == "it is the only one here" && text.trim().parse().is_ok_and(|count: u32| count <= 6);
        assert!(text == want || close_enough, "{why}: `{line}` said `{text}`, {}", finished.stderr.to_text());
    }
}

#[test]
fn what_is_hidden_stays_where_it_is() {
    let mut place = instance();
    place.expose(&place.base.clone(), &place.base.clone(), ExposeMode::ReadWrite);
    let line = format!(
        "cd {} && mv outside renamed && mv renamed outside && echo renamed; mv home other; ls home",
        place.base.display()
    );
    let finished = place.run(&line).expect("it runs");
    let said = (finished.stdout.to_text(), finished.stderr.to_text());
    assert!(said.0 == "renamed\n" && said.1.contains("busy"), "{said:?}");
    let control = std::process::Command::new("sh").args(["-c", &line]).output().expect("a shell");
    assert!(place.base.join("other").exists(), "the control: {control:?}");
}

#[test]
fn nested_exposures_win_over_their_parents_whatever_the_order() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut place = instance();
        std::fs::create_dir_all(place.outside.join("inner/deep")).expect("directories");
        let outside = place.outside.clone();
        let rules = [
            (outside.clone(), place.workspace.join("assets"), ExposeMode::ReadWrite),
            (outside.join("inner"), place.workspace.join("assets/inner"), ExposeMode::ReadOnly),
            (outside.join("inner/deep"), place.workspace.join("assets/inner/deep"), ExposeMode::ReadWrite),
        ];
        for at in order {
            let (source, target, mode) = &rules[at];
            place.expose(source, target, *mode);
        }
        let line = "cd assets; for d in . inner inner/deep; do (echo x > $d/f) 2>/dev/null && echo rw || echo ro; done";
        let finished = place.run(line).expect("a shell starts");
        assert_eq!(finished.stdout.to_text(), "rw\nro\nrw\n", "{order:?}");
    }
}

#[test]
fn an_exposure_is_where_it_was_asked_for_and_nothing_else_becomes_writable() {
    let look = "for at in / /etc /dev /run /home /srv /opt /tmp /dev/shm; do \
        [ -d $at ] && touch $at/probe 2>/dev/null && echo writable $at; done";
    for (why, exposures) in [
        ("the default view", vec![]),
        ("beneath a directory of the system", vec![("outside/victim", "/etc/picoclaw-test/deep/victim")]),
        ("a file at the top", vec![("outside/victim", "/victim")]),
        (
            "a directory and a file side by side",
            vec![("outside", "/srv/a/b"), ("outside/victim", "/srv/a/c")],
        ),
        ("two directories side by side", vec![("outside", "/opt/x"), ("home/.picoclaw/skills", "/opt/y")]),
        ("in a private directory", vec![("outside", "/tmp/deep/er")]),
    ] {
        let mut place = instance();
        let mut line = look.to_owned();
        let mut want = "writable /tmp\nwritable /dev/shm\n".to_owned();
        for (source, target) in exposures {
            let source = place.base.join(source);
            place.expose(&source, Path::new(target), ExposeMode::ReadOnly);
            line.push_str(&format!("; test -e {target} && touch {target} 2>&1 | grep -c Read-only"));
            want.push_str("1\n");
        }
        let finished = place.run(&line).expect(why);
        assert_eq!(finished.stdout.to_text(), want, "{why}: {}", finished.stderr.to_text());
    }
}

#[test]
fn a_part_of_the_workspace_can_be_locked() {
    let mut place = instance();
    let locked = place.workspace.join("locked");
    std::fs::create_dir(&locked).expect("a directory");
    place.expose(&locked, &locked, ExposeMode::ReadOnly);
    let finished = place.run("echo changed > locked/f; echo free > f; ls").expect("a shell starts");
    assert_eq!(finished.stdout.to_text(), "f\nlocked\nmine\n", "W66: {}", finished.stderr.to_text());
}

#[test]
fn of_two_rules_for_one_target_the_later_wins() {
    let mut place = instance();
    let (outside, at) = (place.outside.clone(), PathBuf::from("/opt/tools"));
    place.expose(&outside, &at, ExposeMode::ReadWrite);
    place.expose(&outside, &at, ExposeMode::ReadOnly);
    let finished = place.run("cat /opt/tools/victim; echo x > /opt/tools/new").expect("a shell starts");
    assert_eq!(finished.stdout.to_text(), "OUTSIDE-SECRET");
    assert!(!outside.join("new").exists());
}

#[test]
fn an_exposure_that_contains_the_instance_does_not_show_it() {
    let mut place = instance();
    let base = place.base.clone();
    place.expose(&base, &base, ExposeMode::ReadWrite);
    let line = "cat ../config.json ../workspace-other/notes; echo x > ../config.json; ls -A ..; cat mine";
    let finished = place.run(line).expect("a shell starts");
    assert_eq!(
        finished.stdout.to_text(),
        "runtime-user-env\nskills\nworkspace\nmine",
        "{}",
        finished.stderr.to_text()
    );
    assert_eq!(
        std::fs::read_to_string(base.join("home/.picoclaw/config.json")).expect("it is there"),
        "CONFIG-SECRET"
    );
}

#[test]
fn a_bad_exposure_is_an_error_before_anything_starts() {
    let place = instance();
    let there = place.outside.clone();
    let secrets = place.root.join("config.json");
    let rule = |source: &Path, target: &Path| Expose {
        source: source.into(),
        target: target.into(),
        mode: ExposeMode::ReadOnly,
    };
    let root = Path::new("/");
    for (why, exposures, want) in [
        ("no source", vec![rule(Path::new(""), root)], "source is required"),
        ("a relative source", vec![rule(Path::new("tools"), &there)], "absolute paths"),
        ("a relative target", vec![rule(&there, Path::new("tools"))], "absolute paths"),
        ("dots", vec![rule(&there.join("../outside"), &there)], "absolute paths"),
        ("a NUL byte", vec![rule(Path::new("/x\0y"), &there)], "absolute paths"),
        ("the top as a target", vec![rule(&there, root)], "belongs to the cage"),
        ("the top as a source", vec![rule(root, Path::new("/opt/host"))], "no cage"),
        ("/proc as a target", vec![rule(&there, Path::new("/proc/self"))], "belongs to the cage"),
        ("/dev as a target", vec![rule(&there, Path::new("/dev/disk"))], "belongs to the cage"),
        (
            "/proc as a source",
            vec![rule(Path::new("/proc"), Path::new("/opt/proc"))],
            "belongs to the kernel",
        ),
        ("a source that is not there", vec![rule(Path::new("/no/such/place"), &there)], "does not exist"),
        ("something Protected", vec![rule(&secrets, Path::new("/opt/config"))], "protected"),
        ("two thousand", vec![rule(&there, Path::new("/opt/x")); 2000], "2000 entries"),
    ] {
        let mut place = instance();
        // The same paths in this instance.
        place.isolation.expose_paths = exposures
            .into_iter()
            .map(|mut exposure| {
                if exposure.source == secrets {
                    exposure.source = place.root.join("config.json");
                }
                exposure
            })
            .collect();
        let error = place.plan().expect_err(why).to_string();
        assert!(error.contains(want), "{why}: {error}");
    }
}

#[test]
fn a_symlinked_source_is_shown_as_what_it_leads_to_and_a_link_in_the_way_of_a_target_is_refused() {
    let mut place = instance();
    let link = place.base.join("link");
    std::os::unix::fs::symlink(&place.outside, &link).expect("a link");
    place.expose(&link, Path::new("/opt/link"), ExposeMode::ReadOnly);
    assert_eq!(place.run("cat /opt/link/victim").expect("a shell starts").stdout.to_text(), "OUTSIDE-SECRET");

    let mut place = instance();
    std::os::unix::fs::symlink("/etc", place.workspace.join("assets")).expect("a link");
    let (outside, target) = (place.outside.clone(), place.workspace.join("assets/x"));
    place.expose(&outside, &target, ExposeMode::ReadOnly);
    let error = place.run("true").expect_err("a link that an agent made decides nothing");
    assert!(matches!(error, LaunchError::Step { .. }), "{error}");
    assert_eq!(error.exit_code(), 125);
}

#[test]
fn a_working_directory_that_was_swapped_is_refused() {
    let place = instance();
    std::fs::create_dir(place.workspace.join("judged")).expect("a directory");
    let spec = place.try_spec("pwd", &place.cage(), &place.workspace.join("judged")).expect("it opens");
    std::fs::rename(place.workspace.join("judged"), place.workspace.join("moved")).expect("a rename");
    std::fs::create_dir(place.workspace.join("judged")).expect("another");
    let error = run_to_end(spec).expect_err("another directory than the one that was judged");
    assert!(error.to_string().contains("enter"), "{error}");
}

#[test]
fn an_instance_at_no_place_is_refused() {
    let mut place = instance();
    place.root = PathBuf::from(".");
    let view = picoclaw_sandbox::isolate::InstancePaths { root: PathBuf::from("."), ..instance().view() };
    let request = picoclaw_sandbox::isolate::PlanRequest {
        isolation: &place.isolation,
        instance: &view,
        source: picoclaw_sandbox::isolate::CommandSource::Model,
        work_dir: &place.workspace,
        home: std::path::Path::new("/home/u"),
        variables: &[],
        private: &[],
    };
    let error = picoclaw_sandbox::isolate::plan(&request, &picoclaw_sandbox::isolate::LiveHost);
    assert!(matches!(error, Err(PlanError::NoInstance)), "{error:?}");
}

#[test]
fn a_status_passes_through_the_cage() {
    let place = instance();
    for (why, line, want) in [
        ("success", "exit 0", Status::Exited(0)),
        ("its own code", "exit 7", Status::Exited(7)),
        ("a signal", "kill -SEGV $$", Status::Signaled(11)),
        (
            "a forbidden architecture is not tried here; a forbidden call is an error",
            "mount -t tmpfs x /tmp 2>/dev/null || exit 3",
            Status::Exited(3),
        ),
    ] {
        assert_eq!(place.run(line).expect(why).status, want, "{why}");
    }
    let mut spec = place.spec("", place.cage());
    spec.program = place.outside.join("victim");
    let error = run_to_end(spec).expect_err("a program that the child does not see");
    assert_eq!(error.exit_code(), 127, "{error}");
}

/// Tells a thread to stop.
struct StopOnDrop<'a>(&'a std::sync::atomic::AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn a_source_that_is_swapped_again_and_again_shows_what_was_judged_or_nothing() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let mut place = instance();
    let (source, aside) = (place.outside.join("shown"), place.outside.join("aside"));
    let elsewhere = place.outside.join("elsewhere");
    for (directory, word) in [(&source, "right"), (&elsewhere, "wrong")] {
        std::fs::create_dir(directory).expect("a directory");
        std::fs::write(directory.join("word"), word).expect("a file");
    }
    place.expose(&source, std::path::Path::new("/shown"), ExposeMode::ReadOnly);
    let confinement = place.cage();
    let over = AtomicBool::new(false);
    let (mut right, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Gone, then a link to somewhere else, then back again, for shorter than a child needs or for longer.
            let mut stays = [0, 0, 0, 1, 2, 4].map(std::time::Duration::from_millis).into_iter().cycle();
            while !over.load(Ordering::Relaxed) {
                std::fs::rename(&source, &aside).expect("it goes");
                std::os::unix::fs::symlink(&elsewhere, &source).expect("a link");
                std::fs::remove_file(&source).expect("the link goes");
                std::fs::rename(&aside, &source).expect("it comes back");
                stays.next().into_iter().for_each(std::thread::sleep);
            }
        });
        // Also when an assertion fails: the scope waits for the other thread.
        let _stop = StopOnDrop(&over);
        // As often as it takes until both were met, and no less than that on any machine.
        for tried in 0..3_000 {
            if tried >= 120 && right > 0 && refused > 0 {
                break;
            }
            match place.try_spec("cat /shown/word", &confinement, &place.workspace).and_then(run_to_end) {
                Ok(finished) => {
                    assert_eq!(finished.stdout.to_text(), "right", "{finished:?}");
                    right += 1;
                }
                Err(error) => {
                    assert!(error.to_string().contains("shown"), "{error}");
                    refused += 1;
                }
            }
        }
    });
    assert!(right > 0 && refused > 0, "both outcomes were met: {right} {refused}");
}
