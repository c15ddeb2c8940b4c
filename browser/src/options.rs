use mcp_listen::client::{self, ServerHint};

use super::token::Token;

/// Options of a subscription from a page.
///
/// ```
/// use std::time::Duration;
///
/// use mcp_listen::client::SubscriptionOptions;
/// use mcp_listen_browser::ListenOptions;
///
/// let options = ListenOptions {
///     token: Some("eyJhbGciOi...".into()),
///     client: SubscriptionOptions {
///         acknowledgment: Duration::from_secs(5),
///         ..Default::default()
///     },
///     ..Default::default()
/// };
/// ```
#[derive(Clone, Debug, Default)]
pub struct ListenOptions {
    /// The bearer token of each request. With a token, redirects are not followed
    /// ([`Loss::Redirected`](mcp_listen::client::Loss)).
    pub token: Option<Token>,
    /// Further header fields of each request: name, value. They cannot replace those of the
    /// protocol. With any of them, redirects are not followed either.
    pub headers: Vec<(String, String)>,
    /// How to contact the server; `None` sends `server/discover`.
    pub server_hint: Option<ServerHint>,
    /// Options of the core's client: its info, timeouts and limits.
    pub client: client::SubscriptionOptions,
}

/// The default contact with a server.
pub(super) const FROM_PAGE: ServerHint = ServerHint::Discover { is_page: true };
