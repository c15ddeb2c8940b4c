//! What a host keeps of an edge that wants much: what it attached for, and each change since then.

use crate::{filter::SubscriptionFilter, topic::Topics};

use super::{adjust::Adjust, interest::Interest, protocol::ProtocolError};

/// An interest as JSON texts, each of bounded size: an interest first, then changes of it.
pub(crate) fn pieces(interest: &Interest) -> Vec<String> {
    let mut pieces = Vec::new();
    let topics = interest.topics();
    let mut topics = topics.iter().cloned().peekable();
    if matches!(interest, Interest::Everything) || topics.peek().is_none() {
        return vec![interest.to_json()];
    }
    while topics.peek().is_some() {
        let mut bytes = 0;
        let mut piece = Vec::new();
        while let Some(topic) = topics.next_if(|_| bytes < PIECE_BYTES) {
            bytes += topic.names();
            piece.push(topic);
        }
        let add = SubscriptionFilter::from(piece);
        pieces.push(if pieces.is_empty() {
            Interest::Filter(add).to_json()
        } else {
            Adjust {
                add,
                ..Adjust::default()
            }
            .kept()
        });
    }
    pieces
}

/// Reads what [`pieces`] and [`Adjust::kept`] wrote, in that order.
pub(crate) fn topics_in<'t>(
    mut texts: impl Iterator<Item = &'t str>,
) -> Result<Topics, ProtocolError> {
    let first = texts.next().ok_or(ProtocolError::Malformed)?;
    let mut topics = Interest::from_json(first)?.topics();
    for text in texts {
        Adjust::from_kept(text)?.apply(&mut topics);
    }
    Ok(topics)
}

/// A row of `SQLite` has 2 MB; each character of a name takes six bytes of JSON at most.
const PIECE_BYTES: usize = 131_072;
