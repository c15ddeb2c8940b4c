use crate::clock::Millis;

/// The room at another object, as it last reported, and whether to ask again.
#[derive(Debug)]
pub(crate) struct ReportedRoom {
    bytes: usize,
    is_due: bool,
    asked: Option<Millis>,
}

impl ReportedRoom {
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            bytes,
            is_due: false,
            asked: None,
        }
    }

    /// Records the reported room; `None`: unlimited.
    pub(crate) fn set(&mut self, bytes: Option<usize>) {
        self.bytes = bytes.unwrap_or(usize::MAX);
    }

    /// Whether there is room for `new` bytes in addition to the `held` ones. The report may be old,
    /// so if there is no room, it is time to ask again.
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

    /// Records that a question was sent.
    pub(crate) fn handle_asked(&mut self) {
        self.is_due = false;
    }
}

/// Milliseconds between two questions.
const SPACING: Millis = Millis(1_000);
