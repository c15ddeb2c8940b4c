use std::time::Duration;

use mcp_listen::{
    clock::Millis,
    events::{
        Appended, Draft, EventLog, EventName, Window, cursor,
        page::{LogQuery, Page},
    },
    position::{Cursor, Position},
    scope::Name,
};
use proptest::collection::vec;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::check;

use super::rows::MemoryRows;

/// A bus with a log of occurrences: each publish takes the next position, as cues do.
pub(super) struct Log {
    pub(super) occurrences: EventLog<MemoryRows>,
    pub(super) head: u64,
    pub(super) now: u64,
}

const T0: u64 = 1_764_057_600_000;

impl Log {
    pub(super) fn new(window: Window) -> Self {
        Self {
            occurrences: EventLog::open(MemoryRows::default(), window).unwrap(),
            head: 0,
            now: T0,
        }
    }

    pub(super) fn publish(&mut self, name: &str, members: &str) -> Appended {
        let text = format!(
            r#"{{"name":"{name}","data":{{"n":{}}}{members}}}"#,
            self.head + 1
        );
        let draft = Draft::from_json(text.as_bytes()).unwrap();
        self.head += 1;
        let cursor = cursor("e", self.head);
        self.occurrences
            .append(&draft, &cursor, Millis(self.now))
            .unwrap()
    }

    pub(super) fn has_room(&self, name: &str) -> bool {
        self.occurrences.has_room(&EventName::new(name).unwrap())
    }

    fn page(&self, query: &LogQuery) -> Page {
        self.occurrences
            .page(query, &cursor("e", self.head), Millis(self.now))
            .unwrap()
    }

    pub(super) fn read(&self, name: &str, after: u64) -> Page {
        self.page(&query(name, Some(&cursor::to_text(&cursor("e", after)))))
    }
}

fn cursor(epoch: &str, position: u64) -> Cursor {
    Cursor {
        epoch: epoch.into(),
        position: Position(position),
    }
}

fn query(name: &str, cursor: Option<&str>) -> LogQuery {
    LogQuery {
        name: EventName::new(name).unwrap(),
        cursor: cursor.map(Into::into),
        max_age_ms: None,
        groups: Vec::new(),
        max_events: 1_000,
        max_bytes: 1 << 20,
        max_scan: 8 << 20,
    }
}

pub(super) fn positions(page: &Page) -> Vec<u64> {
    page.events.iter().map(|event| event.position.0).collect()
}

#[test]
fn without_a_cursor_a_reader_gets_the_end_of_the_log() {
    let mut log = Log::new(Window::default());
    log.publish("a", "");
    let page = log.page(&query("a", None));
    assert_eq!(
        (page.from, page.through, page.more),
        (Position(1), Position(1), false)
    );
    assert!(page.events.is_empty() && !page.is_truncated());
}

