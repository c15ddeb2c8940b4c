use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

use crate::{
    clock::Millis,
    vocabulary::position::{Cursor, Position},
};

use super::super::schedule::{MAX_ATTEMPTS, next_attempt_at};

/// The message that occurrences were not delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Gap {
    epoch: Box<str>,
    /// Some occurrences after this position are not delivered.
    position: Position,
    #[serde(default, skip_serializing_if = "super::is_zero")]
    attempts: u32,
    /// When the gap was noticed, which is different for each gap of a subscription.
    at: Millis,
    due: Millis,
    #[serde(skip)]
    in_flight: bool,
}

impl Gap {
    /// Creates the message for a gap after `cursor`. It replaces that of a previous gap.
    pub(super) fn new(cursor: Cursor, former: Option<Self>, now: Millis) -> Self {
        let after = |former: &Self| now.max(former.at + Millis(1));
        let at = former.as_ref().map_or(now, after);
        let former = former.filter(|former| former.epoch == cursor.epoch);
        let position = former.map_or(cursor.position, |former| {
            former.position.min(cursor.position)
        });
        Self {
            epoch: cursor.epoch,
            position,
            attempts: 0,
            at,
            due: now,
            in_flight: false,
        }
    }

    pub(in super::super) fn at(&self) -> Millis {
        self.at
    }

    /// Returns the position after which occurrences are missing.
    pub(in super::super) fn cursor(&self) -> Cursor {
        Cursor {
            epoch: self.epoch.clone(),
            position: self.position,
        }
    }

    /// Returns when it is to be sent, unless it is being sent.
    pub(super) fn due(&self) -> Option<Millis> {
        (!self.in_flight).then_some(self.due)
    }

    pub(super) fn start(&mut self) {
        self.in_flight = true;
    }

    /// Handles that it is no longer being sent.
    pub(super) fn stop(&mut self) {
        self.in_flight = false;
    }

    /// Handles that it could not be delivered. Returns whether it is sent again.
    pub(super) fn fail(&mut self, now: Millis, random: f64) -> bool {
        self.stop();
        self.attempts += 1;
        self.due = next_attempt_at(self.attempts, self.at, None, now, random);
        self.attempts < MAX_ATTEMPTS
    }
}
