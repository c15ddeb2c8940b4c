use alloc::{boxed::Box, string::String};

use super::{
    error::ProtocolError,
    member::{closed, opened, parse, push_text, text_in},
};

/// What a root tells a shard of a session whose stream is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionCall {
    /// What it watches has changed: join it again, to be told.
    Changed(Box<str>),
    /// Its stream is to be let go: it is over, or has another one.
    Release(Box<str>),
}

impl SessionCall {
    /// Reads one call.
    ///
    /// # Errors
    /// A [`ProtocolError`]; nothing has changed then.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        let document = parse(text)?;
        let root = &document.root;
        let session = text_in(root, "session")?.into();
        match text_in(root, "type")? {
            "changed" => Ok(Self::Changed(session)),
            "release" => Ok(Self::Release(session)),
            _ => Err(ProtocolError::UnknownType),
        }
    }

    /// The call as text.
    pub fn to_json(&self) -> String {
        let (kind, session) = match self {
            Self::Changed(session) => ("changed", session),
            Self::Release(session) => ("release", session),
        };
        let mut out = opened(kind);
        push_text(&mut out, "session", session);
        closed(out)
    }
}
