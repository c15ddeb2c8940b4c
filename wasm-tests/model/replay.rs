use mcp_listen::{
    bus::{EdgeId, FollowReply},
    wire::BusMessage,
};

use crate::{
    bus::Bus,
    disk::Entry,
    harness_bug::{self, HarnessBug},
    invariant::{Violation, ensure},
    key::{Key, number_of},
};

impl Bus {
    /// Reads the log for an edge, from its position on.
    pub(crate) fn replay(
        &mut self,
        edge: EdgeId,
        reply: &mut FollowReply,
    ) -> Result<(), Violation> {
        let Some(after) = reply.replay_after() else {
            return Ok(());
        };
        let floor = self.disk().floor();
        ensure("replayed events are in the log", after >= floor, || {
            format!("{after:?} is below the log's floor {floor:?}")
        })?;
        let from = if harness_bug::has(HarnessBug::ReplaysTooLate) {
            after.next()
        } else {
            after
        };
        let entries: Vec<Entry> = self.disk().after(floor).copied().collect();
        let Some(memory) = self.memory() else {
            return Ok(());
        };
        if !memory.core.is_log_indexed() {
            for entry in &entries {
                let event = entry.key.event(entry.number);
                memory.core.index_event(entry.position, &event);
            }
        }
        for position in memory.core.missed(edge, from) {
            let entry = entries.iter().find(|entry| entry.position == position);
            let entry = entry.ok_or_else(|| unlogged(&format!("{position:?}")))?;
            reply.push_event(&memory.core, position, &entry.key.event(entry.number));
        }
        Ok(())
    }

    /// Whether a batch contains exactly events of the log.
    pub(crate) fn check_replayed(&self, text: &str) -> Result<(), Violation> {
        let Ok(BusMessage::Batch(batch)) = BusMessage::from_json(text) else {
            return Err(unlogged(text));
        };
        for (position, event) in &batch.events {
            let logged = self.disk().published(*position);
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

fn unlogged(what: &str) -> Violation {
    Violation::new("only logged events are replayed", what.to_owned())
}
