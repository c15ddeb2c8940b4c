use mcp_listen::wire::{BusMessage, FollowResponse, Followed};

use crate::{
    bus::Bus,
    invariant::{Violation, ensure},
    key::{Key, number_of},
};

impl Bus {
    /// Whether a reply names a position from which the log holds everything.
    pub(crate) fn check_reply(&self, text: &str) -> Result<(), Violation> {
        let Ok(FollowResponse::Followed(Followed { missed, .. })) = FollowResponse::from_json(text)
        else {
            return Ok(());
        };
        let floor = self.disk().floor();
        let is_held = missed.is_none_or(|missed| missed.after >= floor);
        ensure("replayed events are in the log", is_held, || {
            format!("{text} is below the log's floor {floor:?}")
        })
    }

    /// Whether a batch contains exactly events of the log.
    pub(crate) fn check_replayed(&self, text: &str) -> Result<(), Violation> {
        let Ok(BusMessage::Batch(batch)) = BusMessage::from_json(text) else {
            return Err(unlogged(text));
        };
        for (position, event) in &batch.events {
            let logged = self.disk().log.published(*position);
            let is_logged = logged.is_some_and(|(key, number)| {
                key == Key::of(event) && number_of(event).is_none_or(|written| written == number)
            });
            ensure("only logged events are replayed", is_logged, || {
                text.to_owned()
            })?;
        }
        Ok(())
    }
}

pub(crate) fn unlogged(what: &str) -> Violation {
    Violation::new("only logged events are replayed", what.to_owned())
}