#[test]
fn a_reader_gets_the_occurrences_of_its_name_after_its_cursor() {
    let mut log = Log::new(Window::default());
    for name in ["a", "b", "a", "b", "a"] {
        log.publish(name, "");
    }
    let page = log.read("a", 1);
    assert_eq!(positions(&page), [3, 5]);
    assert_eq!(
        (page.through, page.more, page.is_truncated()),
        (Position(5), false, false)
    );
    assert_eq!(&*page.events[0].data, r#"{"n":3}"#);
    assert_eq!(&*page.events[0].timestamp, "2025-11-25T08:00:00.000Z");
    assert!(log.read("c", 0).events.is_empty());
}

#[test]
fn an_id_is_that_of_the_publisher_or_follows_from_the_position() {
    let mut log = Log::new(Window::default());
    assert_eq!(&*log.publish("a", "").event_id, "evt_e_1");
    assert_eq!(&*log.publish("a", r#","eventId":"x""#).event_id, "x");
}

#[test]
fn the_same_name_and_id_is_published_once() {
    let mut log = Log::new(Window::default());
    let first = log.publish("a", r#","eventId":"x""#);
    let again = log.publish("a", r#","eventId":"x""#);
    assert_eq!((again.position, again.is_new), (first.position, false));
    assert!(log.publish("b", r#","eventId":"x""#).is_new);
    assert_eq!(positions(&log.read("a", 0)), [1]);
}

/// Publishers of different groups do not know the ids of each other.
#[test]
fn an_id_is_known_only_in_its_group() {
    let mut log = Log::new(Window::default());
    let id = r#","eventId":"order-7""#;
    let groups = ["", r#","group":"g""#, r#","group":"h""#];
    let first = groups.map(|group| log.publish("a", &format!("{id}{group}")));
    assert!(first.iter().all(|receipt| receipt.is_new));
    let again = groups.map(|group| log.publish("a", &format!("{id}{group}")));
    assert!(again.iter().all(|receipt| !receipt.is_new));
    assert_eq!(again.map(|one| one.position), first.map(|one| one.position));
}

#[test]
fn occurrences_of_other_groups_never_leave_the_log() {
    let mut log = Log::new(Window::default());
    log.publish("a", r#","group":"staff""#);
    log.publish("a", "");
    log.publish("a", r#","group":"admins""#);
    let mut query = query("a", Some(&cursor::to_text(&cursor("e", 0))));
    assert_eq!(positions(&log.page(&query)), [2]);
    query.groups = vec![Name::new("staff").unwrap()];
    let page = log.page(&query);
    assert_eq!(positions(&page), [1, 2]);
    assert_eq!(page.through, Position(3));
}

/// A quiet name keeps its place however much is published of others.
#[test]
fn a_reader_is_truncated_only_where_its_name_was_trimmed_after_its_cursor() {
    let window = Window {
        events: 10,
        ..Window::default()
    };
    let mut log = Log::new(window);
    log.publish("quiet", "");
    for _ in 0..40 {
        log.publish("busy", "");
    }
    assert!(!log.read("quiet", 0).trimmed);
    let page = log.read("busy", 1);
    assert!(page.trimmed);
    let oldest = page.events[0].position.0;
    assert_eq!(page.from, Position(oldest - 1));
    assert!(!log.read("busy", oldest - 1).trimmed);
    assert!(
        (10..=11).contains(&page.events.len()),
        "{}",
        page.events.len()
    );
}

#[test]
fn a_cursor_of_another_log_and_an_unreadable_one_begin_at_the_oldest() {
    let mut log = Log::new(Window::default());
    log.publish("a", "");
    for cursor in ["", "nonsense", &cursor::to_text(&cursor("other", 7))] {
        let page = log.page(&query("a", Some(cursor)));
        assert!(page.trimmed, "{cursor}");
        assert_eq!((page.from, positions(&page)), (Position(0), vec![1]));
    }
    let ahead = log.page(&query("a", Some(&cursor::to_text(&cursor("e", 99)))));
    assert_eq!((ahead.through, ahead.trimmed), (Position(1), false));
}

#[test]
fn a_reader_is_ahead_of_a_copy_that_ends_before_its_cursor() {
    let asked = query("a", Some(&cursor::to_text(&cursor("e", 5))));
    assert!(asked.is_ahead_of(&cursor("e", 4)));
    assert!(!asked.is_ahead_of(&cursor("e", 5)));
    assert!(!asked.is_ahead_of(&cursor("other", 4)));
    assert!(!query("a", None).is_ahead_of(&cursor("e", 4)));
}

#[test]
fn a_log_without_an_epoch_replays_nothing_and_truncates_no_reader() {
    let mut log = Log::new(Window {
        events: 1,
        ..Window::default()
    });
    for _ in 0..4 {
        log.publish("a", "");
    }
    let head = cursor("", log.head);
    let read = |cursor: &str| {
        let query = query("a", Some(cursor));
        log.occurrences.page(&query, &head, Millis(T0)).unwrap()
    };
    let foreign = read(&cursor::to_text(&cursor("e", 1)));
    assert_eq!((foreign.from, foreign.trimmed), (Position(4), false));
    let behind = read(&cursor::to_text(&cursor("", 1)));
    assert!(!behind.trimmed && !behind.events.is_empty());
}

#[test]
fn old_occurrences_are_left_out_for_a_reader_that_asks_so() {
    let mut log = Log::new(Window::default());
    log.publish("a", "");
    log.now += 10_000;
    log.publish("b", "");
    log.publish("a", "");
    let mut asked = query("a", Some(&cursor::to_text(&cursor("e", 0))));
    asked.max_age_ms = Some(Millis(5_000));
    let page = log.page(&asked);
    assert_eq!(
        (positions(&page), page.skipped, page.trimmed),
        (vec![3], true, false)
    );
    asked.cursor = Some(cursor::to_text(&cursor("e", 1)).into());
    let page = log.page(&asked);
    assert_eq!((positions(&page), page.skipped), (vec![3], false));
    log.now += 10_000;
    let page = log.page(&asked);
    assert_eq!((positions(&page), page.skipped), (vec![], true));
    assert_eq!(page.through, Position(3));
}

#[test]
fn the_window_ends_by_age_and_by_bytes_too() {
    let window = Window {
        age: Duration::from_secs(1),
        ..Window::default()
    };
    let mut log = Log::new(window);
    log.publish("a", "");
    log.now += 1_001;
    log.publish("b", "");
    assert_eq!(log.occurrences.rows().positions(), [2]);
    assert!(log.read("a", 0).trimmed);

    let window = Window {
        bytes: 200,
        events: 10,
        ..Window::default()
    };
    let mut log = Log::new(window);
    for name in ["a", "b", "a", "b", "a"] {
        log.publish(name, "");
    }
    let kept = log.occurrences.rows().positions();
    assert!(kept.len() < 4 && kept.ends_with(&[5]), "{kept:?}");
    assert!(log.read("b", 0).trimmed);
}

#[test]
fn what_is_too_old_is_removed_a_part_at_a_time() {
    let mut log = Log::new(Window::default());
    for number in 0..5_000 {
        log.publish(["a", "b"][number % 2], "");
    }
    log.now += 25 * 3_600_000;
    for kept in [3_001, 1_002, 3, 4] {
        log.publish("c", "");
        assert_eq!(log.occurrences.rows().positions().len(), kept);
        assert!(log.read("b", 0).trimmed && !log.read("b", 5_000).trimmed);
    }
}

#[test]
fn a_name_without_occurrences_gives_its_place_to_another_and_stays_exact() {
    let window = Window {
        age: Duration::from_secs(1),
        names: 2,
        ..Window::default()
    };
    let mut log = Log::new(window);
    log.publish("a", "");
    log.publish("b", "");
    assert!(log.has_room("a") && !log.has_room("c"));
    log.now += 2_000;
    log.publish("b", "");
    assert!(log.has_room("c"));
    log.publish("c", "");
    assert!(log.read("a", 0).trimmed && !log.read("a", 1).trimmed);
}

#[test]
fn a_log_that_is_opened_again_goes_on() {
    let window = Window {
        events: 5,
        ..Window::default()
    };
    let mut log = Log::new(window.clone());
    for _ in 0..20 {
        log.publish("a", "");
    }
    let before = log.read("a", 0);
    log.occurrences = EventLog::open(log.occurrences.rows().clone(), window).unwrap();
    assert_eq!(log.read("a", 0), before);
    log.publish("a", "");
    assert_eq!(positions(&log.read("a", 20)), [21]);
}

#[test]
fn a_scan_is_bounded_even_where_nothing_is_for_the_reader() {
    let mut log = Log::new(Window::default());
    for _ in 0..20 {
        log.publish("a", r#","group":"staff""#);
    }
    let mut asked = query("a", Some(&cursor::to_text(&cursor("e", 0))));
    asked.max_scan = 200;
    let page = log.page(&asked);
    assert!(page.events.is_empty() && page.more);
    assert!(page.through > Position(0) && page.through < Position(20));
}

#[test]
fn a_search_for_what_is_too_old_is_bounded_too() {
    let mut log = Log::new(Window::default());
    for _ in 0..20 {
        log.publish("a", r#","group":"staff""#);
    }
    let mut asked = query("a", Some(&cursor::to_text(&cursor("e", 0))));
    asked.max_age_ms = Some(Millis(0));
    log.now += 10_000;
    assert!(!log.page(&asked).skipped);
    asked.max_scan = 200;
    // It may have skipped something.
    assert!(log.page(&asked).skipped);
}

/// Wherever pages are cut, a reader gets each occurrence once and in order.
#[test]
fn pages_put_together_are_the_log() {
    let publishes = vec((0..3_usize, 0..3_usize), 1..60);
    check(
        (publishes, 1..5_usize, 1..400_usize),
        |(publishes, max_events, max_bytes)| {
            let mut log = Log::new(Window::default());
            let mut expected = Vec::new();
            for (name, group) in publishes {
                let group = ["", r#","group":"g""#, r#","group":"h""#][group];
                let position = log.publish(["a", "b", "c"][name], group).position.0;
                if name == 0 && !group.contains('h') {
                    expected.push(position);
                }
            }
            let mut got = Vec::new();
            let mut at = cursor("e", 0);
            loop {
                let mut asked = query("a", Some(&cursor::to_text(&at)));
                asked.groups = vec![Name::new("g").unwrap()];
                (asked.max_events, asked.max_bytes) = (max_events, max_bytes);
                let page = log.page(&asked);
                assert_eq!(Page::from_json(&page.to_json()), Some(page.clone()));
                got.extend(positions(&page));
                at = page.cursor();
                if !page.more {
                    break;
                }
            }
            assert_eq!(got, expected);
            assert_eq!(at.position.0, log.head);
        },
    );
}

#[test]
fn a_question_is_read_as_it_was_written() {
    let mut asked = query("a", Some("c"));
    asked.groups = vec![Name::new("staff").unwrap()];
    asked.max_age_ms = Some(Millis(5));
    assert_eq!(LogQuery::from_json(&asked.to_json()), Some(asked));
}
