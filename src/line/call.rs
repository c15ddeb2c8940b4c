use crate::{
    bus::{Adjust, Attach, EdgeMessage, Interest, Wants},
    clock::Millis,
    edge::{BusCall, Follower},
    filter::SubscriptionFilter,
    seeded::{self, Bug},
    topic::Topic,
};

use super::{Flight, Line, LineCall};

impl Line {
    /// What is to be done about the bus, or `None` until something is handled again.
    pub fn poll_call(&mut self, now: Millis) -> Option<LineCall> {
        if self.edges.is_empty() {
            return self.leave();
        }
        if let Some(call) = self.follower.poll_call(now) {
            return Some(self.called(call));
        }
        let is_idle = self.flight.is_none() && self.follower.is_certain();
        if !is_idle || !(self.wants.is_changed() || self.room.is_due()) {
            return None;
        }
        if self.can_adjust {
            return Some(self.adjust(now));
        }
        self.room.handle_asked();
        // A bus that offers no adjustments is told all anew.
        self.follower.handle_wish(now);
        let call = self.follower.poll_call(now)?;
        Some(self.called(call))
    }

    /// The connection that there was is none any more.
    pub(super) fn part(&mut self) {
        self.is_connected = false;
        self.flight = None;
    }

    /// The bus has confirmed what it was asked for last.
    pub(super) fn confirm(&mut self) {
        if let Some(flight) = self.flight.take() {
            let edges = &self.edges;
            self.wants
                .finish(flight.turn, |topic: &Topic| edges.is_wanted(topic));
        }
    }

    /// Nobody knows whether the bus has heard of the last adjustment.
    pub(super) fn undo(&mut self) {
        if let Some(flight) = self.flight.take() {
            let edges = &self.edges;
            self.wants
                .undo(flight.turn, |topic: &Topic| edges.is_wanted(topic));
        }
    }

    /// How long the adjustment that is on its way may stay unanswered.
    pub(super) fn adjusts_until(&self) -> Option<Millis> {
        let (_, until) = self.flight.as_ref()?.adjust?;
        Some(until)
    }

    fn called(&mut self, call: BusCall) -> LineCall {
        if call == BusCall::Leave {
            self.part();
            return LineCall::Leave;
        }
        self.is_connected = true;
        let text = self.attach_message();
        match call {
            BusCall::Ask => LineCall::Send(text),
            BusCall::Attach | BusCall::Leave => LineCall::Attach(text),
        }
    }

    /// An attach says everything that is wanted: what the bus was told before does not matter.
    fn attach_message(&mut self) -> String {
        let interest = self.edges.interest();
        let interest = self.seeded_interest(interest);
        self.wants = Wants::default();
        for topic in interest.topics().iter() {
            self.wants.want(topic.followed());
        }
        self.flight = Some(Flight {
            turn: self.wants.begin(),
            adjust: None,
        });
        EdgeMessage::Attach(Attach {
            since: self
                .follower
                .since()
                .filter(|_| !seeded::has(Bug::HandsOverWithoutSince))
                .cloned(),
            ..Attach::new(interest)
        })
        .to_json()
    }

    /// What it says that its streams want: all of it, but for a bug that is planted.
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

    fn adjust(&mut self, now: Millis) -> LineCall {
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
            self.confirm();
            self.serve_waiting();
        }
        LineCall::Send(EdgeMessage::Adjust(adjust).to_json())
    }

    /// Without streams there is nothing to follow, and nothing that could be missed.
    fn leave(&mut self) -> Option<LineCall> {
        if !self.is_connected {
            return None;
        }
        self.part();
        Some(LineCall::Leave)
    }

    /// The first stream has no past.
    pub(super) fn begin(&mut self) {
        self.former = self.counts();
        self.follower = Follower::unattached();
        self.follower.set_patience(self.patience);
    }
}
