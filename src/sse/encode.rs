use alloc::{string::String, vec::Vec};

/// Encodes one message as an event of type `message`; each line of the message becomes a `data:`
/// line.
pub fn event(message: &str) -> Vec<u8> {
    let mut frame = Vec::with_capacity(message.len() + 24);
    frame.extend_from_slice(b"event: message\n");
    for line in message.split(['\n', '\r']) {
        frame.extend_from_slice(b"data: ");
        frame.extend_from_slice(line.as_bytes());
        frame.push(b'\n');
    }
    frame.push(b'\n');
    frame
}

/// Appends the event of a message of one line, which is `around` with `id` in between.
pub(crate) fn push_around(bytes: &mut Vec<u8>, id: &str, (before, after): &(String, String)) {
    bytes.extend_from_slice(b"event: message\ndata: ");
    bytes.extend_from_slice(before.as_bytes());
    bytes.extend_from_slice(id.as_bytes());
    bytes.extend_from_slice(after.as_bytes());
    bytes.extend_from_slice(b"\n\n");
}

/// Encodes an event that carries no message, only the id to resume from.
pub fn priming(id: &str) -> Vec<u8> {
    format!("id: {id}\ndata: \n\n").into_bytes()
}

/// Adds an id to resume from to the event `frame`.
pub fn identified(id: &str, frame: &[u8]) -> Vec<u8> {
    [format!("id: {id}\n").as_bytes(), frame].concat()
}

/// A comment, which every reader ignores. It keeps the connection active and reveals dead ones.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";
