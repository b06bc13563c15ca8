//! A connection that is asked for, as facts.
//!
//! Invariant: it names every address that would be tried, or nobody looked.

use super::ports;
use super::web_address::{UrlFault, WebAddress, without_password};
use std::fmt;
use std::net::IpAddr;

/// A connection to a host on the web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectIntent {
    /// What was asked for: the address, or why the text is none and the text without passwords.
    pub asked: Result<WebAddress, (UrlFault, String)>,
    /// The numbers that its host stands for.
    pub resolution: Resolution,
}

/// What looking for a host came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// Nobody looked: the text alone is refused, or the tool is.
    Unseen,
    /// It has no address, and why.
    Nothing(String),
    /// All of its addresses, as they were found once.
    Addresses(Vec<IpAddr>),
}

impl ConnectIntent {
    /// A text, before anybody looked.
    pub fn unseen(text: &str) -> Self {
        let asked = WebAddress::parse(text).map_err(|fault| (fault, without_password(text)));
        Self { asked, resolution: Resolution::Unseen }
    }

    /// Where an answer from `here` sends us, before anybody looked.
    pub fn following(here: &WebAddress, location: &str) -> Self {
        let asked = here.follow(location).map_err(|fault| (fault, without_password(location)));
        Self { asked, resolution: Resolution::Unseen }
    }

    /// The address to look for, unless the text alone is refused.
    pub fn worth_a_look(&self) -> Option<&WebAddress> {
        self.asked.as_ref().ok().filter(|address| !ports::is_refused(address.port()))
    }
}

/// `connect http://example.com/ [93.184.216.34]`.
impl fmt::Display for ConnectIntent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.asked {
            Ok(address) => write!(f, "connect {address}")?,
            Err((_, text)) => write!(f, "connect {text}")?,
        }
        if let Resolution::Addresses(addresses) = &self.resolution {
            let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
            write!(f, " [{}]", addresses.join(", "))?;
        }
        Ok(())
    }
}
