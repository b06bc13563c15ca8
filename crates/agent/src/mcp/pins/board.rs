//! Where pins are kept, and what a list is worth by them.
//!
//! Invariant: a pin is made at first use and changed by a person's consent, by nothing else; what cannot be read counts as
//! changed.

use super::list::{MOST_BYTES, ToolList};
use super::pin::{Pin, PinKey};
use picoclaw_sandbox::state_dir::{LineFile, StateDir, StateError};
use std::path::Path;
use std::time::Duration;

/// How large the file of a pin may be: what a list may take, spelled with escapes.
const MOST_FILE: u64 = 8 * MOST_BYTES as u64;

/// How long another process is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a pin cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// The file cannot be read or written.
    #[error(transparent)]
    State(#[from] StateError),
    /// It is there and is no pin.
    #[error("the pin `{id}` is damaged")]
    Damaged {
        /// Which.
        id: String,
    },
}

impl PinError {
    /// What would help.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::State(why) => why.hint(),
            Self::Damaged { .. } => Some(
                "look at it in `state/pins` of the instance; without it the next list that is seen is pinned",
            ),
        }
    }
}

/// What a list is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a list that nobody judged is not pinned"]
pub enum Standing {
    /// Nobody has seen this server before: it is pinned now.
    First,
    /// The pinned one.
    Same,
    /// Another one: kept beside the pin, for a person to look at.
    Changed,
}

/// All pins of an instance.
#[derive(Debug)]
pub struct Pins(StateDir);

impl Pins {
    /// The pins of the instance at `home`.
    pub fn open(home: &Path) -> Result<Self, PinError> {
        Ok(Self(StateDir::open(home, "pins")?))
    }

    /// Judges a list. The first of a server is pinned; one that differs from the pin is kept for a person to look at.
    pub fn judge(&self, key: &PinKey, list: &ToolList) -> Result<Standing, PinError> {
        let _held = self.hold()?;
        match self.load(key.id())? {
            // Nothing is nothing to hold a server to, and shows a model nothing: many fill their list a little later.
            _ if list.tools().is_empty() => Ok(Standing::Same),
            None => {
                self.store(key.id(), &key.pin(list))?;
                Ok(Standing::First)
            }
            Some(pin) if pin.hash == list.hash() => {
                // Whatever was waiting for consent is not what the server shows any more.
                self.0.remove(&file(&waiting(key.id())))?;
                Ok(Standing::Same)
            }
            Some(_) => {
                self.store(&waiting(key.id()), &key.pin(list))?;
                Ok(Standing::Changed)
            }
        }
    }

    /// Forgets a server that a person took out: whoever comes under its name is a new one.
    pub fn forget(&self, key: &PinKey) -> Result<(), PinError> {
        let _held = self.hold()?;
        self.0.remove(&file(&waiting(key.id())))?;
        Ok(self.0.remove(&file(key.id()))?)
    }

    /// Whether `list` is the pinned one by now.
    pub fn holds(&self, key: &PinKey, list: &ToolList) -> Result<bool, PinError> {
        Ok(self.load(key.id())?.is_some_and(|pin| pin.hash == list.hash()))
    }

    /// The pin of this name of a file, if there is one.
    pub fn load(&self, id: &str) -> Result<Option<Pin>, PinError> {
        let Some(text) = self.0.read(&file(id), MOST_FILE)? else { return Ok(None) };
        let damaged = || PinError::Damaged { id: id.to_owned() };
        let pin: Pin = serde_json::from_slice(&text).map_err(|_| damaged())?;
        // A pin whose hash is not that of its tools was written by somebody else.
        let list = pin.list().map_err(|_| damaged())?;
        if list.hash() == pin.hash { Ok(Some(pin)) } else { Err(damaged()) }
    }

    /// What a server shows that is not its pin, waiting for consent.
    pub fn load_waiting(&self, id: &str) -> Result<Option<Pin>, PinError> {
        self.load(&waiting(id))
    }

    /// The pins of servers that a person calls `name`, or that are kept under that very id.
    pub fn find(&self, name: &str) -> Result<Vec<(String, Pin)>, PinError> {
        let (mut found, mut damaged) = (Vec::new(), None);
        for id in self.ids()? {
            match self.load(&id) {
                Ok(pin) => {
                    found.extend(pin.filter(|pin| pin.name == name || id == name).map(|pin| (id, pin)))
                }
                Err(why @ PinError::Damaged { .. }) => damaged = Some(why),
                Err(why) => return Err(why),
            }
        }
        // One that cannot be read is in nobody's way, unless it may be the one that is looked for.
        match damaged {
            Some(why) if found.is_empty() => Err(why),
            _ => Ok(found),
        }
    }

