use std::collections::BTreeMap;

use crate::{event::ServerEvent, position::Position};

use super::protocol::{BusMessage, Interest};

/// What one edge missed, read from the log and collapsed: the last event of each subject, in
/// the order of their positions.
#[derive(Debug)]
pub struct Replay {
    interest: Interest,
    last: BTreeMap<String, (Position, ServerEvent)>,
}

impl Replay {
    /// Begins a replay for an edge that wants this.
    pub fn new(interest: Interest) -> Self {
        Self {
            interest,
            last: BTreeMap::new(),
        }
    }

    /// The next event of the log.
    pub fn push(&mut self, position: Position, event: &ServerEvent) {
        if self.interest.accepts(event) {
            self.last.insert(subject(event), (position, event.clone()));
        }
    }

    /// The frames to send.
    pub fn frames(self) -> Vec<String> {
        let mut missed: Vec<_> = self.last.into_values().collect();
        missed.sort_by_key(|(position, _)| *position);
        missed
            .into_iter()
            .map(|(position, event)| BusMessage::Event { position, event }.to_json())
            .collect()
    }
}

/// Of a task only the latest state counts, whatever it says.
fn subject(event: &ServerEvent) -> String {
    match event {
        ServerEvent::TaskStatus { task } => format!("task {}", &**task.id()),
        _ => event.to_json(),
    }
}
