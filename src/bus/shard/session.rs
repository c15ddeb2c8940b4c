use crate::bus::{
    edges::Attached, index::EdgeId, key::Key, protocol::BusMessage, shard_protocol::Watched,
};

use super::{Parting, Shard, ShardOutput, Watch};

impl Shard {
    pub(super) fn take_over(&mut self, session: &str, edge: EdgeId) {
        let former = self.sessions.insert(session.into(), edge);
        if let Some(former) = former.filter(|former| *former != edge) {
            self.close(former, Parting::Over);
        }
        self.left.retain(|left| **left != *session);
    }

    pub(super) fn leave_session(&mut self, edge: EdgeId) {
        let mut sessions = self.sessions.iter();
        let session = sessions.find(|(_, holder)| **holder == edge);
        if let Some(session) = session.map(|(session, _)| session.clone()) {
            self.sessions.remove(&session);
            self.left.push(session);
        }
    }

    pub(super) fn answer_watches(&mut self, seq: u64, watches: &[Watched]) {
        let answered = self.watches.extract_if(.., |watch| watch.call == Some(seq));
        let answered: Vec<Watch> = answered.collect();
        for Watch {
            ticket, session, ..
        } in answered
        {
            if let Some(edge) = self.sessions.get(&session).copied()
                && !self.waiting.contains_key(&edge)
                && !self.watch(edge, &session, watches)
            {
                self.close(edge, Parting::Over);
            }
            self.outputs.push_back(ShardOutput::Done(ticket));
        }
    }

    /// The stream of a session follows what the session watches; `false` where the session is over.
    pub(super) fn watch(&mut self, edge: EdgeId, session: &str, watches: &[Watched]) -> bool {
        let found = watches.iter().find(|found| *found.session == *session);
        let Some(Watched { uris, is_held, .. }) = found else {
            return false;
        };
        for uri in uris {
            self.wants.confirm(Key::Resource(uri.clone()));
        }
        let Some(former) = self.edges.leave(edge) else {
            return true;
        };
        let interest = former.interest.with_uris(uris.clone());
        self.edges.enter(
            edge,
            Attached {
                interest: interest.clone(),
                ..former
            },
        );
        self.release(&former.interest);
        let frame = BusMessage::Interest {
            interest: interest.clone(),
            is_held: *is_held,
        };
        self.outputs.push_back(ShardOutput::Keep(edge, interest));
        self.send(edge, frame.to_json());
        true
    }
}
