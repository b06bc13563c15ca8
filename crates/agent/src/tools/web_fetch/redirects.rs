//! Where an answer may send us.
//!
//! Invariant: so many hops and no more; what began encrypted stays so.

use picoclaw_policy::network::{Scheme, UrlFault, WebAddress};
use picoclaw_sandbox::printable;

/// Most redirects that are followed.
const MOST: usize = 5;

/// The hops so far.
#[derive(Debug, Default)]
pub(super) struct Redirects(usize);

/// Why a redirect is not followed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stray {
    #[error("stopped after {MOST} redirects")]
    TooMany,
    #[error("redirected from https to `{0}`, which is not followed")]
    Downgrade(String),
    #[error("redirected to `{0}`: {1}")]
    Nowhere(String, UrlFault),
}

impl Stray {
    pub(super) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Downgrade(_) => Some("fetch that address by itself if an unencrypted page is meant"),
            Self::TooMany | Self::Nowhere(..) => None,
        }
    }
}

impl Redirects {
    /// The next address.
    pub(super) fn follow(&mut self, from: &WebAddress, location: &str) -> Result<WebAddress, Stray> {
        self.0 += 1;
        if self.0 > MOST {
            return Err(Stray::TooMany);
        }
        let to = from.follow(location).map_err(|fault| Stray::Nowhere(told(location), fault))?;
        if from.scheme() == Scheme::Https && to.scheme() == Scheme::Http {
            return Err(Stray::Downgrade(to.to_string()));
        }
        Ok(to)
    }
}

/// A location that is no address: short, printable, and without what could be a password.
fn told(location: &str) -> String {
    let start: String = location.chars().take(200).collect();
    let shown = start.rsplit_once('@').map_or(start.clone(), |(_, host)| format!("***@{host}"));
    printable(&shown).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_is_followed_within_bounds() {
        let https = WebAddress::parse("https://a.example/b").unwrap();
        let mut redirects = Redirects::default();
        assert_eq!(redirects.follow(&https, "/c").unwrap().to_string(), "https://a.example/c");
        assert_eq!(
            redirects.follow(&https, "http://a.example/c"),
            Err(Stray::Downgrade("http://a.example/c".to_owned()))
        );
        let stray = redirects.follow(&https, "ftp://me:pw@a.example/").unwrap_err().to_string();
        assert!(stray.contains("***@a.example") && !stray.contains("pw"), "{stray}");
        let http = WebAddress::parse("http://a.example/b").unwrap();
        assert_eq!(redirects.follow(&http, "https://a.example/").unwrap().scheme(), Scheme::Https);
        assert!(redirects.follow(&http, "/d").is_ok());
        assert_eq!(redirects.follow(&http, "/e"), Err(Stray::TooMany));
    }
}
