use crate::{
    bus::{edges::EdgeId, protocol::BusMessage, shard_protocol::Watched},
    topic::Topic,
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

    pub(super) fn answer_watches(&mut self, seq: u64, watches: &[Watched]) {
        let all = std::mem::take(&mut self.watches).into_iter();
        let (answered, left) = all.partition(|watch: &Watch| watch.call == Some(seq));
        self.watches = left;
        let answered: Vec<Watch> = answered;
        for Watch {
            ticket, session, ..
        } in answered
        {
            if let Some(edge) = self.holder(&session)
                && !self.is_waiting(edge)
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
            self.wants.confirm(Topic::Resource(uri.clone()));
        }
        let Some(delta) = self.edges.watch(edge, uris) else {
            return true;
        };
        self.release(delta.dropped);
        let attached = self.edges.get(edge);
        let Some(interest) = attached.map(|attached| attached.interest().with_uris(uris.clone()))
        else {
            return true;
        };
        let frame = BusMessage::Interest {
            interest: interest.clone(),
            is_held: *is_held,
        };
        self.outputs.push_back(ShardOutput::Keep(edge, interest));
        self.send(edge, frame.to_json());
        true
    }
}
