use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::{
    claim::Claim,
    envelope::{kind_of, members, message, parse},
    error::ProtocolError,
};

/// What a root tells a shard of a session whose stream is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionCall {
    /// What it watches has changed: join it again, to be told.
    Changed(Claim),
    /// Its streams that are older are to be let go: it is over, or this one has taken over. Where this one is still here, it is to come
    /// back: it is attached elsewhere.
    Release(Claim),
}

#[derive(Serialize, Deserialize)]
struct Named {
    session: Claim,
}

impl SessionCall {
    /// Reads one call.
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

    /// The call as text.
    pub fn to_json(&self) -> String {
        let (kind, session) = match self {
            Self::Changed(session) => ("changed", session),
            Self::Release(session) => ("release", session),
        };
        let session = session.clone();
        message(kind, &Named { session })
    }
}
