use alloc::{boxed::Box, string::String};

/// Which session a stream belongs to, and whose that is, as the edge found: one text, which the bus protocol only carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The `Mcp-Session-Id`, which holds no spaces.
    pub session: Box<str>,
    /// `None`: the session belongs to no principal.
    pub principal: Option<Box<str>>,
}

impl Claim {
    /// Reads what [`Claim::to_text`] wrote.
    pub fn from_text(text: &str) -> Self {
        let (session, principal) = match text.split_once(' ') {
            Some((session, principal)) => (session, Some(principal.into())),
            None => (text, None),
        };
        Self {
            session: session.into(),
            principal,
        }
    }

    /// The id and, after a space, the principal.
    pub fn to_text(&self) -> String {
        match &self.principal {
            Some(principal) => format!("{} {principal}", self.session),
            None => self.session.as_ref().into(),
        }
    }
}
