use alloc::{string::String, vec::Vec};

use crate::{
    filter::SubscriptionFilter,
    id::{Ids, RequestId},
    limits::Limits,
    listen::{ClientStream, Incoming, Notice},
    sorted::Map,
};

use super::lines::{Line, Lines};

/// The client's side of one stdio connection: leads each line of the server to the subscription
/// that it names (2026-07-28, stdio).
#[derive(Debug)]
pub struct ClientChannel {
    limits: Limits,
    line_bytes: usize,
    lines: Lines,
    streams: Map<RequestId, ClientStream>,
}

/// What the host has to do with what the server sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientInput {
    /// Not ours: the client's own session gets these bytes as they are.
    Forward(Vec<u8>),
    /// News of a subscription.
    Notice(RequestId, Notice),
    /// The server wrote a line longer than allowed, which is dropped. It may have been for any
    /// subscription, so all of them ought to be read again.
    TooLong,
}

/// A subscription that is asked for again, under another id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewed {
    /// The id that it had; nothing more comes under it.
    pub former: RequestId,
    /// The id that it has now.
    pub id: RequestId,
    /// The line for the server.
    pub line: String,
}

impl ClientChannel {
    /// A connection without subscriptions; lines may have `line_bytes` bytes.
    pub fn new(limits: Limits, line_bytes: usize) -> Self {
        Self {
            limits,
            line_bytes,
            lines: Lines::new(line_bytes),
            streams: Map::new(),
        }
    }

    /// Opens the subscription `id`: the answer is the line for the server, or `None` where the id is in use.
    pub fn listen(
        &mut self,
        id: RequestId,
        requested: SubscriptionFilter,
        client_info: Option<&str>,
    ) -> Option<String> {
        if self.streams.contains_key(&id) {
            return None;
        }
        let stream = ClientStream::new(id.clone(), requested);
        let line = stream.request(client_info) + "\n";
        self.streams.insert(id, stream);
        Some(line)
    }

    /// Gives a subscription up: the answer is the line for the server, or `None` where it has ended already.
    pub fn cancel(&mut self, id: &RequestId) -> Option<String> {
        let line = self.streams.remove(id)?.cancel()?;
        Some(line + "\n")
    }

    /// Bytes came from the server.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        self.lines.handle_bytes(bytes);
    }

    /// The server's process has ended: so has every subscription, without a word.
    pub fn handle_exit(&mut self) -> Vec<(RequestId, Notice)> {
        let streams = core::mem::take(&mut self.streams);
        streams
            .into_entries()
            .filter_map(|(id, mut stream)| Some((id, stream.handle_lost()?)))
            .collect()
    }

    /// The server's process has ended and another one has taken its place, which knows of no
    /// subscription: each that has not ended is asked for again with an id from `ids`, and what it
    /// honors may have changed meanwhile (2026-07-28, Subscriptions: Graceful Closure). Call this
    /// instead of [`ClientChannel::handle_exit`], before the first bytes of the new process.
    pub fn handle_restart(&mut self, ids: &mut Ids, client_info: Option<&str>) -> Vec<Renewed> {
        self.lines = Lines::new(self.line_bytes);
        let streams = core::mem::take(&mut self.streams);
        let mut renewed = Vec::new();
        for (former, stream) in streams.into_entries() {
            let id = ids.mint();
            let line = self.listen(id.clone(), stream.requested().clone(), client_info);
            renewed.extend(line.map(|line| Renewed { former, id, line }));
        }
        renewed
    }

    /// What to do with what the server sent, or `None` until more comes.
    pub fn poll_input(&mut self) -> Option<ClientInput> {
        loop {
            match self.lines.poll_line()? {
                Line::TooLong => return Some(ClientInput::TooLong),
                Line::Whole(line) => {
                    if let Some(input) = self.handle_line(line) {
                        return Some(input);
                    }
                }
            }
        }
    }

    /// How many subscriptions there are.
    pub fn subscriptions(&self) -> usize {
        self.streams.len()
    }

    /// What names a subscription that has ended came too late, and is nobody's (2026-07-28, Cancellation).
    fn handle_line(&mut self, line: Vec<u8>) -> Option<ClientInput> {
        let Some((id, incoming)) = Incoming::read(&line, &self.limits) else {
            return Some(ClientInput::Forward(line));
        };
        let Some(stream) = self.streams.get_mut(&id) else {
            return (!incoming.is_stamped()).then_some(ClientInput::Forward(line));
        };
        let notice = stream.handle_message(incoming)?;
        if stream.is_ended() {
            self.streams.remove(&id);
        }
        Some(ClientInput::Notice(id, notice))
    }
}
