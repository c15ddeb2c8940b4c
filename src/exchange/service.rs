use crate::{
    http::{Headers, Policy, Screening},
    session,
    vocabulary::{
        error::{Reason, Rejection},
        limits::Limits,
    },
};

use super::Answer;

/// What holds for all requests of a server.
#[derive(Clone, Debug)]
pub struct Service {
    policy: Policy,
    limits: Limits,
    holds_streams: bool,
    earlier: Earlier,
}

/// What becomes of requests of revisions before 2026-07-28.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Earlier {
    /// The server behind answers them.
    #[default]
    Behind,
    /// Their sessions are kept here.
    Sessions(SessionRules),
    /// They are refused.
    Refused,
}

/// What holds for sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionRules {
    /// What they may take.
    pub limits: session::Limits,
    /// The host narrows what each caller may receive: [`Step::Authorize`](super::Step::Authorize).
    pub authorizes: bool,
}

impl Service {
    /// A server that holds streams, and serves the methods that go with what it does of earlier revisions.
    pub fn new(policy: Policy, limits: Limits, earlier: Earlier) -> Self {
        let is_modern_only = earlier == Earlier::Refused;
        Self {
            policy: if is_modern_only {
                policy.modern_only()
            } else {
                policy
            },
            limits,
            holds_streams: true,
            earlier,
        }
    }

    /// Whatever would need a stream is refused.
    #[must_use]
    pub fn without_streams(self) -> Self {
        Self {
            policy: self.policy.without_streams(),
            holds_streams: false,
            ..self
        }
    }

    /// Judges a request by its method, absolute URL and header fields alone.
    pub fn screen(&self, method: &str, url: &str, headers: &Headers<'_>) -> Screening {
        self.policy.screen(method, url, headers)
    }

    /// How large requests may be.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The refusal of a request of which nothing is known.
    pub fn refuse(reason: Reason) -> Answer {
        Answer::refused(Rejection::new(reason, None))
    }

    pub(super) fn holds_streams(&self) -> bool {
        self.holds_streams
    }

    pub(super) fn earlier(&self) -> Earlier {
        self.earlier
    }
}
