use crate::{clock::Millis, vocabulary::position::Position};

use super::follower::Follower;

/// The replies of the bus that are still needed until everything published earlier was received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Settling {
    /// None.
    #[default]
    Over,
    /// A reply to a question that was sent too early. Another question follows it.
    Former,
    /// The reply to the question itself.
    Asked,
    /// The reply to a second question, which comes after what the first reply replays.
    Replayed,
}

impl Settling {
    /// Starts: the bus is about to be asked, or has not replied to an earlier question.
    pub(super) fn begun(awaits_former: bool) -> Self {
        if awaits_former {
            Self::Former
        } else {
            Self::Asked
        }
    }

    /// Handles a new connection: what was pending on the former one will not arrive. The next reply
    /// is the first one again.
    pub(super) fn handle_connecting(&mut self) {
        if *self != Self::Over {
            *self = Self::Asked;
        }
    }

    /// Handles a reply. Returns whether the bus has to be asked once more.
    pub(super) fn handle_answer(&mut self, may_replay: bool) -> bool {
        *self = match self {
            Self::Former => Self::Asked,
            Self::Asked if may_replay => Self::Replayed,
            Self::Over | Self::Asked | Self::Replayed => Self::Over,
        };
        *self != Self::Over
    }
}

/// Lets a host wait until every event published so far was received.
impl Follower {
    /// Requests from the bus everything published before this call: see [`Follower::is_settled`]. A
    /// bus without an epoch cannot be asked.
    pub fn settle(&mut self, now: Millis) {
        if self.may_verify() {
            self.settling = Settling::begun(self.link.awaits());
            self.link.retry_now(now);
        }
    }

    /// Whether everything published before [`Follower::settle`] was received.
    pub fn is_settled(&self) -> bool {
        self.settling == Settling::Over && self.is_certain()
    }

    /// Handles the head of the log in a reply: what the reply replays is at or before it.
    pub(super) fn handle_head(&mut self, head: Position, now: Millis) {
        let reached = self.cursor.as_ref().map(|cursor| cursor.position);
        if self.settling.handle_answer(Some(head) > reached) {
            self.link.retry_now(now);
        }
    }
}
