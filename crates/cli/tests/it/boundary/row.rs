//! One line of the table: what was seen of each layer on one path.

use std::collections::BTreeMap;

/// The layers, by the names that probes give them and those that people read.
pub(super) const LAYERS: [(&str, &str); 19] = [
    ("files", "file tools"),
    ("guard", "guard"),
    ("hooks", "hooks"),
    ("ledger", "ledger"),
    ("home", "home"),
    ("instance", "instance"),
    ("agents", "other agents"),
    ("principals", "other principals"),
    ("writes", "writes"),
    ("set_user_id", "set-user-ID"),
    ("protected", "protected files"),
    ("environment", "environment"),
    ("processes", "processes"),
    ("signals", "signals"),
    ("network", "network"),
    ("sockets", "sockets"),
    ("ipc", "IPC"),
    ("limits", "limits"),
    ("end", "end"),
];

/// What was seen on one path.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// Whether a caller got past a layer; nothing where there is nothing to get past.
    passed: BTreeMap<String, bool>,
}

impl Row {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, passed: BTreeMap::new() }
    }

    /// One more look at a layer: who got past it once got past it.
    pub(super) fn see(&mut self, layer: &str, is_passed: bool) {
        assert!(LAYERS.iter().any(|(known, _)| *known == layer), "`{layer}` is no layer");
        *self.passed.entry(layer.to_owned()).or_default() |= is_passed;
    }

    pub(super) fn see_all(&mut self, reached: BTreeMap<String, bool>) {
        reached.into_iter().for_each(|(layer, is_passed)| self.see(&layer, is_passed));
    }

    /// The layers that were got past.
    pub(super) fn open(&self) -> Vec<&str> {
        self.passed.iter().filter(|(_, is_passed)| **is_passed).map(|(layer, _)| layer.as_str()).collect()
    }

    /// The layers that were looked at.
    pub(super) fn seen(&self) -> usize {
        self.passed.len()
    }

    pub(super) fn line(&self) -> String {
        let cell = |(layer, _): &(&str, &str)| match self.passed.get(*layer) {
            None => "–",
            Some(false) => "held",
            Some(true) => "**open**",
        };
        format!("| {} | {} |", self.name, LAYERS.iter().map(cell).collect::<Vec<_>>().join(" | "))
    }
}
