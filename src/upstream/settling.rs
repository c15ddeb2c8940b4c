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

    /// Handles a new connection: what was pending on the previous one will not arrive. The next
    /// reply is the first one again.
    pub(super) fn handle_connecting(&mut self) {
        if *self != Self::Over {
            *self = Self::Asked;
        }
    }

    /// Handles a reply. Returns whether the bus has to be asked once more.
    pub(super) fn handle_response(&mut self, may_replay: bool) -> bool {
        *self = match self {
            Self::Former => Self::Asked,
            Self::Asked if may_replay => Self::Replayed,
            Self::Over | Self::Asked | Self::Replayed => Self::Over,
        };
        *self != Self::Over
    }
}
