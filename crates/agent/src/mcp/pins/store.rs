//! The pins of an instance. A pin is created at first use and changed by the operator's consent
//! only; a pin that cannot be read is an error, never a first use.

use super::pin::{Pin, PinKey, server_id};
use super::tool_list::{MAX_TOOL_BYTES, ToolList};
use picoclaw_sandbox::state_dir::{LineFile, StateDir, StateError};
use std::path::Path;
use std::time::Duration;

/// The largest pin file: a list of the maximum size, with escapes.
const MAX_FILE_BYTES: u64 = 8 * MAX_TOOL_BYTES as u64;

/// How long to wait for the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a pin cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// The file cannot be read or written.
    #[error(transparent)]
    State(#[from] StateError),
    /// The file is not a valid pin.
    #[error("the pin `{id}` is damaged")]
    Damaged {
        /// The id of the pin.
        id: String,
    },
}

impl PinError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::State(why) => why.hint(),
            Self::Damaged { .. } => Some(
                "look at it in `state/pins` of the instance; without it the next list that is seen is pinned",
            ),
        }
    }
}

/// How a list compares with its pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a changed list must not be used"]
pub enum PinStatus {
    /// The first list of this server; it is pinned now.
    First,
    /// The pinned list.
    Same,
    /// Another list; stored beside the pin until the operator consents.
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

    /// Compares a list with its pin. A first list is pinned; a changed one is stored for review.
    pub fn judge(&self, key: &PinKey, list: &ToolList) -> Result<PinStatus, PinError> {
        let _lock = self.lock()?;
        match self.load(key.id())? {
            // An empty list shows a model nothing, and many servers fill theirs a little later.
            _ if list.tools().is_empty() => Ok(PinStatus::Same),
            None => {
                self.store(key.id(), &key.pin(list))?;
                Ok(PinStatus::First)
            }
            Some(pin) if pin.hash == list.hash() => {
                // The list that waited for consent is outdated.
                self.0.remove(&file_name(&pending_id(key.id())))?;
                Ok(PinStatus::Same)
            }
            Some(_) => {
                self.store(&pending_id(key.id()), &key.pin(list))?;
                Ok(PinStatus::Changed)
            }
        }
    }

    /// Removes the pin of a server that the operator has removed.
    pub fn forget(&self, key: &PinKey) -> Result<(), PinError> {
        let _lock = self.lock()?;
        self.0.remove(&file_name(&pending_id(key.id())))?;
        Ok(self.0.remove(&file_name(key.id()))?)
    }

    /// Whether `list` is the pinned one.
    pub fn holds(&self, key: &PinKey, list: &ToolList) -> Result<bool, PinError> {
        Ok(self.load(key.id())?.is_some_and(|pin| pin.hash == list.hash()))
    }

    /// The pin with this id.
    pub fn load(&self, id: &str) -> Result<Option<Pin>, PinError> {
        let Some(text) = self.0.read(&file_name(id), MAX_FILE_BYTES)? else { return Ok(None) };
        let damaged = || PinError::Damaged { id: id.to_owned() };
        let pin: Pin = serde_json::from_slice(&text).map_err(|_| damaged())?;
        // The hash must be that of the tools.
        let list = pin.list().map_err(|_| damaged())?;
        if list.hash() == pin.hash { Ok(Some(pin)) } else { Err(damaged()) }
    }

    /// The changed list that waits for consent.
    pub fn load_pending(&self, id: &str) -> Result<Option<Pin>, PinError> {
        self.load(&pending_id(id))
    }

    /// The pins with this name or id, those of other parts of a server included.
    pub fn find(&self, name: &str) -> Result<Vec<(String, Pin)>, PinError> {
        let (mut found, mut damaged) = (Vec::new(), None);
        for id in self.ids()? {
            match self.load(&id) {
                Ok(pin) => found.extend(
                    pin.filter(|pin| pin.name == name || server_id(&id) == name || id == name)
                        .map(|pin| (id, pin)),
                ),
                Err(why @ PinError::Damaged { .. }) => damaged = Some(why),
                Err(why) => return Err(why),
            }
        }
        // A damaged pin matters only if it may be the one that is looked for.
        match damaged {
            Some(why) if found.is_empty() => Err(why),
            _ => Ok(found),
        }
    }

