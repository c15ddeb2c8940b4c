use std::{future::Future, sync::Arc, time::Duration};

use http::request::Parts;
use mcp_listen::{
    capabilities::{Capabilities, Discovered},
    exchange::{Earlier, Service},
    filter::SubscriptionFilter,
    http::{Policy, PolicyError},
    limits::Limits,
};
use tower_layer::Layer;

use crate::{
    authorize::{Authorize, Denied, Grant},
    bus::Bus,
    service::Listen,
};

/// Puts `subscriptions/listen` in front of a service.
#[derive(Clone)]
pub struct ListenLayer {
    settings: Settings,
}

/// What all requests share.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) bus: Bus,
    pub(crate) told: Discovered,
    policy: Policy,
    limits: Limits,
    pub(crate) most_streams: usize,
    pub(crate) keep_alive: Duration,
    pub(crate) stall: Duration,
    pub(crate) body_timeout: Duration,
    pub(crate) authorize: Option<Authorize>,
}

impl ListenLayer {
    /// Streams hear what is published on `bus`, of what they ask for and `capabilities` cover: those that the server behind
    /// declares in its answer to `server/discover`.
    ///
    /// Without [`ListenLayer::authorize`], everybody who reaches the server may listen to everything that it offers.
    pub fn new(bus: Bus, capabilities: Capabilities) -> Self {
        Self {
            settings: Settings {
                bus,
                told: Discovered {
                    capabilities,
                    server_info: None,
                    fresh_until: None,
                    is_public: true,
                },
                policy: Policy::default(),
                limits: Limits::default(),
                most_streams: MOST_STREAMS,
                keep_alive: KEEP_ALIVE,
                stall: STALL,
                body_timeout: BODY_TIMEOUT,
                authorize: None,
            },
        }
    }

    /// Names the server in its answers: `serverInfo` as JSON text, such as `{"name":"notes","version":"1.0.0"}`.
    #[must_use]
    pub fn server_info(mut self, json: &str) -> Self {
        self.settings.told.server_info = Some(json.into());
        self
    }

    /// Decides what a caller may hear, from the head of its request and what it asks for. Asked once, when the stream is opened:
    /// [`Bus::revoke`] ends streams of callers that may hear nothing any more.
    #[must_use]
    pub fn authorize<F, A>(mut self, authorize: F) -> Self
    where
        F: Fn(Parts, SubscriptionFilter) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Grant, Denied>> + Send + 'static,
    {
        self.settings.authorize = Some(Arc::new(move |parts, requested| {
            Box::pin(authorize(parts, requested))
        }));
        self
    }

    /// Pages of these origins may ask, beside the server's own, such as `https://app.example`; `*` is every origin. Of the
    /// hosts that requests name only these are served, such as `mcp.example` or `mcp.example:8443`; `None`: this machine's
    /// names where a request is for this machine, and any other name.
    ///
    /// # Errors
    /// A [`PolicyError`] for the first entry that is no origin or no host.
    pub fn allow(mut self, origins: &[&str], hosts: Option<&[&str]>) -> Result<Self, PolicyError> {
        let hosts = hosts.map(|hosts| hosts.join("\n"));
        self.settings.policy = Policy::new(&origins.join("\n"), hosts.as_deref())?;
        Ok(self)
    }

    /// How large a listen request may be.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// How many streams the bus may hold (default 4,000); a listen request beyond that is a 503.
    #[must_use]
    pub fn most_streams(mut self, most: usize) -> Self {
        self.settings.most_streams = most;
        self
    }

    /// How long a stream may be silent before a comment is written (default 15 s, +-20 %); zero: for ever.
    #[must_use]
    pub fn keep_alive(mut self, span: Duration) -> Self {
        self.settings.keep_alive = span;
        self
    }

    /// How long a reader may take nothing while something waits for it, before its stream ends (default 60 s); zero: for ever.
    #[must_use]
    pub fn stall(mut self, span: Duration) -> Self {
        self.settings.stall = span;
        self
    }

    /// How long the body of a listen request may take to arrive (default 10 s); later it is a 408.
    #[must_use]
    pub fn body_timeout(mut self, span: Duration) -> Self {
        self.settings.body_timeout = span;
        self
    }
}

impl<S> Layer<S> for ListenLayer {
    type Service = Listen<S>;

    fn layer(&self, inner: S) -> Listen<S> {
        let Settings { policy, limits, .. } = self.settings.clone();
        let service = Service::new(policy, limits, Earlier::Behind);
        Listen::new(inner, Arc::new(service), Arc::new(self.settings.clone()))
    }
}

const MOST_STREAMS: usize = 4_000;
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const STALL: Duration = Duration::from_mins(1);
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
