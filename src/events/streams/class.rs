use alloc::{sync::Arc, vec::Vec};

use crate::{events::matching::Expected, sorted::Map, vocabulary::scope::Name};

/// The classes of the streams of one type.
#[derive(Debug, Default)]
pub(super) struct Classes {
    entries: Map<Arc<Class>, Entry>,
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

#[derive(Debug)]
struct Entry {
    number: u32,
    uses: usize,
}

impl Classes {
    /// Adds a stream to a class. Returns the shared class and its number.
    pub(super) fn intern(&mut self, class: Class) -> (Arc<Class>, u32) {
        let class = self.entries.key(&class).cloned().unwrap_or(Arc::new(class));
        if let Some(entry) = self.entries.get_mut(&*class) {
            entry.uses += 1;
            return (class, entry.number);
        }
        self.latest = self.latest.wrapping_add(1);
        let number = self.latest;
        self.entries
            .insert(class.clone(), Entry { number, uses: 1 });
        (class, number)
    }

    /// Removes a stream from a class.
    pub(super) fn release(&mut self, class: &Class) {
        let Some(entry) = self.entries.get_mut(class) else {
            return;
        };
        entry.uses -= 1;
        if entry.uses == 0 {
            self.entries.remove(class);
        }
    }

    /// Whether a function of the server decides for any of them.
    pub(super) fn has_hosts(&self) -> bool {
        self.iter()
            .any(|(_, class)| class.expected.for_host().is_some())
    }

    /// Handles that the log is asked for all classes.
    pub(super) fn mark_asked(&mut self) {
        self.latest_asked = self.latest;
    }

    /// Returns the classes for which the log was asked, with their numbers.
    pub(super) fn asked(&self) -> impl Iterator<Item = (u32, &Class)> {
        self.iter()
            .filter(|(number, _)| *number <= self.latest_asked)
    }

    /// Returns the classes with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Class)> {
        self.entries
            .iter()
            .map(|(class, entry)| (entry.number, &**class))
    }
}

impl Class {
    pub(super) fn new(expected: Expected, mut groups: Vec<Name>) -> Self {
        groups.sort_unstable();
        groups.dedup();
        Self { expected, groups }
    }
}
