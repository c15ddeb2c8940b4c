use std::{future::Future, pin::Pin, sync::Arc};

use http::{HeaderValue, request::Parts};
use mcp_listen::{error::Reason, filter::SubscriptionFilter, scope::Scope};

/// What a caller is allowed to receive.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Grant {
    /// The part of the requested filter that the caller may receive. Entries that it did not
    /// request have no effect.
    pub filter: SubscriptionFilter,
    /// The groups of the caller, and its name, with which
    /// [`Bus::disconnect`](crate::Bus::disconnect) ends its streams.
    pub scope: Scope,
}

/// Why a listen request is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Denied {
    /// The caller is not authenticated: 401. The request does not reach the inner service, and the
    /// response does not say how to authenticate: see [`Denied::Challenge`].
    Unauthorized,
    /// As [`Denied::Unauthorized`], with this `WWW-Authenticate` field, from which clients start
    /// authorization: `Bearer resource_metadata="https://..."`, as your MCP server sends it.
    Challenge(HeaderValue),
    /// The caller is not allowed to listen: 403.
    Forbidden,
    /// As [`Denied::Forbidden`], with this `WWW-Authenticate` field, which names the scope that the
    /// token needs: `Bearer error="insufficient_scope", scope="..."`.
    InsufficientScope(HeaderValue),
    /// The caller's rights could not be determined: 503, and the client retries.
    Failed,
}

/// Decides what a caller may receive, from the head of its request and the requested filter.
pub(crate) type Authorize =
    Arc<dyn Fn(Parts, SubscriptionFilter) -> Decision + Send + Sync + 'static>;
pub(crate) type Decision = Pin<Box<dyn Future<Output = Result<Grant, Denied>> + Send>>;

impl Grant {
    /// Allows this filter, and no events for a single group.
    pub fn new(filter: SubscriptionFilter) -> Self {
        Self {
            filter,
            scope: Scope::default(),
        }
    }

    /// Sets the name and the groups of the caller.
    #[must_use]
    pub fn with_scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }
}

impl Denied {
    /// Returns the reason of the rejection, with its status, code and text.
    pub fn reason(self) -> Reason {
        Refusal::from(self).reason
    }
}

/// A refused request.
pub(crate) struct Refusal {
    pub(crate) reason: Reason,
    /// The `WWW-Authenticate` field of the response.
    pub(crate) challenge: Option<HeaderValue>,
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Self {
            reason,
            challenge: None,
        }
    }
}

impl From<Denied> for Refusal {
    fn from(denied: Denied) -> Self {
        let (reason, challenge) = match denied {
            Denied::Unauthorized => (Reason::Unauthorized, None),
            Denied::Challenge(challenge) => (Reason::Unauthorized, Some(challenge)),
            Denied::Forbidden => (Reason::Forbidden, None),
            Denied::InsufficientScope(challenge) => (Reason::Forbidden, Some(challenge)),
            Denied::Failed => (Reason::AuthorizerFailed, None),
        };
        Self { reason, challenge }
    }
}
