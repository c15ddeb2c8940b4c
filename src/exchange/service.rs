use crate::{
    http::{Headers, Policy, Response, Screening},
    session,
    vocabulary::{
        error::{Reason, Rejection},
        limits::Limits,
    },
};

/// The settings for all requests of a server.
#[derive(Clone, Debug)]
pub struct Service {
    policy: Policy,
    limits: Limits,
    holds_streams: bool,
    legacy: LegacyMode,
}

/// How requests of revisions before 2026-07-28 are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LegacyMode {
    /// The upstream server handles them.
    #[default]
    Stateless,
    /// The sessions are kept here.
    Sessions(SessionRules),
    /// They are refused.
    Reject,
}

/// The settings for sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionRules {
    /// The limits of sessions.
    pub limits: session::SessionLimits,
    /// Whether the host restricts what each caller may receive:
    /// [`Step::Authorize`](super::Step::Authorize).
    pub authorizes: bool,
}

impl Service {
    /// Creates a service that holds streams, and serves the methods of earlier revisions according
    /// to `legacy`.
    pub fn new(policy: Policy, limits: Limits, legacy: LegacyMode) -> Self {
        let is_modern_only = legacy == LegacyMode::Reject;
        Self {
            policy: if is_modern_only {
                policy.modern_only()
            } else {
                policy
            },
            limits,
            holds_streams: true,
            legacy,
        }
    }

    /// Refuses every request that needs a stream.
    #[must_use]
    pub fn without_streams(self) -> Self {
        Self {
            policy: self.policy.without_streams(),
            holds_streams: false,
            ..self
        }
    }

    /// Checks a request by its method, absolute URL and header fields alone.
    pub fn screen(&self, method: &str, url: &str, headers: &Headers<'_>) -> Screening {
        self.policy.screen(method, url, headers)
    }

    /// Returns the maximum sizes of requests.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the refusal of a request about which nothing is known.
    pub fn refuse(reason: Reason) -> Response {
        Response::refused(&Rejection::new(reason, None))
    }

    pub(super) fn holds_streams(&self) -> bool {
        self.holds_streams
    }

    pub(super) fn legacy(&self) -> LegacyMode {
        self.legacy
    }
}
