use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::{
    http::Headers,
    vocabulary::{id::RequestId, uri::Uri},
};

use crate::client::{
    http::{
        answer::is_success,
        reply::Reply,
        wire::{Call, Wire},
    },
    session::{self, Session},
};

/// The resources that a session asks for, a few at a time.
#[derive(Debug)]
pub(crate) struct Subscribes {
    waiting: VecDeque<Uri>,
    asked: Vec<Asked>,
    at_once: usize,
}

#[derive(Debug)]
struct Asked {
    call: Call,
    id: RequestId,
    uri: Uri,
    reply: Reply,
}

impl Subscribes {
    pub(crate) fn new(uris: &[Uri]) -> Self {
        Self {
            waiting: uris.iter().cloned().collect(),
            asked: Vec::new(),
            at_once: AT_ONCE,
        }
    }

    /// On a channel requests take no connections: all are under way at once.
    pub(crate) fn all_at_once(&mut self) {
        self.at_once = usize::MAX;
    }

    /// Asks for as many as may be under way.
    pub(crate) fn ask(&mut self, session: &Session, wire: &mut Wire) {
        while self.asked.len() < self.at_once
            && let Some(uri) = self.waiting.pop_front()
        {
            let id = wire.ids.mint();
            let call = wire.send(session.subscribe(&id, &uri));
            let reply = Reply::default();
            self.asked.push(Asked {
                call,
                id,
                uri,
                reply,
            });
        }
    }

    pub(crate) fn handle_head(&mut self, call: Call, status: u16, headers: &Headers<'_>) {
        if let Some(asked) = self.find(call) {
            asked.reply.begin(status, headers);
        }
    }

    pub(crate) fn handle_bytes(&mut self, call: Call, bytes: &[u8], most: usize) {
        if let Some(asked) = self.find(call) {
            asked.reply.push(bytes, most);
        }
    }

    /// The answer is whole: which resource it is about, and whether the server took it.
    pub(crate) fn handle_end(&mut self, call: Call) -> Option<(Uri, bool)> {
        let place = self.asked.iter().position(|asked| asked.call == call)?;
        let Asked { uri, reply, .. } = self.asked.swap_remove(place);
        let is_taken = reply.status().is_some_and(is_success)
            && !reply.is_too_large()
            && session::is_taken(reply.body());
        Some((uri, is_taken))
    }

    /// The answer to a request on a channel came: which resource it is about.
    pub(crate) fn handle_line(&mut self, id: &RequestId) -> Option<Uri> {
        let place = self.asked.iter().position(|asked| asked.id == *id)?;
        Some(self.asked.swap_remove(place).uri)
    }

    /// Whether all are answered for.
    pub(crate) fn is_done(&self) -> bool {
        self.asked.is_empty() && self.waiting.is_empty()
    }

    fn find(&mut self, call: Call) -> Option<&mut Asked> {
        self.asked.iter_mut().find(|asked| asked.call == call)
    }
}

/// A browser has six connections to a server, of which the stream takes one.
const AT_ONCE: usize = 4;
