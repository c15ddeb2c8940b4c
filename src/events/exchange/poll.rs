//! The result of `events/poll` (SEP-3415, Poll-Based Delivery).

use alloc::{string::String, vec::Vec};

use crate::{
    clock::Millis,
    events::{
        matching::Selected,
        name::EventName,
        page::{LogQuery, Page},
        streams::{cursor_json, occurrence},
    },
    vocabulary::{position::Position, scope::Name},
};

use super::request::Start;

/// Returns what to ask the log for.
pub(super) fn log_query(
    name: &EventName,
    start: &Start,
    groups: &[Name],
    max_events: usize,
) -> LogQuery {
    LogQuery {
        name: name.clone(),
        cursor: start.cursor.clone(),
        max_age_ms: start.max_age,
        groups: groups.to_vec(),
        max_events,
        max_bytes: MAX_RESULT_BYTES,
        max_scan: MAX_SCAN_BYTES,
    }
}

/// Returns the result for a caller that receives these occurrences of the page. If occurrences
/// after its cursor were removed from the log, the client learns that first, and polls again for
/// the rest.
pub(super) fn result(name: &EventName, page: &Page, selected: &[Selected], now: Millis) -> String {
    let has_rest = page.more || !page.events.is_empty();
    let (events, cursor, has_more) = if page.trimmed {
        (Vec::new(), page.from, has_rest)
    } else {
        fitting(name, page, selected)
    };
    format!(
        "{{\"resultType\":\"complete\",\"events\":[{}],\"cursor\":{},\"truncated\":{},\
         \"hasMore\":{has_more},\"nextPollMs\":{}}}",
        events.join(","),
        cursor_json(&page.cursor_at(cursor)),
        page.is_truncated(),
        next_poll(page, selected, now).0,
    )
}

/// Returns the occurrences that fit into one result, the position after them, and whether there
/// are more.
fn fitting(name: &EventName, page: &Page, selected: &[Selected]) -> (Vec<String>, Position, bool) {
    let mut events = Vec::new();
    let mut bytes = 0;
    for selected in selected {
        let Some(event) = page.events.get(selected.place()) else {
            continue;
        };
        let data = match selected {
            Selected::Event(_) => &event.data,
            Selected::Transformed(_, data) => data,
            Selected::Failed(_) => continue,
        };
        let text = format!("{{{}}}", occurrence(name, event, data));
        bytes += text.len();
        if bytes > MAX_RESULT_BYTES && !events.is_empty() {
            return (events, event.position.previous(), true);
        }
        events.push(text);
    }
    (events, page.through, page.more)
}

/// Returns when to poll next: soon while something happens.
fn next_poll(page: &Page, selected: &[Selected], now: Millis) -> Millis {
    let is_recent = |selected: &Selected| {
        let event = page.events.get(selected.place());
        event.is_some_and(|event| now - event.at < RECENT)
    };
    if selected.iter().any(is_recent) {
        SOON
    } else {
        LATER
    }
}

/// Maximum bytes of the occurrences in one result: the whole response stays below 1 MiB.
const MAX_RESULT_BYTES: usize = 1_047_552;
/// Maximum bytes of the log that one poll reads.
const MAX_SCAN_BYTES: usize = 1_048_576;
/// The wait until the next poll while something happens.
const SOON: Millis = Millis(5_000);
/// The wait until the next poll otherwise.
const LATER: Millis = Millis(30_000);
/// The age up to which an occurrence shows that something happens.
const RECENT: Millis = Millis(60_000);
