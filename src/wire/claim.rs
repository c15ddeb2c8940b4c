use alloc::{boxed::Box, string::String};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Identifies a stream of a session and the principal of the session, as the edge determined it. It
/// is one text on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The `Mcp-Session-Id`, which contains no spaces.
    pub session: Box<str>,
    /// The number of the stream in its session, from 1: a newer stream replaces an older one.
    pub stream: u64,
    /// The principal of the session; `None` if it belongs to none.
    pub principal: Option<Box<str>>,
}

impl Claim {
    /// Reads the text of [`Claim::to_text`]; `None` if it is invalid.
    pub fn from_text(text: &str) -> Option<Self> {
        let (session, rest) = text.split_once(' ')?;
        let (stream, principal) = match rest.split_once(' ') {
            Some((stream, principal)) => (stream, Some(principal.into())),
            None => (rest, None),
        };
        Some(Self {
            session: session.into(),
            stream: stream.parse().ok()?,
            principal,
        })
    }

    /// Returns the id, the number of the stream and the principal, separated by spaces.
    pub fn to_text(&self) -> String {
        let Self {
            session, stream, ..
        } = self;
        match &self.principal {
            Some(principal) => format!("{session} {stream} {principal}"),
            None => format!("{session} {stream}"),
        }
    }

    /// Whether both claims name the same session.
    pub fn is_of_session(&self, other: &Self) -> bool {
        self.session == other.session && self.principal == other.principal
    }
}

impl Serialize for Claim {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

impl<'de> Deserialize<'de> for Claim {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = alloc::borrow::Cow::<str>::deserialize(deserializer)?;
        Self::from_text(&text).ok_or_else(|| D::Error::custom("this is no claim"))
    }
}
