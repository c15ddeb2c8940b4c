use std::{future::Future, pin::Pin, sync::Arc};

use http::request::Parts;
use mcp_listen::{error::Reason, filter::SubscriptionFilter, scope::Scope};

/// What a caller may hear.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Grant {
    /// What the caller may hear of what it asked for. What it did not ask for does not matter.
    pub filter: SubscriptionFilter,
    /// The audiences that the caller is of, and its name: [`Bus::revoke`](crate::Bus::revoke) ends its streams by that.
    pub scope: Scope,
}

/// Why a listen request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Denied {
    /// Nobody knows who the caller is: 401. What the inner service answers to it says how to ask.
    Unauthorized,
    /// The caller may not listen here: 403.
    Forbidden,
    /// Its rights could not be established: 503, and the client comes back.
    Failed,
}

/// Decides what a caller may hear, from the head of its request and what it asks for.
pub(crate) type Authorize =
    Arc<dyn Fn(Parts, SubscriptionFilter) -> Answer + Send + Sync + 'static>;
pub(crate) type Answer = Pin<Box<dyn Future<Output = Result<Grant, Denied>> + Send>>;

impl Grant {
    /// The caller may hear of these, and no events that are for one audience alone.
    pub fn new(filter: SubscriptionFilter) -> Self {
        Self {
            filter,
            scope: Scope::default(),
        }
    }

    /// The same for a caller with this name and these audiences.
    #[must_use]
    pub fn with_scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }
}

impl Denied {
    /// What the client is answered: status, code and text.
    pub fn reason(self) -> Reason {
        match self {
            Self::Unauthorized => Reason::Unauthorized,
            Self::Forbidden => Reason::Forbidden,
            Self::Failed => Reason::AuthorizerFailed,
        }
    }
}
