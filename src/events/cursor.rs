//! Cursors: opaque texts that say up to where a reader has the occurrences of a name.

use alloc::{string::String, vec::Vec};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::vocabulary::position::{Cursor, Position};

/// Returns the cursor of a reader that has everything up to `cursor`.
pub fn to_text(cursor: &Cursor) -> String {
    let mut bytes = Vec::with_capacity(9 + cursor.epoch.len());
    bytes.push(VERSION);
    bytes.extend_from_slice(&cursor.position.0.to_be_bytes());
    bytes.extend_from_slice(cursor.epoch.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads a cursor; `None` if this version has not written it.
pub fn from_text(text: &str) -> Option<Cursor> {
    if text.len() > MAX_CHARACTERS {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (version, rest) = bytes.split_first()?;
    let (position, epoch) = rest.split_first_chunk::<8>()?;
    let position = Position(u64::from_be_bytes(*position));
    if *version != VERSION || position.0 >= 1 << 53 {
        return None;
    }
    let epoch = core::str::from_utf8(epoch).ok()?.into();
    Some(Cursor { epoch, position })
}

/// Maximum characters of a cursor.
pub const MAX_CHARACTERS: usize = 256;
/// The version of the form of a cursor, its first byte.
const VERSION: u8 = 1;
