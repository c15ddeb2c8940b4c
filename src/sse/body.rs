use alloc::{borrow::Cow, vec, vec::Vec};

use super::decode::{Bounds, Decoder, Item};

/// Returns the data of each complete event in `body`, its lines joined by line feeds; ignores
/// comments and other fields.
pub fn data(body: &[u8]) -> Vec<Vec<u8>> {
    let mut decoder = Decoder::new(Bounds {
        line_bytes: body.len(),
        event_bytes: body.len(),
    });
    decoder.handle_bytes(body);
    core::iter::from_fn(|| decoder.poll_item().ok().flatten())
        .filter_map(|item| match item {
            Item::Event(event) => Some(event.data),
            Item::Comment | Item::Retry(_) => None,
        })
        .collect()
}

/// Returns the messages of a response, a JSON body or an event stream: the body if it is an object,
/// else the data of each event.
pub(crate) fn messages(body: &[u8]) -> Vec<Cow<'_, [u8]>> {
    if body.trim_ascii_start().starts_with(b"{") {
        return vec![Cow::Borrowed(body)];
    }
    data(body).into_iter().map(Cow::Owned).collect()
}
