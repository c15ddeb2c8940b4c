//! Which readers are truncated, against what the rows of the log show.

use std::{collections::BTreeMap, time::Duration};

use mcp_listen::events::{EventRows, Window};
use proptest::collection::vec;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::check;

use super::log::Log;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A log whose window ends by count, age and bytes, and what it has removed.
struct Course {
    log: Log,
    /// The occurrences that the rows had: position and name.
    held: BTreeMap<u64, &'static str>,
    /// The last position that was removed of each name.
    removed: BTreeMap<&'static str, u64>,
    /// Before which position readers of each known name are truncated.
    bounds: BTreeMap<Box<str>, u64>,
    /// The same for each other name: the last position that was removed of a forgotten one.
    forgotten: u64,
}

impl Course {
    fn new(names: usize) -> Self {
        let window = Window {
            events: 3,
            age: Duration::from_secs(10),
            bytes: 600,
            names,
        };
        Self {
            log: Log::new(window),
            held: BTreeMap::new(),
            removed: BTreeMap::new(),
            bounds: BTreeMap::new(),
            forgotten: 0,
        }
    }

    fn publish(&mut self, name: &'static str) {
        if !self.log.has_room(name) {
            return;
        }
        let position = self.log.publish(name, "").position.0;
        self.held.insert(position, name);
        self.follow_names();
        self.follow_rows();
    }

    /// A name that is new to the log may be one that it has forgotten.
    fn follow_names(&mut self) {
        let rows = self.log.occurrences.rows().names().unwrap();
        let is_known = |name: &str| rows.iter().any(|row| *row.name == *name);
        for (name, bound) in &self.bounds {
            if !is_known(name) {
                self.forgotten = self.forgotten.max(*bound);
            }
        }
        self.bounds.retain(|name, _| is_known(name));
        for row in &rows {
            self.bounds
                .entry(row.name.clone())
                .or_insert(self.forgotten);
        }
    }

    fn follow_rows(&mut self) {
        let positions = self.log.occurrences.rows().positions();
        for (&position, &name) in &self.held {
            if !positions.contains(&position) {
                self.removed.insert(name, position);
                self.bounds.insert(name.into(), position);
            }
        }
        self.held.retain(|position, _| positions.contains(position));
    }

    /// Compares every reader with the position before which its name is truncated.
    fn check(&self, bound_of: impl Fn(&str) -> u64) {
        for name in NAMES {
            let bound = bound_of(name);
            for after in 0..=self.log.head {
                let is_truncated = self.log.read(name, after).trimmed;
                assert_eq!(is_truncated, after < bound, "{name} after {after}");
            }
        }
    }

    fn removed_of(&self, name: &str) -> u64 {
        self.removed.get(name).copied().unwrap_or_default()
    }
}

/// Publishes some of [`NAMES`], after pauses, to a log that knows so many of them.
fn each_course(names: usize, check_course: impl Fn(&Course)) {
    let publishes = vec((0..NAMES.len(), 0..4_u64), 1..40);
    check(publishes, |publishes| {
        let mut course = Course::new(names);
        for (name, pause) in publishes {
            course.log.now += pause * 1_500;
            course.publish(NAMES[name]);
        }
        check_course(&course);
    });
}

#[test]
fn a_reader_is_truncated_exactly_if_something_of_its_name_was_removed_after_its_cursor() {
    each_course(NAMES.len(), |course| {
        course.check(|name| course.removed_of(name));
    });
}

/// A log knows only one position for all names that it has forgotten: up to where it has removed
/// them.
#[test]
fn readers_of_a_name_that_the_log_may_have_forgotten_are_truncated_as_if_it_had() {
    each_course(2, |course| {
        course.check(|name| {
            let bound = course.bounds.get(name).copied();
            let bound = bound.unwrap_or(course.forgotten);
            assert!(bound >= course.removed_of(name), "nothing is lost silently");
            bound
        });
    });
}
