use alloc::vec::Vec;

use crate::vocabulary::{event::ServerEvent, position::Position, task::TaskId};

/// The positions of task states that were delivered beyond the cursor: states before them are
/// older.
#[derive(Debug, Default)]
pub(super) struct EarlyStates(Vec<(TaskId, Position)>);

impl EarlyStates {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether no later state of the event's task was delivered; `cursor` is the position up to
    /// which every event was received. An overtaken frame may arrive after the reply of the bus,
    /// as if it were part of that reply.
    pub(super) fn is_latest(
        &mut self,
        event: &ServerEvent,
        position: Position,
        cursor: Option<Position>,
    ) -> bool {
        if let ServerEvent::TaskStatus { task } = event.change() {
            let is_older =
                |(id, delivered): &(TaskId, Position)| id == task.id() && position < *delivered;
            if self.0.iter().any(is_older) {
                return false;
            }
            self.0.retain(|(id, _)| id != task.id());
            self.0.push((task.id().clone(), position));
        }
        self.0.retain(|(_, delivered)| Some(*delivered) > cursor);
        true
    }
}
