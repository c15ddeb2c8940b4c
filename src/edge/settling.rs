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
