use alloc::{string::String, vec::Vec};

use crate::{
    clock::Millis,
    vocabulary::topic::{Delta, Index, Topic},
    wire::Follow,
};

use super::{BusCall, Upstream};

/// What is to be done about the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpstreamCall {
    /// Give up the connection that there is.
    Leave,
    /// Make a new connection, and send this on it first.
    Attach(String),
    /// Send this on the connection that there is.
    Send(String),
}

impl Upstream {
    /// What is to be done about the bus, or `None` until something is handled again.
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
        let is_idle = !self.wants.is_asking() && self.follower.is_certain();
        if !is_idle || !self.wants.is_changed() {
            return None;
        }
        Some(self.follow_more(now))
    }

    /// The connection that there was is none any more.
    pub(super) fn part(&mut self) {
        self.is_connected = false;
        self.change = None;
        self.wants.forget();
    }

    /// The bus has confirmed what it was asked for last.
    pub(super) fn confirm<Id: Copy + Ord>(&mut self, wanted: &Index<Id>) {
        self.change = None;
        self.wants.finish(|topic| wanted.contains(topic));
    }

    /// Nobody knows whether the bus has heard of what was asked for last.
    pub(super) fn undo<Id: Copy + Ord>(&mut self, wanted: &Index<Id>) {
        self.change = None;
        self.wants.undo(|topic| wanted.contains(topic));
    }

    /// The bus has refused what was asked for last. Returns what that would have added.
    pub(super) fn refuse<Id: Copy + Ord>(&mut self, wanted: &Index<Id>) -> Vec<Topic> {
        self.change = None;
        self.wants.refuse(|topic| wanted.contains(topic))
    }

    /// Whether the answer to the follow of this number is awaited, which said only what changes.
    pub(super) fn awaits(&self, seq: u64) -> bool {
        self.change.is_some_and(|(number, _)| number == seq)
    }

    /// How long the answer to that may take.
    pub(super) fn waits_until(&self) -> Option<Millis> {
        self.change.map(|(_, until)| until)
    }

    fn called<Id: Copy + Ord>(&mut self, call: BusCall, wanted: &Index<Id>) -> UpstreamCall {
        if call == BusCall::Leave {
            self.part();
            return UpstreamCall::Leave;
        }
        self.is_connected = true;
        let text = self.attach_message(wanted);
        match call {
            BusCall::Ask => UpstreamCall::Send(text),
            BusCall::Attach | BusCall::Leave => UpstreamCall::Attach(text),
        }
    }

    /// An attach says everything that is wanted: what the bus was told before does not matter.
    fn attach_message<Id: Copy + Ord>(&mut self, wanted: &Index<Id>) -> String {
        let topics: Vec<Topic> = match &self.claim {
            Some(claim) => claim.asked.topics(),
            None => wanted.topics().cloned().collect(),
        };
        self.change = None;
        self.wants.forget();
        self.want(&topics);
        self.wants.begin();
        let mut follow = self.follower.follow(topics);
        let session = self.claim.as_ref().map(|claim| claim.session.clone());
        follow.joined.extend(session);
        follow.to_json()
    }

    /// Says only what changes.
    fn follow_more(&mut self, now: Millis) -> UpstreamCall {
        let Delta { add, drop } = self.wants.begin();
        let follow = Follow {
            seq: self.follower.next_seq(),
            add,
            drop,
            ..Follow::default()
        };
        self.change = Some((follow.seq, now + self.patience.attach));
        UpstreamCall::Send(follow.to_json())
    }

    /// Where nothing is wanted there is nothing to follow, and nothing that could be missed.
    fn leave(&mut self) -> Option<UpstreamCall> {
        if !self.is_connected {
            return None;
        }
        self.part();
        Some(UpstreamCall::Leave)
    }
}
