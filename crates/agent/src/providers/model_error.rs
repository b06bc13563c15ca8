//! Why a model cannot be asked.
//!
//! Invariant: each is a fault of the configuration or of a name, found before anything is connected to, with its remedy.

/// Why a model cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No entry has that name.
    #[error("there is no model `{name}`")]
    Unknown {
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The entry's protocol is not spoken here.
    #[error("model `{name}`: nobody here speaks the protocol `{protocol}`")]
    Protocol {
        /// The entry.
        name: String,
        /// The protocol.
        protocol: String,
    },
    /// A hosted model without a key.
    #[error("model `{name}` has no key")]
    NoKey {
        /// The entry.
        name: String,
    },
    /// A value of the entry cannot be used.
    #[error("model `{name}`: {why}")]
    Unusable {
        /// The entry.
        name: String,
        /// What is wrong.
        why: String,
    },
}

impl ModelError {
    /// The remedy.
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { known, .. } if known.is_empty() => {
                "`model_list` is empty; without a model, `direct` is there".to_owned()
            }
            Self::Unknown { known, .. } => format!("`model_list` names {}", known.join(", ")),
            Self::Protocol { .. } => "set `provider`, or `api_base` for an OpenAI-compatible one".to_owned(),
            Self::NoKey { name } => format!("give `{name}` an `api_keys` list, best in `.security.yml`"),
            Self::Unusable { .. } => "see its entry in `model_list`".to_owned(),
        }
    }
}
