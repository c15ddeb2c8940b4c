use mcp_listen::{
    bus::{EdgeId, Position},
    clock::Millis,
};

use crate::{
    bus::Bus,
    invariant::{Violation, hold},
    network::{Note, SocketId},
    shard::position_in,
    slip::{self, Slip},
};

impl Bus {
    /// Reads the log for an edge, from what it has heard on.
    pub(crate) fn replay(
        &mut self,
        socket: SocketId,
        edge: EdgeId,
        after: Option<Position>,
        now: Millis,
    ) -> Result<(), Violation> {
        let Some(after) = after else { return Ok(()) };
        hold(
            "what is replayed is still there",
            after >= self.disk().floor(),
            || {
                format!(
                    "{after:?} is below the log's floor {:?}",
                    self.disk().floor()
                )
            },
        )?;
        let from = if slip::has(Slip::ReplaysTooLate) {
            after.next()
        } else {
            after
        };
        let entries: Vec<_> = self.disk().after(from).copied().collect();
        let Some(memory) = self.memory() else {
            return Ok(());
        };
        let Some(mut replay) = memory.core.replay(edge) else {
            return Ok(());
        };
        for entry in &entries {
            replay.push(entry.position, &entry.key.event(entry.number));
        }
        for text in memory.core.finish_replay(edge, replay) {
            let position = position_in(&text);
            let entry = entries
                .iter()
                .find(|entry| Some(entry.position) == position);
            let entry = entry
                .ok_or_else(|| Violation::new("only what was logged is replayed", text.clone()))?;
            let (key, number) = (entry.key, entry.number);
            self.send(socket, text, Note::Event { key, number }, now);
        }
        Ok(())
    }
}
