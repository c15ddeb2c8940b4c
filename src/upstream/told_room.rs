use crate::clock::Millis;

/// What is known of the room at another object: as it told last, and whether to ask again.
#[derive(Debug)]
pub(crate) struct ToldRoom {
    bytes: usize,
    is_due: bool,
    asked: Option<Millis>,
}

impl ToldRoom {
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            bytes,
            is_due: false,
            asked: None,
        }
    }

    /// The other object has told; `None`: there are no bounds.
    pub(crate) fn tell(&mut self, bytes: Option<usize>) {
        self.bytes = bytes.unwrap_or(usize::MAX);
    }

    /// Bytes that the names may count, as far as is known.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether there is room for `new` bytes beside those that are `held`. What was told may be long ago: where there
    /// is none, it is time to ask again.
    pub(crate) fn admits(&mut self, held: usize, new: usize, now: Millis) -> bool {
        let is_admitted = new == 0 || held + new <= self.bytes;
        if !is_admitted && self.asked.is_none_or(|asked| asked + SPACING <= now) {
            self.asked = Some(now);
            self.is_due = true;
        }
        is_admitted
    }

    /// Whether it is time to ask.
    pub(crate) fn is_due(&self) -> bool {
        self.is_due
    }

    /// A question is on its way.
    pub(crate) fn handle_asked(&mut self) {
        self.is_due = false;
    }
}

/// From one question to the next.
const SPACING: Millis = Millis(1_000);
