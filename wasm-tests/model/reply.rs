use crate::network::{Close, Frame, SocketId};

/// How a bus that is unavailable replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Refused,
    Overloaded,
    Silent,
}

/// What the bus hands to the network.
#[derive(Clone, Debug)]
pub(crate) enum Out {
    Frame(SocketId, Frame),
    Close(SocketId, Close),
}

/// Where a reset interrupts a publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    BeforeLog,
    /// After this many frames.
    After(usize),
    Never,
}

/// Returns a frame that names no previous position.
pub(crate) fn without_previous(text: String) -> String {
    let Some(from) = text.find(",\"previous\":") else {
        return text;
    };
    let rest = text[from + 1..]
        .find(',')
        .map_or("", |to| &text[from + 1 + to..]);
    format!("{}{rest}", &text[..from])
}
