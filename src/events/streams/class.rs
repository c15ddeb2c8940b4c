use alloc::{sync::Arc, vec::Vec};

use crate::{
    events::matching::Expected,
    fanout::StreamId,
    sorted::{Map, Set},
    vocabulary::scope::Name,
};

/// The classes of the streams of one type.
#[derive(Debug, Default)]
pub(super) struct Classes {
    entries: Map<Arc<Class>, ClassStreams>,
    /// The number of the newest class. Numbers are not reused, since match results name the
    /// class that they are for.
    latest: u32,
}

/// What decides what a stream receives: streams of a class receive the same of every page.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class {
    pub(super) expected: Expected,
    /// In order, each once.
    pub(super) groups: Vec<Name>,
}

/// The streams of a class.
#[derive(Debug, Default)]
pub(super) struct ClassStreams {
    /// The number of the class.
    pub(super) number: u32,
    /// The number of streams.
    size: usize,
    /// Those that have everything up to where the log was read for all, and nothing later.
    pub(super) current: Set<StreamId>,
}

impl Classes {
    /// Adds a stream to a class. Returns the shared class and its number.
    pub(super) fn intern(&mut self, class: Class) -> (Arc<Class>, u32) {
        let class = self.entries.key(&class).cloned().unwrap_or(Arc::new(class));
        if let Some(entry) = self.entries.get_mut(&*class) {
            entry.size += 1;
            return (class, entry.number);
        }
        self.latest = self.latest.wrapping_add(1);
        let number = self.latest;
        let streams = ClassStreams {
            number,
            size: 1,
            current: Set::default(),
        };
        self.entries.insert(class.clone(), streams);
        (class, number)
    }

    /// Removes a stream from a class.
    pub(super) fn release(&mut self, class: &Class) {
        let Some(entry) = self.entries.get_mut(class) else {
            return;
        };
        entry.size -= 1;
        if entry.size == 0 {
            self.entries.remove(class);
        }
    }

    /// Adds a stream to those that have everything up to where the log was read for all.
    pub(super) fn add_current(&mut self, class: &Class, id: StreamId) {
        if let Some(streams) = self.entries.get_mut(class) {
            streams.current.insert(id);
        }
    }

    /// Removes a stream from these.
    pub(super) fn remove_current(&mut self, class: &Class, id: StreamId) {
        if let Some(streams) = self.entries.get_mut(class) {
            streams.current.remove(&id);
        }
    }

    /// Whether any stream has everything up to where the log was read for all.
    pub(super) fn has_current(&self) -> bool {
        self.entries
            .values()
            .any(|streams| !streams.current.is_empty())
    }

    /// Returns the number of the newest class.
    pub(super) fn latest(&self) -> u32 {
        self.latest
    }

    /// Returns the classes with their streams.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Class, &ClassStreams)> {
        let entries = self.entries.iter();
        entries.map(|(class, streams)| (&**class, streams))
    }

    /// Returns the streams of each class.
    pub(super) fn streams_mut(&mut self) -> impl Iterator<Item = &mut ClassStreams> {
        self.entries.values_mut()
    }
}

impl Class {
    pub(super) fn new(expected: Expected, mut groups: Vec<Name>) -> Self {
        groups.sort_unstable();
        groups.dedup();
        Self { expected, groups }
    }
}
