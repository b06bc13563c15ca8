//! The room: looking for a host, and opening a line to it.
//!
//! Invariant: looking is free of effects on the host; a line is opened for a permit alone.

use super::bound::{Bound, Stopped};
use super::dial::dial;
use super::error::OutboundError;
use super::kind::Connect;
use super::line::Line;
use super::lookup::{HostResolver, Lookup, Resolver};
use super::tunnel::tunnel;
use crate::permit::Permit;
use crate::warden::Warden;
use picoclaw_policy::Subject;
use picoclaw_policy::config::WebConfig;
use picoclaw_policy::network::{ConnectIntent, ProxyAddress, Resolution};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// Addresses of one host that are tried.
const TRIES: usize = 4;

/// The longest that one address is tried.
const PATIENCE: Duration = Duration::from_secs(10);

/// The way out: a resolver, and the operator's proxy if there is one.
#[derive(Clone)]
pub struct Outbound {
    lookup: Lookup,
    /// A proxy that cannot be read is kept as what is wrong with it: nothing goes around it.
    proxy: Result<Option<ProxyAddress>, String>,
}

impl Outbound {
    /// As the configuration says. The environment's proxies are not looked at.
    pub fn new(web: &WebConfig) -> Self {
        Self::resolving(web, Arc::new(HostResolver))
    }

    /// The same with another resolver.
    pub fn resolving(web: &WebConfig, resolver: Arc<dyn Resolver>) -> Self {
        let text = web.proxy.as_ref().map(|proxy| proxy.reveal().trim()).filter(|text| !text.is_empty());
        Self { lookup: Lookup::new(resolver), proxy: text.map(ProxyAddress::parse).transpose() }
    }

    /// Looks for a host, once. A text that is refused as it stands, or a tool that is not offered, looks for nothing.
    /// A look-up that took too long found nothing: that is judged, and recorded, like everything else.
    pub fn seek(
        &self,
        warden: &Warden,
        tool: &str,
        subject: &Subject,
        mut intent: ConnectIntent,
        bound: &Bound,
    ) -> Connect {
        if warden.policy().check_tool(tool, subject).is_ok()
            && let Some(address) = intent.address_to_resolve()
        {
            intent.resolution = match address.literal() {
                Some(ip) => Resolution::Addresses(vec![ip]),
                None => self
                    .lookup
                    .resolve(address.host(), bound)
                    .unwrap_or_else(|why| Resolution::Failed(why.to_string())),
            };
        }
        Connect(intent)
    }

    /// Opens a line to one of the addresses that were judged.
    pub fn open(&self, permit: Permit<Connect>, bound: &Bound) -> Result<Line, OutboundError> {
        let (connect, settling) = permit.spend();
        match self.reach(&connect.addresses(), bound) {
            Ok(stream) => Ok(Line::new(stream, settling)),
            Err(why) => {
                settling.settle_as(&why.to_string());
                Err(why)
            }
        }
    }

    fn reach(&self, addresses: &[SocketAddr], bound: &Bound) -> Result<TcpStream, OutboundError> {
        let proxy = self.proxy.as_ref().map_err(|why| OutboundError::Proxy(why.clone()))?;
        let mut last = OutboundError::Nowhere;
        let tries = addresses.len().min(TRIES) as u32;
        for (nth, address) in addresses.iter().take(TRIES).enumerate() {
            // What is left is shared: an address that swallows packets leaves time for the next.
            let share = bound.left()? / (tries - nth as u32).max(1);
            let share = bound.at_most(share.min(PATIENCE));
            let tried = match proxy {
                Some(proxy) => tunnel(proxy, &self.lookup, *address, &share),
                None => dial(*address, &share).map_err(|why| OutboundError::dial(*address, why)),
            };
            match tried {
                Ok(stream) => return Ok(stream),
                Err(OutboundError::Stopped(Stopped::Halted)) => return Err(Stopped::Halted.into()),
                Err(why) => last = why,
            }
        }
        Err(last)
    }
}
