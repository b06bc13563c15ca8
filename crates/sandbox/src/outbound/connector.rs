//! Resolves hosts and connects to them: resolving needs no permit, connecting does.

use super::connection::Connection;
use super::error::OutboundError;
use super::proxy_tunnel::open_tunnel;
use crate::dial::{DnsLookup, HostResolver, Resolver, WaitLimit, dial, try_each};
use crate::permit::{Effect, Permit, Sealed};
use crate::warden::Warden;
use picoclaw_policy::config::WebConfig;
use picoclaw_policy::network::{ConnectIntent, ProxyAddress, Resolution};
use picoclaw_policy::{Intent, Subject};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

/// Connecting to a host, with the addresses that are judged.
#[derive(Debug)]
pub struct Connect(ConnectIntent);

impl Sealed for Connect {}

impl Effect for Connect {
    fn intent(&self) -> Intent {
        Intent::Connect(self.0.clone())
    }
}

impl Connect {
    fn addresses(&self) -> Vec<SocketAddr> {
        match (&self.0.asked, &self.0.resolution) {
            (Ok(address), Resolution::Addresses(found)) => {
                found.iter().map(|ip| SocketAddr::new(*ip, address.port())).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Makes connections: directly, or through the operator's proxy.
#[derive(Clone)]
pub struct Outbound {
    dns: DnsLookup,
    /// An invalid proxy is an error for every connection: none is made around it.
    proxy: Result<Option<ProxyAddress>, String>,
}

impl Outbound {
    /// As configured. The proxy variables of the environment are not used.
    pub fn new(web: &WebConfig) -> Self {
        Self::resolving(web, Arc::new(HostResolver))
    }

    /// The same with another resolver.
    pub fn resolving(web: &WebConfig, resolver: Arc<dyn Resolver>) -> Self {
        let text = web.proxy.as_ref().map(|proxy| proxy.reveal().trim()).filter(|text| !text.is_empty());
        Self { dns: DnsLookup::new(resolver), proxy: text.map(ProxyAddress::parse).transpose() }
    }

    /// Resolves the host of an intent, once. Nothing is resolved for an address that the policy
    /// refuses as text, or for a tool that is not offered. A lookup that failed or took too long is
    /// judged and recorded like any other.
    pub fn resolve(
        &self,
        warden: &Warden,
        tool: &str,
        subject: &Subject,
        mut intent: ConnectIntent,
        limit: &WaitLimit,
    ) -> Connect {
        if warden.policy().check_tool(tool, subject).is_ok()
            && let Some(address) = intent.address_to_resolve()
        {
            intent.resolution = match address.literal() {
                Some(ip) => Resolution::Addresses(vec![ip]),
                None => self
                    .dns
                    .resolve(address.host(), limit)
                    .unwrap_or_else(|why| Resolution::Failed(why.to_string())),
            };
        }
        Connect(intent)
    }

    /// Connects to one of the addresses that were judged.
    pub fn connect(&self, permit: Permit<Connect>, limit: &WaitLimit) -> Result<Connection, OutboundError> {
        let (connect, outcome) = permit.spend();
        match self.try_addresses(&connect.addresses(), limit) {
            Ok(stream) => Ok(Connection::new(stream, outcome)),
            Err(why) => {
                outcome.settle_as(&why.to_string());
                Err(why)
            }
        }
    }

    fn try_addresses(&self, addresses: &[SocketAddr], limit: &WaitLimit) -> Result<TcpStream, OutboundError> {
        let proxy = self.proxy.as_ref().map_err(|why| OutboundError::Proxy(why.clone()))?;
        let connect = |address, share: &WaitLimit| match proxy {
            Some(proxy) => open_tunnel(proxy, &self.dns, address, share),
            None => dial(address, share).map_err(|why| OutboundError::dial(address, why)),
        };
        try_each(addresses, limit, connect).unwrap_or(Err(OutboundError::Nowhere))
    }
}
