//! What the model is told before anything is said.

use crate::fixture::{Fixture, say};
use std::os::unix::fs::symlink;
use std::path::Path;

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn instructions(arrange: impl FnOnce(&Fixture)) -> String {
    let fixture = Fixture::new(vec![say("ok")]);
    arrange(&fixture);
    fixture.turn("go").unwrap();
    fixture.asked()[0].messages[0].content.clone()
}

#[test]
fn workspace_files_are_read_as_plain_text_in_their_order() {
    let text = instructions(|fixture| {
        write(&fixture.workspace().join("AGENT.md"), "---\ntools: [exec]\nmodel: x\n---\n\nBe brief.\n");
        write(&fixture.workspace().join("SOUL.md"), "You like tea.");
        write(&fixture.workspace().join("USER.md"), "The user is tall.");
        write(&fixture.workspace().join("AGENTS.md"), "an older file");
    });
    let parts = ["# picoclaw", "## AGENT.md\n\nBe brief.", "You like tea.", "The user is tall.", "# Now"];
    let mut at = 0;
    for part in parts {
        at += text[at..].find(part).unwrap_or_else(|| panic!("no `{part}` after {at} in {text}"));
    }
    for absent in ["tools: [exec]", "an older file"] {
        assert!(!text.contains(absent), "`{absent}` in {text}");
    }
}

#[test]
fn front_matter_gives_an_agent_nothing() {
    let fixture =
        Fixture::with(vec![say("ok")], |config| config.agents[0].disabled_tools = vec!["exec".to_owned()]);
    write(&fixture.workspace().join("AGENT.md"), "---\ntools: [exec]\n---\nhello");
    fixture.turn("go").unwrap();
    let tools: Vec<_> = fixture.asked()[0].tools.iter().map(|tool| tool.name.clone()).collect();
    assert!(tools.contains(&"read_file".to_owned()) && !tools.contains(&"exec".to_owned()), "{tools:?}");
}

#[test]
fn older_files_stand_in() {
    let text = instructions(|fixture| {
        write(&fixture.workspace().join("AGENTS.md"), "older agent");
        write(&fixture.workspace().join("IDENTITY.md"), "older identity");
    });
    assert!(text.contains("older agent") && text.contains("older identity"), "{text}");
}

#[test]
fn nothing_outside_the_workspace_is_read_through_it() {
    let text = instructions(|fixture| {
        write(&fixture.home().join("config.json"), "{\"marker\": \"from-the-configuration\"}");
        symlink("/etc/passwd", fixture.workspace().join("AGENT.md")).unwrap();
        symlink("../config.json", fixture.workspace().join("SOUL.md")).unwrap();
        std::fs::hard_link(fixture.home().join("config.json"), fixture.workspace().join("USER.md")).unwrap();
        std::fs::create_dir_all(fixture.workspace().join("memory")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            fixture.workspace().join("memory/MEMORY.md"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
    });
    for outside in ["root:", "from-the-configuration"] {
        assert!(!text.contains(outside), "`{outside}` in {text}");
    }
    assert!(text.contains("# picoclaw"), "the rest is there");
}

#[test]
fn large_files_are_cut_and_say_so() {
    let text = instructions(|fixture| write(&fixture.workspace().join("AGENT.md"), &"é".repeat(1 << 20)));
    assert!(text.contains("[cut here: longer than 32768 bytes]"));
    assert!(text.len() < 64 << 10, "{}", text.len());
}

#[test]
fn memory_and_the_notes_of_the_last_days_are_told() {
    use picoclaw_sandbox::ledger::Timestamp;
    let day = |ago: u64| {
        let at = Timestamp::now().before(std::time::Duration::from_secs(86_400 * ago)).to_string();
        let digits: String = at.chars().take(10).filter(char::is_ascii_digit).collect();
        format!("memory/{}/{digits}.md", &digits[..6])
    };
    let text = instructions(|fixture| {
        write(&fixture.workspace().join("memory/MEMORY.md"), "remember the milk");
        for (ago, note) in [(0, "note of today"), (2, "note of two days ago"), (4, "note of long ago")] {
            write(&fixture.workspace().join(day(ago)), note);
        }
    });
    for told in ["# Memory\n\nremember the milk", "note of today", "note of two days ago"] {
        assert!(text.contains(told), "no `{told}` in {text}");
    }
    assert!(!text.contains("note of long ago"), "{text}");
}

#[test]
fn skills_are_named_the_workspaces_own_first() {
    let text = instructions(|fixture| {
        let skill = |name: &str, about: &str| format!("---\nname: {name}\ndescription: {about}\n---\nsteps");
        write(&fixture.workspace().join("skills/weather/SKILL.md"), &skill("weather", "tells <the> weather"));
        write(&fixture.home().join("skills/weather/SKILL.md"), &skill("weather", "another one"));
        write(&fixture.home().join("skills/git/SKILL.md"), &skill("git", "knows git"));
        write(&fixture.home().join("skills/bad/SKILL.md"), &skill("../../x", "a path for a name"));
        write(&fixture.home().join("skills/none/SKILL.md"), "no head");
    });
    assert!(
        text.contains("<name>weather</name><description>tells &lt;the&gt; weather</description>"),
        "{text}"
    );
    assert!(text.contains("<name>git</name><description>knows git</description>"), "{text}");
    for absent in ["another one", "a path for a name", "steps", "no head"] {
        assert!(!text.contains(absent), "`{absent}` in {text}");
    }
}
