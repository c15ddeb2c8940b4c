use mcp_listen::listen::ServerStream;

use crate::{
    invariant::{Violation, ensure},
    key::Key,
    world::World,
};

/// The promises of sessions once everything has settled.
impl World {
    pub(crate) fn check_sessions(&mut self) -> Result<(), Violation> {
        ensure("a request gets a reply", self.visits.is_empty(), || {
            let asks: Vec<_> = self.visits.iter().map(|visit| visit.asks).collect();
            format!("{asks:?} are not")
        })?;
        // A frame lost on an open socket is detected at the next event.
        let known = self.known();
        for at in 0..self.clients.len() {
            self.check_stream(at, known.contains(&at))?;
        }
        Ok(())
    }

    /// A session has one stream, which honors its subscriptions.
    fn check_stream(&mut self, at: usize, is_known: bool) -> Result<(), Violation> {
        let client = &self.clients[at];
        let Some(id) = client.session_id().map(str::to_owned) else {
            return Ok(());
        };
        if client.host.is_none() {
            return Ok(());
        }
        let others = self.clients.iter().enumerate();
        let mut others = others.filter(|(other, it)| {
            *other != at && it.session_id() == Some(&id) && it.host.is_some()
        });
        let other = others.next().map(|(other, _)| other);
        ensure("a session has at most one stream", other.is_none(), || {
            format!("clients {at} and {other:?} have one for {id}")
        })?;
        if self.clients[at].is_superseded() || !is_known {
            return Ok(());
        }
        let (denied, granted) = (self.clients[at].denied(), self.clients[at].granted());
        let Some((_, mut driven)) = self.driven(at) else {
            return Ok(());
        };
        let honored = driven.read(|stream: &ServerStream| stream.honored().clone());
        let rows = self.bus.disk().sessions.rows();
        let uris: Vec<_> = rows.uris(&id).cloned().collect();
        let honored_uris = honored.resource_subscriptions;
        let is_right = |uri| {
            let (key, is_watched) = (Key::of_uri(uri), uris.contains(uri));
            if honored_uris.contains(uri) {
                is_watched && (!denied.has(key) || granted.has(key))
            } else {
                !is_watched || denied.has(key)
            }
        };
        ensure(
            "a stream honors the subscriptions of its session",
            honored_uris.iter().chain(&uris).all(is_right),
            || format!("client {at} honors {honored_uris:?}, and is subscribed to {uris:?}"),
        )
    }
}
