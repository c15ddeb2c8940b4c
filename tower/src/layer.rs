use std::{future::Future, sync::Arc, time::Duration};

use http::request::Parts;
use mcp_listen::{
    capabilities::{Capabilities, Discovered},
    exchange::{LegacyMode, Service},
    filter::SubscriptionFilter,
    http::{Policy, PolicyError},
    limits::Limits,
};
use tower_layer::Layer;

use crate::{
    authorize::{Authorize, Denied, Grant},
    bus::Bus,
    service::Listen,
    streams::Room,
};

/// Adds `subscriptions/listen` to a service.
#[derive(Clone)]
pub struct ListenLayer {
    settings: Settings,
}

/// The settings that all requests share.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) bus: Bus,
    pub(crate) discovered: Discovered,
    policy: Policy,
    limits: Limits,
    pub(crate) room: Room,
    pub(crate) keep_alive: Duration,
    pub(crate) write_timeout: Duration,
    pub(crate) body_timeout: Duration,
    pub(crate) authorize: Option<Authorize>,
}

impl ListenLayer {
    /// Creates a layer whose streams receive what is published on `bus`, as far as they request it
    /// and `capabilities` cover it: these are the capabilities that the inner service declares in
    /// its response to `server/discover`.
    ///
    /// Without [`ListenLayer::authorize`], every caller that reaches the server may listen to
    /// everything that it offers.
    pub fn new(bus: Bus, capabilities: Capabilities) -> Self {
        Self {
            settings: Settings {
                bus,
                discovered: capabilities.into(),
                policy: Policy::default(),
                limits: Limits::default(),
                room: Room {
                    all: MAX_SUBSCRIPTIONS,
                    of_caller: MAX_SUBSCRIPTIONS_PER_PRINCIPAL,
                },
                keep_alive: KEEP_ALIVE,
                write_timeout: WRITE_TIMEOUT,
                body_timeout: BODY_TIMEOUT,
                authorize: None,
            },
        }
    }

    /// Adds the server's info to its responses: `serverInfo` as JSON text, such as
    /// `{"name":"notes","version":"1.0.0"}`.
    #[must_use]
    pub fn server_info(mut self, json: &str) -> Self {
        self.settings.discovered.server_info = Some(json.into());
        self
    }

    /// Decides what a caller may receive, from the head of its request and the requested filter. It
    /// is called once, when the stream opens: use [`Bus::disconnect`] to end the streams of a
    /// caller that loses its access.
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

    /// Allows requests from pages of these origins in addition to the server's own, such as
    /// `https://app.example`; `*` allows every origin. Serves only requests to these hosts, such as
    /// `mcp.example` or `mcp.example:8443`. `None` serves every host, also at a loopback address:
    /// name the hosts of each server that can be reached by plain HTTP, or an attacker's name that
    /// was rebound to your machine reaches it.
    ///
    /// # Errors
    /// A [`PolicyError`] for the first entry that is not a valid origin or host.
    pub fn allow(mut self, origins: &[&str], hosts: Option<&[&str]>) -> Result<Self, PolicyError> {
        let hosts = hosts.map(|hosts| hosts.join("\n"));
        self.settings.policy = Policy::new(&origins.join("\n"), hosts.as_deref())?;
        Ok(self)
    }

    /// Limits the size of a listen request.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Limits how many streams the bus may hold. Default 4,000; a listen request beyond that
    /// gets 503.
    #[must_use]
    pub fn max_subscriptions(mut self, max: usize) -> Self {
        self.settings.room.all = max;
        self
    }

    /// Limits how many streams the bus may hold for one caller, whose [`Scope`](crate::Scope) has
    /// the same names. Default 16; a listen request beyond that gets 429. Callers without a name
    /// have no such limit: limit them in front of the server.
    #[must_use]
    pub fn max_subscriptions_per_principal(mut self, max: usize) -> Self {
        self.settings.room.of_caller = max;
        self
    }

    /// Sets how long a stream may be silent before a keep-alive comment is written. Default 15 s,
    /// with +-20 % jitter; zero disables keep-alives.
    #[must_use]
    pub fn keep_alive(mut self, span: Duration) -> Self {
        self.settings.keep_alive = span;
        self
    }

    /// Ends a stream whose client has read nothing for this long while a notification or keep-alive
    /// is pending. Default 60 s; zero disables it. Its place is free then. Its connection stays
    /// open until the host closes it, or the client reads and finds the end: only the host can
    /// close a connection that accepts no bytes.
    #[must_use]
    pub fn write_timeout(mut self, span: Duration) -> Self {
        self.settings.write_timeout = span;
        self
    }

    /// Sets how long the body of a listen request may take to arrive. Default 10 s; after that, the
    /// request gets 408.
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
        let service = Service::new(policy, limits, LegacyMode::Stateless);
        Listen::new(inner, Arc::new(service), Arc::new(self.settings.clone()))
    }
}

const MAX_SUBSCRIPTIONS: usize = 4_000;
const MAX_SUBSCRIPTIONS_PER_PRINCIPAL: usize = 16;
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const WRITE_TIMEOUT: Duration = Duration::from_mins(1);
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
