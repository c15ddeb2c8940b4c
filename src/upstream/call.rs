use crate::{
    bus::{Adjust, Attach, EdgeMessage, Interest, Wants},
    clock::Millis,
    filter::SubscriptionFilter,
    seeded::{self, Bug},
    topic::{Index, Topic},
};

use super::{BusCall, Flight, Upstream};

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
        let is_idle = self.flight.is_none() && self.follower.is_certain();
        if !is_idle || !(self.wants.is_changed() || self.room.is_due()) {
            return None;
        }
        if self.can_adjust {
            return Some(self.adjust(now, wanted));
        }
        self.room.handle_asked();
        // A bus that offers no adjustments is told all anew.
        self.follower.handle_wish(now);
        let call = self.follower.poll_call(now)?;
        Some(self.called(call, wanted))
    }

    /// The connection that there was is none any more.
    pub(super) fn part(&mut self) {
        self.is_connected = false;
        self.flight = None;
    }

    /// The bus has confirmed what it was asked for last.
    pub(super) fn confirm<Id: Copy + Ord>(&mut self, wanted: &Index<Id>) {
        if let Some(flight) = self.flight.take() {
            self.wants
                .finish(flight.turn, |topic| wanted.contains(topic));
        }
    }

    /// Nobody knows whether the bus has heard of the last adjustment.
    pub(super) fn undo<Id: Copy + Ord>(&mut self, wanted: &Index<Id>) {
        if let Some(flight) = self.flight.take() {
            self.wants.undo(flight.turn, |topic| wanted.contains(topic));
        }
    }

    /// The bus has refused the last adjustment. Returns what that would have added.
    pub(super) fn refuse<Id: Copy + Ord>(&mut self, wanted: &Index<Id>) -> Vec<Topic> {
        let Some(flight) = self.flight.take() else {
            return Vec::new();
        };
        let refused = flight.turn.add.clone();
        self.wants
            .refuse(flight.turn, |topic| wanted.contains(topic));
        refused
    }

    /// Whether the answer to the adjustment of this number is awaited.
    pub(super) fn awaits(&self, seq: u64) -> bool {
        let adjust = self.flight.as_ref().and_then(|flight| flight.adjust);
        adjust.is_some_and(|(number, _)| number == seq)
    }

    /// How long the adjustment that is on its way may stay unanswered.
    pub(super) fn adjusts_until(&self) -> Option<Millis> {
        let (_, until) = self.flight.as_ref()?.adjust?;
        Some(until)
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
        let (interest, session) = match &self.claim {
            Some(claim) => (
                Interest::Filter(claim.asked.clone()),
                Some(claim.session.clone()),
            ),
            None => (Interest::of(wanted.topics().cloned().collect()), None),
        };
        let interest = self.seeded_interest(interest);
        self.wants = Wants::default();
        self.want(interest.topics().iter());
        self.flight = Some(Flight {
            turn: self.wants.begin(),
            adjust: None,
        });
        EdgeMessage::Attach(Attach {
            session,
            since: self
                .follower
                .since()
                .filter(|_| !seeded::has(Bug::HandsOverWithoutSince))
                .cloned(),
            ..Attach::new(interest)
        })
        .to_json()
    }

    /// What it says is wanted: all of it, but for a bug that is planted.
    fn seeded_interest(&self, interest: Interest) -> Interest {
        match interest {
            Interest::Filter(filter)
                if seeded::has(Bug::AttachesWithoutNames) && self.follower.since().is_some() =>
            {
                Interest::Filter(SubscriptionFilter {
                    resource_subscriptions: Vec::new(),
                    ..filter
                })
            }
            interest => interest,
        }
    }

    fn adjust<Id: Copy + Ord>(&mut self, now: Millis, wanted: &Index<Id>) -> UpstreamCall {
        self.seq += 1;
        self.room.handle_asked();
        let turn = self.wants.begin();
        let adjust = Adjust {
            seq: self.seq,
            add: turn.add.clone().into(),
            drop: turn.drop.clone().into(),
        };
        self.flight = Some(Flight {
            turn,
            adjust: Some((self.seq, now + self.patience.attach)),
        });
        if seeded::has(Bug::AdjustsTooSoon) {
            self.confirm(wanted);
        }
        UpstreamCall::Send(EdgeMessage::Adjust(adjust).to_json())
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
