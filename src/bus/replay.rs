use std::collections::BTreeMap;

use crate::{
    event::ServerEvent,
    position::Position,
    seeded::{self, Bug},
    task::TaskId,
    uri::Uri,
};

use super::protocol::{Interest, event_frame};

/// What one edge missed, read from the log and collapsed: the last event of each subject, in
/// the order of their positions.
#[derive(Debug)]
pub struct Replay {
    interest: Interest,
    after: Position,
    last: BTreeMap<Subject, (Position, ServerEvent)>,
}

/// What an event is about: of a task only the latest state counts, whatever it says.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Tools,
    Prompts,
    Resources,
    Resource(Uri),
    Task(TaskId),
}

impl Replay {
    /// Begins a replay for an edge that wants this and has heard everything up to `after`.
    pub fn new(interest: Interest, after: Position) -> Self {
        Self {
            interest,
            after,
            last: BTreeMap::new(),
        }
    }

    /// The next event of the log.
    pub fn push(&mut self, position: Position, event: &ServerEvent) {
        if self.interest.accepts(event) {
            if seeded::has(Bug::ReplaysTheFirst) && self.last.contains_key(&subject(event)) {
                return;
            }
            self.last.insert(subject(event), (position, event.clone()));
        }
    }

    /// The frames to send, and the position that the edge has then heard.
    pub fn frames(self) -> (Vec<String>, Position) {
        let mut missed: Vec<_> = self.last.into_values().collect();
        missed.sort_by_key(|(position, _)| *position);
        let mut heard = self.after;
        let frames = missed.into_iter().map(|(position, event)| {
            let previous = std::mem::replace(&mut heard, position);
            event_frame(position, Some(previous), &event.to_json())
        });
        (frames.collect(), heard)
    }
}

fn subject(event: &ServerEvent) -> Subject {
    match event {
        ServerEvent::ToolsListChanged => Subject::Tools,
        ServerEvent::PromptsListChanged => Subject::Prompts,
        ServerEvent::ResourcesListChanged => Subject::Resources,
        ServerEvent::ResourceUpdated { uri } => Subject::Resource(uri.clone()),
        ServerEvent::TaskStatus { task } => Subject::Task(task.id().clone()),
    }
}
