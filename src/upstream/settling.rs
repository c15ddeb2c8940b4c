use crate::{clock::Millis, vocabulary::position::Position};

use super::follower::Follower;

/// What the bus still has to answer before everything published earlier has been received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Settling {
    /// Nothing.
    #[default]
    Over,
    /// A question that was sent too early. Another one follows its answer.
    Former,
    /// The question itself.
    Asked,
    /// A second question: its answer comes after what the first answer replays.
    Replayed,
}

impl Settling {
    /// The bus is about to be asked, or still has to answer an earlier question.
    pub(super) fn begun(awaits_former: bool) -> Self {
        if awaits_former {
            Self::Former
        } else {
            Self::Asked
        }
    }

    /// A new connection is made: what was to come on the former one does not. Its answer is the first
    /// one again.
    pub(super) fn handle_connecting(&mut self) {
        if *self != Self::Over {
            *self = Self::Asked;
        }
    }

    /// The bus has answered. Returns whether it has to be asked once more.
    pub(super) fn handle_answer(&mut self, may_replay: bool) -> bool {
        *self = match self {
            Self::Former => Self::Asked,
            Self::Asked if may_replay => Self::Replayed,
            Self::Over | Self::Asked | Self::Replayed => Self::Over,
        };
        *self != Self::Over
    }
}

/// How a host learns that nothing published so far is missing.
impl Follower {
    /// Asks the bus for everything that was published before this call: see
    /// [`Follower::is_settled`]. A bus without an epoch has nothing to be asked for.
    pub fn settle(&mut self, now: Millis) {
        if self.may_verify() {
            self.settling = Settling::begun(self.link.awaits());
            self.link.handle_wish(now);
        }
    }

    /// Whether everything that was published before [`Follower::settle`] has been received.
    pub fn is_settled(&self) -> bool {
        self.settling == Settling::Over && self.is_certain()
    }

    /// What an answer replays stands at or before the head of the log that it names.
    pub(super) fn handle_head(&mut self, head: Position, now: Millis) {
        let reached = self.mark.as_ref().map(|mark| mark.position);
        if self.settling.handle_answer(Some(head) > reached) {
            self.link.handle_wish(now);
        }
    }
}