    /// The names of all servers that are pinned.
    pub fn known(&self) -> Result<Vec<String>, PinError> {
        let mut names = Vec::new();
        for id in self.ids()? {
            names.extend(self.load(&id).ok().flatten().map(|pin| pin.name));
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// A person consents to exactly this list.
    pub fn consent(&self, id: &str, shown: &Pin) -> Result<(), PinError> {
        let _held = self.hold()?;
        self.store(id, shown)?;
        Ok(self.0.remove(&file(&waiting(id)))?)
    }

    /// Two processes that see a server for the first time do not both pin it.
    fn hold(&self) -> Result<LineFile, PinError> {
        Ok(self.0.lock("lock", PATIENCE)?)
    }

    fn ids(&self) -> Result<Vec<String>, PinError> {
        let names = self.0.list()?;
        let ids = names.iter().filter_map(|item| item.name.strip_suffix(".json"));
        Ok(ids.filter(|id| !id.ends_with(WAITING)).map(str::to_owned).collect())
    }

    fn store(&self, id: &str, pin: &Pin) -> Result<(), PinError> {
        let text = serde_json::to_vec(pin).map_err(|_| PinError::Damaged { id: id.to_owned() })?;
        Ok(self.0.replace(&file(id), &text)?)
    }
}

const WAITING: &str = ".waiting";

fn waiting(id: &str) -> String {
    format!("{id}{WAITING}")
}

fn file(id: &str) -> String {
    format!("{id}.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn list(description: &str) -> ToolList {
        ToolList::new(vec![json!({"name": "a", "description": description})]).unwrap()
    }

    #[test]
    fn the_first_list_is_pinned_and_only_consent_changes_it() {
        let home = tempfile::tempdir().unwrap();
        let pins = Pins::open(home.path()).unwrap();
        let key = PinKey::wrapped(Some("files"), &["srv".to_owned()]);
        assert_eq!(pins.judge(&key, &list("one")).unwrap(), Standing::First);
        assert_eq!(pins.judge(&key, &list("one")).unwrap(), Standing::Same);
        assert_eq!(pins.judge(&key, &list("two")).unwrap(), Standing::Changed);
        assert_eq!(pins.judge(&key, &list("two")).unwrap(), Standing::Changed, "asking twice is no consent");
        let [(id, pinned)] = &pins.find("files").unwrap()[..] else { panic!("one pin") };
        assert_eq!(*pinned, key.pin(&list("one")));
        let shown = pins.load_waiting(id).unwrap().unwrap();
        assert_eq!(
            pins.judge(&key, &list("three")).unwrap(),
            Standing::Changed,
            "it changes again meanwhile"
        );
        pins.consent(id, &shown).unwrap();
        assert!(pins.holds(&key, &list("two")).unwrap(), "what was shown is what is pinned");
        assert_eq!(pins.judge(&key, &list("three")).unwrap(), Standing::Changed, "and nothing else");
        assert_eq!(pins.judge(&key, &list("two")).unwrap(), Standing::Same);
        assert_eq!(pins.load_waiting(id).unwrap(), None, "nothing is left to consent to");
        let other = PinKey::wrapped(Some("files"), &["other".to_owned()]);
        assert_eq!(pins.judge(&other, &list("x")).unwrap(), Standing::First, "another command line");
        assert_eq!(pins.find("files").unwrap().len(), 2);
        assert_eq!(pins.find(other.id()).unwrap().len(), 1);
        assert_eq!(pins.known().unwrap(), ["files"]);
    }

    #[test]
    fn an_empty_list_pins_nothing_and_changes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let pins = Pins::open(home.path()).unwrap();
        let (key, empty) = (PinKey::configured("x"), ToolList::new(Vec::new()).unwrap());
        assert_eq!(pins.judge(&key, &empty).unwrap(), Standing::Same);
        assert_eq!(pins.judge(&key, &list("one")).unwrap(), Standing::First, "the first that says something");
        assert_eq!(pins.judge(&key, &empty).unwrap(), Standing::Same);
        assert_eq!(pins.load_waiting(key.id()).unwrap(), None, "nobody is asked to consent to nothing");
        assert_eq!(pins.judge(&key, &list("two")).unwrap(), Standing::Changed, "the pin still holds");
    }

    #[test]
    fn a_damaged_pin_hides_no_other() {
        let home = tempfile::tempdir().unwrap();
        let pins = Pins::open(home.path()).unwrap();
        assert_eq!(pins.judge(&PinKey::configured("good"), &list("one")).unwrap(), Standing::First);
        pins.0.replace("server-broken.json", b"{").unwrap();
        assert_eq!(pins.find("good").unwrap().len(), 1);
        assert!(matches!(pins.find("broken"), Err(PinError::Damaged { .. })), "it may be this one");
        assert_eq!(pins.known().unwrap(), ["good"]);
    }

    #[test]
    fn a_damaged_pin_is_never_a_first_use() {
        let key = PinKey::configured("x");
        let good = serde_json::to_string(&key.pin(&list("one"))).unwrap();
        for (why, text) in [
            ("cut short", good[..good.len() / 2].to_owned()),
            ("empty", String::new()),
            ("tools that are not what the hash says", good.replace("one", "two")),
            ("no pin at all", "{}".to_owned()),
        ] {
            let home = tempfile::tempdir().unwrap();
            let pins = Pins::open(home.path()).unwrap();
            pins.0.replace(&file(key.id()), text.as_bytes()).unwrap();
            let judged = pins.judge(&key, &list("one"));
            assert!(matches!(judged, Err(PinError::Damaged { .. })), "{why}: {judged:?}");
        }
    }
}
