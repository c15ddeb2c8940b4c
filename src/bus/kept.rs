//! What a host keeps of an edge that wants much: what it attached for, and each change since then.

use super::{
    adjust::{Adjust, filter_of},
    interest::Interest,
    key::Key,
    keys::Keys,
    protocol::ProtocolError,
};

/// An interest as JSON texts, each of bounded size: an interest first, then changes of it.
pub(crate) fn pieces(interest: &Interest) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut keys = Key::entries(interest).into_iter().peekable();
    if matches!(interest, Interest::Everything) || keys.peek().is_none() {
        return vec![interest.to_json()];
    }
    while keys.peek().is_some() {
        let mut bytes = 0;
        let mut piece = Vec::new();
        while let Some(key) = keys.next_if(|_| bytes < PIECE_BYTES) {
            bytes += key.names();
            piece.push(key);
        }
        let add = filter_of(piece);
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
pub(crate) fn keys_in<'t>(mut texts: impl Iterator<Item = &'t str>) -> Result<Keys, ProtocolError> {
    let first = texts.next().ok_or(ProtocolError::Malformed)?;
    let mut keys = Keys::of(&Interest::from_json(first)?);
    for text in texts {
        keys.change(&Adjust::from_kept(text)?);
    }
    Ok(keys)
}

/// A row of `SQLite` has 2 MB; each character of a name takes six bytes of JSON at most.
const PIECE_BYTES: usize = 131_072;
