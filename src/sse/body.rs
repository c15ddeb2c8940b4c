use alloc::{string::String, vec::Vec};

use super::decode::{Bounds, Decoder, Item};

/// Returns the data of each complete event in `body`, its lines joined by line feeds; ignores
/// comments and other fields.
pub fn data(body: &str) -> Vec<String> {
    let mut decoder = Decoder::new(Bounds {
        line_bytes: body.len(),
        event_bytes: body.len(),
    });
    decoder.handle_bytes(body.as_bytes());
    core::iter::from_fn(|| decoder.poll_item().ok().flatten())
        .filter_map(|item| match item {
            Item::Event(event) => String::from_utf8(event.data).ok(),
            Item::Comment | Item::Retry(_) => None,
        })
        .collect()
}
