use alloc::{boxed::Box, string::String};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Which stream of which session it is, and whose session that is, as the edge found. On the wire it is one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The `Mcp-Session-Id`, which holds no spaces.
    pub session: Box<str>,
    /// Counts the streams that were opened for the session, from 1: a newer one takes over from an older one.
    pub stream: u64,
    /// `None`: the session belongs to no principal.
    pub principal: Option<Box<str>>,
}

impl Claim {
    /// Reads what [`Claim::to_text`] wrote; `None`: it is none.
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

    /// The id, the number of the stream and the principal, each after a space.
    pub fn to_text(&self) -> String {
        let Self {
            session, stream, ..
        } = self;
        match &self.principal {
            Some(principal) => format!("{session} {stream} {principal}"),
            None => format!("{session} {stream}"),
        }
    }

    /// Whether it is about the same session.
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
