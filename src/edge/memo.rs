//! What a stream is made of, for whoever keeps it outside the core: with that it goes on where the core has been lost.

use crate::{
    bus::Interest,
    clock::Millis,
    id::RequestId,
    json,
    limits::Limits,
    listen::{ServerStream, Stamp},
};

/// The memo of a stream, as JSON text; `None` for the stream of a session, whose client comes back to where it was.
pub fn of(stream: &ServerStream) -> Option<String> {
    let Stamp::Subscription(id) = stream.stamp() else {
        return None;
    };
    let mut memo = String::from("{\"id\":");
    memo.push_str(id.raw());
    memo.push_str(",\"honored\":");
    memo.push_str(&Interest::Filter(stream.honored().clone()).to_json());
    if let Some(info) = stream.server_info() {
        memo.push_str(",\"serverInfo\":");
        memo.push_str(info);
    }
    memo.push('}');
    Some(memo)
}

/// The stream of a memo, which was open, and whose client has heard the acknowledgment or not; `None` where it is no memo.
/// Nobody knows what it has missed, nor what its caller may hear now: that holds for `grant` each time that it is said.
pub fn recalled(
    memo: &str,
    is_acknowledged: bool,
    (keep_alive, grant): (Millis, Millis),
    now: Millis,
) -> Option<ServerStream> {
    let document = json::read(memo.as_bytes(), Limits::default().depth).ok()?;
    let id = RequestId::from_node(document.root.get("id")?, usize::MAX)?;
    let honored = Interest::from_json(document.root.get("honored")?.raw).ok()?;
    let Interest::Filter(honored) = honored else {
        return None;
    };
    let info = document.root.get("serverInfo").map(|node| node.raw.into());
    let mut stream = ServerStream::new(id, honored, keep_alive, now).with_server_info(info);
    stream.handle_recalled(is_acknowledged);
    stream.doubt_grant(grant);
    Some(stream)
}
