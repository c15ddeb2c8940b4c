use alloc::{sync::Arc, vec::Vec};

use crate::{events::matching::Expected, fanout::StreamId, sorted::Map, vocabulary::scope::Name};

use super::stream::EventStream;

/// The classes of the streams of one type.
#[derive(Debug, Default)]
pub(super) struct Classes {
    entries: Map<Arc<Class>, ClassStreams>,
    /// The number of the newest class. Numbers are not reused, since match results name the
    /// class that they are for.
    latest: u32,
    /// The number of the newest class when the log was last asked: pages have no occurrences for
    /// groups that only newer classes have.
    latest_asked: u32,
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
    /// Those that have everything up to where the log was read for all, and nothing later, each
    /// with the number of its request's id.
    pub(super) current: Map<StreamId, u32>,
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
            current: Map::new(),
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
    pub(super) fn add_current(&mut self, stream: &EventStream) {
        if let Some(streams) = self.entries.get_mut(&*stream.class) {
            streams.current.insert(stream.id, stream.stamp);
        }
    }

    /// Removes a stream from these.
    pub(super) fn remove_current(&mut self, stream: &EventStream) {
        if let Some(streams) = self.entries.get_mut(&*stream.class) {
            streams.current.remove(&stream.id);
        }
    }

    /// Whether any stream has everything up to where the log was read for all.
    pub(super) fn has_current(&self) -> bool {
        self.entries
            .values()
            .any(|streams| !streams.current.is_empty())
    }

    /// Whether a function of the server decides for any of them.
    pub(super) fn has_hosts(&self) -> bool {
        self.iter()
            .any(|(class, _)| class.expected.for_host().is_some())
    }

    /// Handles that the log is asked for all classes.
    pub(super) fn mark_asked(&mut self) {
        self.latest_asked = self.latest;
    }

    /// Returns the classes for which the log was asked, with their numbers.
    pub(super) fn asked(&self) -> impl Iterator<Item = (u32, &Class)> {
        let classes = self.iter().map(|(class, streams)| (streams.number, class));
        classes.filter(|(number, _)| *number <= self.latest_asked)
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
