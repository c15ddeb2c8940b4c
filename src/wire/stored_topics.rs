//! What an object stores for an edge: all topics that it follows, and each change since then.

use alloc::{string::String, vec::Vec};

use crate::{
    json,
    vocabulary::topic::{Delta, Topics},
};

use super::{
    envelope::{members, parse_text},
    error::ProtocolError,
};

/// Returns the topics of an edge as JSON texts of bounded size; each adds to those before it.
pub fn encode_topics(topics: &Topics) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut topics = topics.iter().cloned().peekable();
    while pieces.is_empty() || topics.peek().is_some() {
        let mut bytes = 0;
        let mut piece = Delta::default();
        while let Some(topic) = topics.next_if(|_| bytes < MAX_PIECE_BYTES) {
            bytes += topic.name_bytes();
            piece.add.push(topic);
        }
        pieces.push(piece.to_json());
    }
    pieces
}

/// Reads the texts of [`encode_topics`] and [`Delta::to_json`], in that order.
///
/// # Errors
/// [`ProtocolError::Malformed`].
pub fn decode_topics<'t>(texts: impl Iterator<Item = &'t str>) -> Result<Topics, ProtocolError> {
    let mut topics = Topics::default();
    let mut texts = texts.peekable();
    texts.peek().ok_or(ProtocolError::Malformed)?;
    for text in texts {
        topics.apply(Delta::from_json(text)?);
    }
    Ok(topics)
}

impl Delta {
    /// Reads the text of [`Delta::to_json`].
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`].
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        members(&parse_text(text)?.root)
    }

    /// Returns the change as JSON text: `{"add":[TOPIC],"drop":[TOPIC]}`.
    pub fn to_json(&self) -> String {
        json::to_text(self)
    }
}

/// Maximum bytes of names in one text. A row of `SQLite` holds 2 MB, and each character of a name
/// takes at most six bytes of JSON.
const MAX_PIECE_BYTES: usize = 131_072;
