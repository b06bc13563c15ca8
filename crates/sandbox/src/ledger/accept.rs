//! Accepts a ledger that was tampered with, so that a writer continues; that is recorded.

use super::chain::ChainHead;
use super::entry::Entry;
use super::error::LedgerError;
use super::head::HeadState;
use super::outside_head::OutsideHead;
use super::time::Timestamp;
use super::verify::{Anchor, Integrity, verify, verify_with_head};
use super::writer::Writer;
use crate::os_file::{CWD, renameat};
use picoclaw_policy::{AgentId, Grant, Origin, Subject, Verdict};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What was accepted.
#[derive(Debug, PartialEq, Eq)]
pub enum Accepted {
    /// Nothing was wrong.
    Nothing,
    /// The ledger as it is goes on.
    Continued,
    /// It cannot go on. It lies here now, and a new one was begun.
    SetAside(PathBuf),
}

/// Accepts the ledger in `dir` whose head is kept in the directory `state`.
pub fn accept(dir: &Path, state: &Path) -> Result<Accepted, LedgerError> {
    let report = verify_with_head(dir, state, Anchor::Unknown)?;
    if report.integrity != Integrity::Tampered {
        return Ok(Accepted::Nothing);
    }
    let known = match OutsideHead::open(state)?.map(|outside| outside.read()).transpose()? {
        Some(HeadState::Head(kept)) => kept.last,
        _ => ChainHead::NONE,
    };
    let fault = report.fault.map_or_else(String::new, |fault| format!(": {} {}", fault.file, fault.what));
    let record = |place: &str| {
        let intent = format!(
            "accept a ledger that was tampered with{fault}; the last known head was record {} {}{place}",
            known.seq, known.hash
        );
        let subject = Subject::root(Origin::Cli, AgentId::main(), "audit");
        let grant = Grant { rule: "picoclaw audit accept".to_owned() };
        let decided = Entry::decided(&subject, "audit", &intent, &Verdict::Allow(grant));
        let finished = decided.clone().finished("ok", Duration::ZERO);
        [decided, finished]
    };
    let is_sound = verify(dir, Anchor::Unknown)?.integrity != Integrity::Tampered;
    if is_sound && Writer::accept(dir, state, &record("")).is_ok() {
        return Ok(Accepted::Continued);
    }
    let aside = set_aside(dir)?;
    Writer::accept(dir, state, &record(&format!("; it was set aside as {}", aside.display())))?;
    Ok(Accepted::SetAside(aside))
}

/// Moves the directory away as it is: it is evidence.
fn set_aside(dir: &Path) -> Result<PathBuf, LedgerError> {
    let stamp: String = Timestamp::now().to_string().chars().filter(char::is_ascii_digit).collect();
    let mut name = dir.file_name().unwrap_or_default().to_owned();
    name.push(format!("-tampered-{stamp}"));
    let aside = dir.with_file_name(name);
    renameat(CWD, dir, CWD, &aside).map_err(|errno| LedgerError::io("set aside", dir)(errno.into()))?;
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acceptance_is_recorded_before_it_takes_effect() {
        let place = tempfile::tempdir().unwrap();
        let (dir, state) = (place.path().join("ledger"), place.path().join("state"));
        std::fs::create_dir_all(state.join("ledger-head")).unwrap();
        let subject = Subject::root(Origin::Cli, AgentId::main(), "audit");
        let allowed = Verdict::Allow(Grant { rule: "test".to_owned() });
        let record = Entry::decided(&subject, "audit", "accept", &allowed);
        assert!(Writer::accept(&dir, &state, &[record]).is_err(), "no head can be written there");
        assert_eq!(verify(&dir, Anchor::Unknown).unwrap().records, 1);
    }
}
