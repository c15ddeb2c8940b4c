use mcp_listen::client::{self, Approach};

use super::token::Token;

/// How a page listens, beside where and to what.
///
/// ```
/// use std::time::Duration;
///
/// use mcp_listen::client;
/// use mcp_listen_browser::ListenOptions;
///
/// let options = ListenOptions {
///     token: Some("eyJhbGciOi...".into()),
///     client: client::Options { acknowledgment: Duration::from_secs(5), ..Default::default() },
///     ..Default::default()
/// };
/// ```
#[derive(Clone, Debug, Default)]
pub struct ListenOptions {
    /// Goes with each request as `Authorization: Bearer`. With it redirects are not followed ([`Loss::Redirected`](mcp_listen::client::Loss)).
    pub token: Option<Token>,
    /// Further header fields of each request: name, value. Those of the protocol cannot be replaced. With any of
    /// them redirects are not followed either.
    pub headers: Vec<(String, String)>,
    /// How the server is approached; `None`: it is asked with `server/discover`.
    pub approach: Option<Approach>,
    /// What the client is, how long it waits, and how much it bears.
    pub client: client::Options,
}

/// How a server is approached where nobody says.
pub(super) const FROM_PAGE: Approach = Approach::Discover { is_page: true };
