//! A real terminal with a person at it: tmux, on a server of its own.

use crate::run::is_here;
use crate::test_instance::TestInstance;
use picoclaw_testing::PATIENCE;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub(crate) struct Tmux {
    socket: String,
}

impl Tmux {
    /// A session of the agent; `None` without tmux.
    pub(crate) fn agent(instance: &TestInstance, width: &str) -> Option<Self> {
        let binary = TestInstance::binary();
        Self::start(
            instance,
            width,
            instance.dir(),
            &format!("'{}' agent; echo left with $?; exec sleep 60", binary.display()),
        )
    }

    /// A shell whose `picoclaw` is the program, in `dir`; `None` without tmux.
    pub(crate) fn shell(instance: &TestInstance, width: &str, dir: &Path) -> Option<Self> {
        let binary = TestInstance::binary();
        let bin = instance.dir().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let link = bin.join("picoclaw");
        if !link.exists() {
            std::os::unix::fs::symlink(binary, link).unwrap();
        }
        let line =
            format!("PATH='{}':$PATH PS1='$ ' HISTFILE= exec bash --norc --noprofile -i", bin.display());
        let tmux = Self::start(instance, width, dir, &line)?;
        tmux.shows("the shell", "$");
        Some(tmux)
    }

    fn start(instance: &TestInstance, width: &str, dir: &Path, line: &str) -> Option<Self> {
        if !is_here("tmux") {
            return None;
        }
        // Each server has its own: one that is ending would take the next one's client.
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let name = format!("tmux-{}", STARTED.fetch_add(1, Ordering::Relaxed));
        let tmux = Self { socket: instance.dir().join(name).display().to_string() };
        let like = instance.command(&[]);
        let mut command = tmux.command(&["-f", "/dev/null", "new-session", "-d", "-x", width, "-y", "50"]);
        command.args(["-c", dir.to_str().unwrap()]);
        let variables = like.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?)));
        for (name, value) in variables.chain([("LANG", "C.UTF-8")]) {
            command.args(["-e", &format!("{name}={value}")]);
        }
        command.arg(line);
        assert!(command.status().unwrap().success(), "tmux does not start");
        Some(tmux)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        // What the server is started with, its terminals have; and some accounts have a shell that runs nothing.
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("SHELL", "/bin/sh");
        command.args(["-S", &self.socket]).args(arguments).env("LANG", "C.UTF-8");
        command
    }

    pub(crate) fn keys(&self, keys: &[&str]) {
        assert!(self.command(&[&["send-keys"], keys].concat()).status().unwrap().success());
    }

    /// Types a line.
    pub(crate) fn line(&self, text: &str) {
        self.keys(&["-l", text]);
        self.keys(&["Enter"]);
    }

    /// What is on the screen, without the empty lines below.
    pub(crate) fn screen(&self) -> String {
        let shown = self.command(&["capture-pane", "-p"]).output().unwrap();
        String::from_utf8(shown.stdout).unwrap().trim_end().to_owned()
    }

    /// The same with the sequences that colour it.
    pub(crate) fn colours(&self) -> String {
        String::from_utf8(self.command(&["capture-pane", "-e", "-p"]).output().unwrap().stdout).unwrap()
    }

    /// Waits until the screen ends as it should.
    pub(crate) fn shows(&self, why: &str, end: &str) {
        self.wait(why, end, |screen| screen.ends_with(end.trim_end()));
    }

    /// Waits until the screen has this text, with line breaks of the terminal ignored.
    pub(crate) fn says(&self, why: &str, text: &str) {
        let flat = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let wanted = flat(text);
        self.wait(why, text, |screen| flat(screen).contains(&wanted));
    }

    fn wait(&self, why: &str, wanted: &str, is_right: impl Fn(&str) -> bool) {
        let mut last = String::new();
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            last = self.screen();
            if is_right(&last) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{why}: not\n{wanted}\nbut\n{last}");
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _over = self.command(&["kill-server"]).status();
    }
}
