use alloc::vec::Vec;

use crate::vocabulary::{event::ServerEvent, position::Position, task::TaskId};

use super::link::BusCall;

/// The positions of task states that were delivered beyond the cursor: states before them are
/// older.
#[derive(Debug, Default)]
pub(super) struct EarlyStates(Vec<EarlyState>);

#[derive(Debug)]
struct EarlyState {
    task: TaskId,
    position: Position,
    arrival: Arrival,
}

/// When a state arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    /// After the last ask on the current connection.
    AfterAsk,
    /// Before that.
    BeforeAsk,
    /// On an earlier connection.
    Elsewhere,
}

impl EarlyStates {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Handles a call to the bus.
    pub(super) fn handle_call(&mut self, call: BusCall) {
        for state in &mut self.0 {
            state.arrival = match (call, state.arrival) {
                (BusCall::Attach, _) | (_, Arrival::Elsewhere) => Arrival::Elsewhere,
                (BusCall::Ask, _) => Arrival::BeforeAsk,
                (BusCall::Leave, arrival) => arrival,
            };
        }
    }

    /// Handles the head in the reply to an attach or ask. Before the ask the bus cannot have sent a
    /// state beyond it, so the position of such a state was wrong.
    pub(super) fn handle_head(&mut self, head: Position) {
        self.0
            .retain(|state| state.arrival != Arrival::BeforeAsk || state.position <= head);
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
                |state: &EarlyState| state.task == *task.id() && position < state.position;
            if self.0.iter().any(is_older) {
                return false;
            }
            self.0.retain(|state| state.task != *task.id());
            self.0.push(EarlyState {
                task: task.id().clone(),
                position,
                arrival: Arrival::AfterAsk,
            });
        }
        self.0.retain(|state| Some(state.position) > cursor);
        true
    }
}
