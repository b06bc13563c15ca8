//! A requested connection, with every address that would be tried.

use super::ports;
use super::web_address::{UrlFault, WebAddress, redact_password};
use std::fmt;
use std::net::IpAddr;

/// A connection to a web host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectIntent {
    /// The requested address, or the fault and the text without credentials.
    pub asked: Result<WebAddress, (UrlFault, String)>,
    /// The addresses of the host.
    pub resolution: Resolution,
}

/// The result of resolving the host name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// No lookup took place: the text alone, or the tool, is refused.
    NotLookedUp,
    /// The lookup failed, with this reason.
    Failed(String),
    /// All addresses, from one lookup.
    Addresses(Vec<IpAddr>),
}

impl ConnectIntent {
    /// A connection whose host has not been resolved yet.
    pub fn unresolved(text: &str) -> Self {
        let asked = WebAddress::parse(text).map_err(|fault| (fault, redact_password(text)));
        Self { asked, resolution: Resolution::NotLookedUp }
    }

    /// The target of a redirect from `here`, not resolved yet.
    pub fn redirect(here: &WebAddress, location: &str) -> Self {
        let asked = here.follow(location).map_err(|fault| (fault, redact_password(location)));
        Self { asked, resolution: Resolution::NotLookedUp }
    }

    /// The address to resolve, unless the text alone is refused.
    pub fn address_to_resolve(&self) -> Option<&WebAddress> {
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
