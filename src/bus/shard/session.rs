use alloc::{boxed::Box, vec::Vec};

use crate::{
    bus::registry::EdgeId,
    vocabulary::topic::Topic,
    wire::{BusMessage, Watched},
};

use super::{Parting, Shard, ShardOutput, Watch};

impl Shard {
    /// The edge that holds the stream of a session.
    pub(super) fn holder(&self, session: &str) -> Option<EdgeId> {
        let mut sessions = self.sessions.iter();
        let held = sessions.find(|(held, _)| **held == *session);
        held.map(|(_, edge)| *edge)
    }

    pub(super) fn take_over(&mut self, session: &str, edge: EdgeId) {
        let former = self.holder(session);
        self.sessions.retain(|(held, _)| **held != *session);
        self.sessions.push((session.into(), edge));
        if let Some(former) = former.filter(|former| *former != edge) {
            self.close(former, Parting::Over);
        }
        self.left.retain(|left| **left != *session);
    }

    pub(super) fn leave_session(&mut self, edge: EdgeId) {
        let mut sessions = self.sessions.iter();
        if let Some(place) = sessions.position(|(_, holder)| *holder == edge) {
            let (session, _) = self.sessions.swap_remove(place);
            self.left.push(session);
        }
    }

    /// The stream of a session is not here: the root is told so, unless it is being told.
    pub(super) fn leave_out(&mut self, session: Box<str>) {
        let told = self.flight.iter().flat_map(|flight| &flight.left);
        if !self.left.iter().chain(told).any(|left| *left == session) {
            self.left.push(session);
        }
    }

    pub(super) fn answer_watches(&mut self, seq: u64, joined: &[Watched]) {
        let all = core::mem::take(&mut self.watches).into_iter();
        let (answered, left) = all.partition(|watch: &Watch| watch.call == Some(seq));
        self.watches = left;
        let answered: Vec<Watch> = answered;
        for Watch {
            ticket, session, ..
        } in answered
        {
            let holder = self.holder(&session);
            if let Some(edge) = holder.filter(|edge| !self.edges.is_waiting(*edge)) {
                let mut joined = joined.iter();
                match joined.find(|watched| watched.session == session) {
                    Some(watched) => {
                        self.watch(edge, watched);
                        let frame = BusMessage::watched(&watched.uris, watched.is_held);
                        self.send(edge, frame);
                    }
                    None => self.close(edge, Parting::Over),
                }
            }
            self.outputs.push_back(ShardOutput::Done(ticket));
        }
    }

    /// The stream of a session follows what the session watches.
    pub(super) fn watch(&mut self, edge: EdgeId, watched: &Watched) {
        for uri in &watched.uris {
            // An event of it may have come before the shard knew that it is wanted here.
            self.wants.want(Topic::Resource(uri.clone()));
            self.wants.confirm(Topic::Resource(uri.clone()));
        }
        if let Some(delta) = self.edges.watch(edge, &watched.uris) {
            self.release(delta.drop);
            self.outputs.push_back(ShardOutput::Keep(edge));
        }
    }
}
