use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::{
    claim::Claim,
    envelope::{kind_of, members, message, parse},
    error::ProtocolError,
};

/// A call of a root to a shard about a session whose stream the shard holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionCall {
    /// The subscriptions of the session have changed: the shard joins it again to get them.
    Changed(Claim),
    /// The shard has to close the older streams of the session: it has ended, or this stream has
    /// replaced them. If the shard still holds this stream, its edge has to reconnect: the stream
    /// is attached elsewhere.
    Release(Claim),
}

#[derive(Serialize, Deserialize)]
struct Named {
    session: Claim,
}

impl SessionCall {
    /// Reads a call.
    ///
    /// # Errors
    /// A [`ProtocolError`]; nothing has changed then.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        let document = parse(text)?;
        let root = &document.root;
        let Named { session } = members(root)?;
        match kind_of(root)? {
            "changed" => Ok(Self::Changed(session)),
            "release" => Ok(Self::Release(session)),
            _ => Err(ProtocolError::UnknownType),
        }
    }

    /// Returns the call as text.
    pub fn to_json(&self) -> String {
        let (kind, session) = match self {
            Self::Changed(session) => ("changed", session),
            Self::Release(session) => ("release", session),
        };
        let session = session.clone();
        message(kind, &Named { session })
    }
}
