//! `--profile`: what of the home appears in the cage, what passes, and what does not.

use super::Project;
use crate::test_instance::{Ran, TestInstance, ran};

const OWN: &str = "programs = ['tool']\npackages = ['@vendor/tool-cli']\nhosts = ['api.example']\npass = ['TOOL_KEY']\narguments = ['-u']\n\
    [env]\nTOOL_MODE = 'caged'\n\
    [[home]]\npath = '.tool/login'\naccess = 'read-only'\n\
    [[home]]\npath = '.tool/state'\naccess = 'read-write'\n\
    [[home]]\npath = '.tool/missing'\naccess = 'read-only'\n";

/// A directory with a mount in it can be renamed, and takes the mount along.
const MOVED: &str =
    "mv ~/.tool ~/.other; (echo x > ~/.other/login) 2>/dev/null || echo kept; mv ~/.other ~/.tool";

/// A project, a profile `tool` of its own, and a home with more in it than the profile names.
fn project(why: &str) -> Option<Project> {
    let project = Project::new(why)?;
    project.file("home/profiles/tool.toml", OWN);
    project.file(".tool/login", "the login");
    project.file(".tool/state/count", "1");
    project.file(".tool/history", "CANARY");
    project.file(".ssh/id", "CANARY");
    Some(project)
}

fn with_profile(project: &Project, line: &str) -> Ran {
    let mut command = project.command(&["--profile", "tool", "--", "sh", "-c", line]);
    ran(command.env("TOOL_KEY", "k").env("OTHER_KEY", "CANARY").output().unwrap())
}

#[test]
fn a_profile_shows_what_it_names_and_nothing_else() {
    let Some(project) = project("profiles") else { return };
    let host = project.instance.dir().to_str().unwrap().to_owned();
    for (why, line, want) in [
        ("the login", "cat ~/.tool/login", "the login"),
        ("only to read", "(echo x > ~/.tool/login) 2>/dev/null || echo kept", "kept\n"),
        ("nor to remove", "rm -f ~/.tool/login 2>/dev/null || echo kept", "kept\n"),
        ("nor under another name", MOVED, "kept\n"),
        ("what is read-write", "echo 2 > ~/.tool/state/count; cat ~/.tool/state/count", "2\n"),
        ("what does not exist", "test -e ~/.tool/missing || echo none", "none\n"),
        ("the rest of its directory", "cat ~/.tool/history 2>/dev/null || echo none", "none\n"),
        ("nor at its own place", &format!("cat {host}/.tool/* 2>/dev/null || echo none"), "none\n"),
        ("keys", &format!("cat {host}/.ssh/id ~/.ssh/id 2>/dev/null || echo none"), "none\n"),
        ("the instance", &format!("ls {host}/home/profiles 2>/dev/null || echo none"), "none\n"),
        ("variables", "echo $TOOL_KEY $TOOL_MODE $OTHER_KEY", "k caged\n"),
    ] {
        let ran = with_profile(&project, line);
        assert_eq!(ran.stdout, want, "{why}: {ran:?}");
    }
    let state = std::fs::read_to_string(project.instance.dir().join(".tool/state/count")).unwrap();
    assert_eq!(state, "2\n");
    assert_eq!(std::fs::read_to_string(project.instance.dir().join(".tool/login")).unwrap(), "the login");
    let ran = with_profile(&project, "true");
    let said = "picoclaw run: profile `tool`: the network is open, to every host; `~/.tool/login` read-only; \
                `~/.tool/state` read-write\n";
    assert_eq!(ran.stderr, said);
    // Without the profile nothing of it is left but empty places.
    let ran = project.sh("cat ~/.tool/login ~/.tool/state/* 2>/dev/null; echo $TOOL_MODE");
    assert_eq!(ran.stdout, "\n", "{ran:?}");
}

