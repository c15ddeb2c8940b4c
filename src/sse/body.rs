use alloc::{string::String, vec::Vec};

use super::decode::{Bounds, Decoder, Item};

/// The data of each whole event in `body`, its lines joined by line feeds; comments and other fields are passed over.
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