    /// The names of all pinned servers.
    pub fn names(&self) -> Result<Vec<String>, PinError> {
        let mut names = Vec::new();
        for id in self.ids()? {
            names.extend(self.load(&id).ok().flatten().map(|pin| pin.name));
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Replaces a pin by exactly the list that the operator was shown.
    pub fn consent(&self, id: &str, shown: &Pin) -> Result<(), PinError> {
        let _lock = self.lock()?;
        self.store(id, shown)?;
        Ok(self.0.remove(&file_name(&pending_id(id)))?)
    }

    /// Keeps two processes from pinning the same server at once.
    fn lock(&self) -> Result<LineFile, PinError> {
        Ok(self.0.lock("lock", LOCK_TIMEOUT)?)
    }

    fn ids(&self) -> Result<Vec<String>, PinError> {
        let names = self.0.list()?;
        let ids = names.iter().filter_map(|item| item.name.strip_suffix(".json"));
        Ok(ids.filter(|id| !id.ends_with(PENDING)).map(str::to_owned).collect())
    }

    fn store(&self, id: &str, pin: &Pin) -> Result<(), PinError> {
        let text = serde_json::to_vec(pin).map_err(|_| PinError::Damaged { id: id.to_owned() })?;
        Ok(self.0.replace(&file_name(id), &text)?)
    }
}

const PENDING: &str = ".waiting";

fn pending_id(id: &str) -> String {
    format!("{id}{PENDING}")
}

fn file_name(id: &str) -> String {
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
        assert_eq!(pins.judge(&key, &list("one")).unwrap(), PinStatus::First);
        assert_eq!(pins.judge(&key, &list("one")).unwrap(), PinStatus::Same);
        assert_eq!(pins.judge(&key, &list("two")).unwrap(), PinStatus::Changed);
        assert_eq!(pins.judge(&key, &list("two")).unwrap(), PinStatus::Changed, "asking twice is no consent");
        let [(id, pinned)] = &pins.find("files").unwrap()[..] else { panic!("one pin") };
        assert_eq!(*pinned, key.pin(&list("one")));
        let shown = pins.load_pending(id).unwrap().unwrap();
        assert_eq!(
            pins.judge(&key, &list("three")).unwrap(),
            PinStatus::Changed,
            "it changes again meanwhile"
        );
        pins.consent(id, &shown).unwrap();
        assert!(pins.holds(&key, &list("two")).unwrap(), "what was shown is what is pinned");
        assert_eq!(pins.judge(&key, &list("three")).unwrap(), PinStatus::Changed, "and nothing else");
        assert_eq!(pins.judge(&key, &list("two")).unwrap(), PinStatus::Same);
        assert_eq!(pins.load_pending(id).unwrap(), None, "nothing is left to consent to");
        let other = PinKey::wrapped(Some("files"), &["other".to_owned()]);
        assert_eq!(pins.judge(&other, &list("x")).unwrap(), PinStatus::First, "another command line");
        assert_eq!(pins.find("files").unwrap().len(), 2);
        assert_eq!(pins.find(other.id()).unwrap().len(), 1);
        assert_eq!(pins.names().unwrap(), ["files"]);
    }

    #[test]
    fn an_empty_list_pins_nothing_and_changes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let pins = Pins::open(home.path()).unwrap();
        let (key, empty) = (PinKey::configured("x"), ToolList::new(Vec::new()).unwrap());
        assert_eq!(pins.judge(&key, &empty).unwrap(), PinStatus::Same);
        assert_eq!(
            pins.judge(&key, &list("one")).unwrap(),
            PinStatus::First,
            "the first that says something"
        );
        assert_eq!(pins.judge(&key, &empty).unwrap(), PinStatus::Same);
        assert_eq!(pins.load_pending(key.id()).unwrap(), None, "nobody is asked to consent to nothing");
        assert_eq!(pins.judge(&key, &list("two")).unwrap(), PinStatus::Changed, "the pin still holds");
    }

    #[test]
    fn a_damaged_pin_hides_no_other() {
        let home = tempfile::tempdir().unwrap();
        let pins = Pins::open(home.path()).unwrap();
        assert_eq!(pins.judge(&PinKey::configured("good"), &list("one")).unwrap(), PinStatus::First);
        pins.0.replace("server-broken.json", b"{").unwrap();
        assert_eq!(pins.find("good").unwrap().len(), 1);
        assert!(matches!(pins.find("broken"), Err(PinError::Damaged { .. })), "it may be this one");
        assert_eq!(pins.names().unwrap(), ["good"]);
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
            pins.0.replace(&file_name(key.id()), text.as_bytes()).unwrap();
            let judged = pins.judge(&key, &list("one"));
            assert!(matches!(judged, Err(PinError::Damaged { .. })), "{why}: {judged:?}");
        }
    }
}
