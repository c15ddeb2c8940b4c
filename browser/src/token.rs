use std::{
    fmt,
    future::{Future, ready},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

/// A bearer token, or a provider of one.
#[derive(Clone)]
pub struct Token(Source);

#[derive(Clone)]
enum Source {
    Fixed(String),
    Provider(Rc<dyn Fn() -> TokenFuture>),
}

type TokenFuture = Pin<Box<dyn Future<Output = Option<String>>>>;

impl Token {
    /// Calls `provider` before each request, and once more after a 401. `None` sends the request
    /// without a token.
    ///
    /// ```
    /// use mcp_listen_browser::Token;
    ///
    /// let token = Token::provider(async || Some("eyJhbGciOi...".to_owned()));
    /// ```
    pub fn provider<F>(provider: impl Fn() -> F + 'static) -> Self
    where
        F: Future<Output = Option<String>> + 'static,
    {
        Self(Source::Provider(Rc::new(move || Box::pin(provider()))))
    }

    /// Whether another call may return a different token.
    pub(super) fn may_change(&self) -> bool {
        matches!(self.0, Source::Provider(_))
    }
}

impl<T: Into<String>> From<T> for Token {
    fn from(token: T) -> Self {
        Self(Source::Fixed(token.into()))
    }
}

/// Hides the token from logs.
impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token")
    }
}

/// A pending token.
pub(super) struct PendingToken(TokenFuture);

impl PendingToken {
    /// Requests a token from `token`, if there is one.
    pub(super) fn of(token: Option<&Token>) -> Self {
        Self(match token.map(|token| &token.0) {
            Some(Source::Provider(provider)) => provider(),
            Some(Source::Fixed(token)) => Box::pin(ready(Some(token.clone()))),
            None => Box::pin(ready(None)),
        })
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<String>> {
        self.0.as_mut().poll(context)
    }
}

impl fmt::Debug for PendingToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PendingToken")
    }
}
