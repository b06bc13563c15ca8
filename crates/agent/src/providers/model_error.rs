//! Why a model cannot be used: a fault of its configuration or its name.

/// Why a model cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No model has that name.
    #[error("there is no model `{name}`")]
    Unknown {
        /// The name.
        name: String,
        /// The configured names.
        known: Vec<String>,
    },
    /// The protocol is not known.
    #[error("model `{name}`: the protocol `{protocol}` is not supported")]
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