#[test]
fn a_profile_opens_the_network_unless_it_is_closed() {
    let Some(project) = project("the network of a profile") else { return };
    let host = std::fs::read_link("/proc/self/ns/net").unwrap();
    for (flags, is_open) in
        [(&["--profile", "tool"][..], true), (&["--profile", "tool", "--net", "none"], false)]
    {
        let ran = project.run(&[flags, &["--", "readlink", "/proc/self/ns/net"]].concat());
        assert_eq!(ran.stdout.trim() == host.to_str().unwrap(), is_open, "{flags:?}: {ran:?}");
        assert_eq!(ran.stderr.contains("the network is open"), is_open, "{ran:?}");
    }
}

#[test]
fn arguments_are_for_the_program_of_the_profile_alone() {
    let Some(project) = project("the arguments of a profile") else { return };
    let tool = project.file("project/tool", "#!/bin/sh\necho \"$@\"\n");
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::copy(&tool, project.dir().join("other")).unwrap();
    std::fs::copy(&tool, project.dir().join("npx")).unwrap();
    for (words, want) in [
        (&["./tool", "a"][..], "-u a\n"),
        (&["./other", "a"], "a\n"),
        (&["./npx", "-y", "@vendor/tool-cli@2", "a"], "-y @vendor/tool-cli@2 -u a\n"),
        (&["./npx", "-y", "other", "a"], "-y other a\n"),
    ] {
        let ran = project.run(&[&["--profile", "tool", "--"], words].concat());
        assert_eq!(ran.stdout, want, "{ran:?}");
        // It is named to a person who runs the program without it, and to no other.
        let ran = project.run(&[&["--"], words].concat());
        assert_eq!(ran.stderr.contains("`--profile tool`"), want.contains("-u"), "{ran:?}");
    }
    for (line, profile) in [
        ("npx claude", "claude"),
        ("npx @anthropic-ai/claude-code", "claude"),
        ("npx codex", "codex"),
        ("npx -y @openai/codex", "codex"),
    ] {
        let words: Vec<&str> =
            line.split(' ').map(|word| if word == "npx" { "./npx" } else { word }).collect();
        let ran = project.run(&[&["--"][..], &words].concat());
        assert!(ran.stderr.contains(&format!("`--profile {profile}` shows its login")), "{line}: {ran:?}");
    }
}

#[test]
fn links_lead_no_mount_out_of_a_home() {
    let Some(project) = project("links and profiles") else { return };
    let outside = project.file("outside/login", "CANARY");
    let link = |to: &str| {
        let _ = std::fs::remove_file(project.instance.dir().join(".tool/login"));
        std::os::unix::fs::symlink(to, project.instance.dir().join(".tool/login")).unwrap();
        with_profile(&project, "cat ~/.tool/login")
    };
    for (why, to, said) in [
        ("out of the home", "/etc/hostname", "leads out of the home"),
        ("to keys", "../.ssh/id", "holds keys"),
        ("to the instance", "../home/config.json", "holds files of picoclaw"),
    ] {
        let ran = link(to);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{why}: {ran:?}");
        assert!(ran.stderr.contains(said), "{why}: {ran:?}");
    }
    // Within the home it is the operator's business, as with files that another program keeps.
    assert_eq!(link("../outside/login").stdout, "CANARY");
    // The child owns its home. A link that it leaves there must not become a mount point outside.
    let target = project.instance.dir().join("outside");
    let line = format!("rm -rf ~/.tool; ln -s {} ~/.tool", target.display());
    assert_eq!(project.sh(&line).code, 0);
    let ran = with_profile(&project, "true");
    assert_eq!(ran.code, 125, "{ran:?}");
    let names: Vec<_> = std::fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names, [outside]);
}

