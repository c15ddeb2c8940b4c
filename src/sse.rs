//! Messages as server-sent events; knows nothing of MCP.

/// One message as an event of type `message`; each line of the message becomes a `data:` line.
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

/// An event that carries no message, only the id to resume from.
pub fn priming(id: &str) -> Vec<u8> {
    format!("id: {id}\ndata: \n\n").into_bytes()
}

/// The event `frame` with an id to resume from.
pub fn identified(id: &str, frame: &[u8]) -> Vec<u8> {
    [format!("id: {id}\n").as_bytes(), frame].concat()
}

/// A comment, which every reader ignores: it keeps the connection in use and finds dead ones.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// The data of each whole event in `body`, its lines joined by line feeds; comments and other fields are passed over.
pub fn data(body: &str) -> Vec<String> {
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    body.split_inclusive("\n\n")
        .filter(|block| block.ends_with("\n\n"))
        .filter_map(data_of)
        .collect()
}

fn data_of(block: &str) -> Option<String> {
    let lines: Vec<&str> = block
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(|data| data.strip_prefix(' ').unwrap_or(data))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
