use alloc::{string::String, vec::Vec};

use crate::{
    clock::Millis,
    vocabulary::topic::{Delta, Index, Topic},
    wire::Follow,
};

use super::{BusCall, Upstream};

/// A call to the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpstreamCall {
    /// Close the current connection.
    Leave,
    /// Open a new connection, and send this on it first.
    Attach(String),
    /// Send this on the current connection.
    Send(String),
}

impl Upstream {
    /// Returns the next call to the bus, or `None` until something is handled again.
    pub(crate) fn poll_call<Id: Copy + Ord>(
        &mut self,
        now: Millis,
        wanted: &Index<Id>,
    ) -> Option<UpstreamCall> {
        if self.is_idle(wanted) {
            return self.leave();
        }
        if let Some(call) = self.follower.poll_call(now) {
            return Some(self.called(call, wanted));
        }
        let is_idle = !self.interest.is_asking() && self.follower.is_certain();
        if !is_idle || !self.interest.is_changed() {
            return None;
        }
        Some(self.follow_more(now))
    }

    /// Handles the end of the current connection.
    pub(super) fn handle_disconnected(&mut self) {
        self.is_connected = false;
        self.change = None;
        self.interest.forget();
    }

    /// Handles the confirmation of the last follow.
    pub(super) fn confirm<Id: Copy + Ord>(&mut self, wanted: &Index<Id>) {
        self.change = None;
        self.interest.finish(|topic| wanted.contains(topic));
    }

    /// Handles a follow without a reply: whether the bus received it is unknown.
    pub(super) fn undo<Id: Copy + Ord>(&mut self, wanted: &Index<Id>) {
        self.change = None;
        self.interest.undo(|topic| wanted.contains(topic));
    }

    /// Handles the refusal of the last follow. Returns the topics that it would have added: they
    /// are not requested again, because the streams that want them leave.
    pub(super) fn refuse<Id: Copy + Ord>(&mut self, wanted: &Index<Id>) -> Vec<Topic> {
        self.change = None;
        let refused = self.interest.refuse(|topic| wanted.contains(topic));
        for topic in &refused {
            self.interest.withdraw(topic);
        }
        refused
    }

    /// Whether the follow of this number, which states only changes, waits for its reply.
    pub(super) fn awaits(&self, seq: u64) -> bool {
        self.change.is_some_and(|(number, _)| number == seq)
    }

    /// Returns when that reply is overdue.
    pub(super) fn waits_until(&self) -> Option<Millis> {
        self.change.map(|(_, until)| until)
    }

    fn called<Id: Copy + Ord>(&mut self, call: BusCall, wanted: &Index<Id>) -> UpstreamCall {
        if call == BusCall::Leave {
            self.handle_disconnected();
            return UpstreamCall::Leave;
        }
        self.is_connected = true;
        let text = self.attach_message(wanted);
        match call {
            BusCall::Ask => UpstreamCall::Send(text),
            BusCall::Attach | BusCall::Leave => UpstreamCall::Attach(text),
        }
    }

    /// Returns an attach, which states all topics regardless of what the bus received before.
    fn attach_message<Id: Copy + Ord>(&mut self, wanted: &Index<Id>) -> String {
        let topics: Vec<Topic> = match &self.joined {
            Some(joined) => joined.asked.topics(),
            None => wanted.topics().cloned().collect(),
        };
        self.change = None;
        self.interest.forget();
        self.want(&topics);
        self.interest.begin();
        let mut follow = self.follower.follow(topics);
        let session = self.joined.as_ref().map(|joined| joined.session.clone());
        follow.joined.extend(session);
        follow.to_json()
    }

    /// Returns a follow that states only changes.
    fn follow_more(&mut self, now: Millis) -> UpstreamCall {
        let Delta { add, drop } = self.interest.begin();
        let follow = Follow {
            seq: self.follower.next_seq(),
            add,
            drop,
            ..Follow::default()
        };
        self.change = Some((follow.seq, now + self.limits.attach));
        UpstreamCall::Send(follow.to_json())
    }

    /// Closes the connection: without topics there is nothing to follow, and nothing to miss.
    fn leave(&mut self) -> Option<UpstreamCall> {
        if !self.is_connected {
            return None;
        }
        self.handle_disconnected();
        Some(UpstreamCall::Leave)
    }
}