#[test]
fn a_profile_on_the_lower_levels_holds_or_is_refused() {
    let Some(project) = project("profiles on lower levels") else { return };
    if super::is_here("bwrap") {
        project.instance.configure(r#"{"isolation": {"backend": "bwrap"}}"#);
        let ran =
            with_profile(&project, "cat ~/.tool/login; (echo x > ~/.tool/login) 2>/dev/null || echo kept");
        assert_eq!(ran.stdout, "the loginkept\n", "{ran:?}");
    }
}

#[test]
fn flags_on_the_landlock_level_hold_or_are_refused_by_name() {
    let Some(project) = project("flags with Landlock alone") else { return };
    if !super::is_here("perl") {
        return;
    }
    project.instance.configure("{}");
    let wrapper = ["perl", "-e", include_str!("../hostile_children/without_namespaces.pl")];
    let run = |flags: &[&str]| {
        let words = [&["run"], flags, &["--", "echo", "it ran"]].concat();
        let mut command = project.instance.wrapped(&wrapper, &words);
        ran(command.current_dir(project.dir()).env("PATH", super::SYSTEM_PATH).output().unwrap())
    };
    let control = run(&[]);
    if control.code == 125 {
        picoclaw_testing::skip!("this kernel has no Landlock: {}", control.stderr);
        return;
    }
    assert_eq!((control.code, control.stdout.as_str()), (0, "it ran\n"), "{control:?}");
    for (flags, said) in [
        (
            &["--profile", "tool"][..],
            "`--profile` needs a mount namespace: this host offers Landlock\nhint: `--pass",
        ),
        (&["--cache", "shared"], "`--cache shared` needs a native cage: this host offers Landlock"),
        (&["--cache", "none"], "`--cache none` needs a mount namespace: this host offers Landlock"),
        (&["--publish", "3999"], "`--publish` needs a native cage: this host offers Landlock"),
        (&["--tmp", "64M"], "`--tmp` needs a mount namespace: this host offers Landlock"),
        (&["--debug"], "`--debug` needs a pid namespace: this host offers Landlock"),
    ] {
        let ran = run(flags);
        assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{flags:?}: {ran:?}");
        assert!(ran.stderr.contains(said), "{flags:?}: {ran:?}");
    }
    // What is no more than a path or a variable holds there too.
    for flags in [&["--profile", "bare"][..], &["--net", "host"], &["--memory", "512M"], &["--pass", "PATH"]]
    {
        project.file("home/profiles/bare.toml", "programs = ['bare']\n");
        assert_eq!(run(flags).stdout, "it ran\n", "{flags:?}");
    }
}

#[test]
fn profiles_are_listed_shown_and_checked() {
    let instance = TestInstance::with_config("{}").with_env("TOOL_KEY", "sk-MARK");
    std::fs::create_dir(instance.home().join("profiles")).unwrap();
    let write = |name: &str, text: &str| {
        std::fs::write(instance.home().join("profiles").join(name), text).unwrap();
    };
    write("tool.toml", OWN);
    write("broken.toml", "program = ['x']");
    write("Not a profile.toml", OWN);
    let ran = instance.run(&["profile", "list"]);
    let names: Vec<_> = ran.stdout.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["broken", "claude", "codex", "tool"], "{ran:?}");
    assert_eq!(instance.run(&["profile", "show", "tool"]).stdout, OWN);
    assert!(instance.run(&["profile", "show", "codex"]).stdout.contains("sandbox_mode"));
    let ran = instance.run(&["profile", "check", "tool"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for said in ["`tool` is valid", "~/.tool/login: read-only, not there", "TOOL_KEY: passes, set"] {
        assert!(ran.stdout.contains(said), "{said}: {ran:?}");
    }
    assert!(!ran.stdout.contains("sk-MARK"), "{ran:?}");
    for (arguments, said) in [
        (
            &["profile", "check", "broken"][..],
            "broken.toml:1: there is no key `program`; did you mean `programs`?",
        ),
        (&["profile", "check", "cluade"], "there is no profile `cluade`; known are `broken`, `claude`"),
        (&["profile", "show", "../config"], "there is no profile"),
        (&["run", "--profile", "broken", "--", "true"], "did you mean `programs`?"),
        (&["run", "--profile", "../tool", "--", "true"], "there is no profile"),
    ] {
        let ran = instance.run(arguments);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
    // One of the operator's own hides the one that is built in.
    write("claude.toml", "description = 'mine'");
    assert!(instance.run(&["profile", "list"]).stdout.contains("claude  mine"));
}
