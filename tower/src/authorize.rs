use std::{future::Future, pin::Pin, sync::Arc};

use http::request::Parts;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Denied {
    /// The caller is not authenticated: 401. The inner service's response to the request says how
    /// to authenticate.
    Unauthorized,
    /// The caller is not allowed to listen: 403.
    Forbidden,
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
        match self {
            Self::Unauthorized => Reason::Unauthorized,
            Self::Forbidden => Reason::Forbidden,
            Self::Failed => Reason::AuthorizerFailed,
        }
    }
}
