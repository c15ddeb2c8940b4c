use mcp_listen::events::{Draft, EventName, EventNameError, MAX_DATA_BYTES, OccurrenceError};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn read(text: &str) -> Result<Draft, OccurrenceError> {
    Draft::from_json(text.as_bytes())
}

fn with(members: &str) -> Result<Draft, OccurrenceError> {
    read(&format!(
        r#"{{"kind":"event","name":"order.paid","data":{{}}{members}}}"#
    ))
}

#[test]
fn a_draft_keeps_what_was_published() {
    let draft = read(
        r#"{"kind":"event","name":"order.paid","data":{ "amount": 1.50, "to": "é" },
            "eventId":"evt-1","timestamp":"2026-11-25T08:00:00+01:00","group":"staff","other":1}"#,
    )
    .unwrap();
    assert_eq!(&*draft.name, "order.paid");
    assert_eq!(&*draft.data, r#"{"amount":1.50,"to":"é"}"#);
    assert_eq!(draft.event_id.as_deref(), Some("evt-1"));
    assert_eq!(
        draft.timestamp.as_deref(),
        Some("2026-11-25T08:00:00+01:00")
    );
    assert_eq!(draft.group.as_deref(), Some("staff"));
    assert!(draft.to_json().starts_with(r#"{"kind":"event","#));
    assert_eq!(read(&draft.to_json()), Ok(draft));
}

#[test]
fn names_have_1_to_128_characters_of_their_alphabet_and_do_not_begin_with_mcp() {
    let longest = "a".repeat(128);
    for name in ["a", "A-1_b.c", "mcp", "mcpx.y", &longest] {
        assert!(EventName::defined(name).is_ok(), "{name}");
    }
    for (name, error) in [
        ("", EventNameError::Length),
        (&*format!("{longest}a"), EventNameError::Length),
        ("a b", EventNameError::Character),
        ("é", EventNameError::Character),
        ("mcp.task.updated", EventNameError::Reserved),
    ] {
        assert_eq!(EventName::defined(name), Err(error), "{name}");
    }
}

#[test]
fn data_is_an_object_of_bounded_size_and_depth() {
    for text in [
        r#"{"name":"a"}"#,
        r#"{"name":"a","data":null}"#,
        r#"{"name":"a","data":[]}"#,
        r#"{"name":"a","data":"{}"}"#,
    ] {
        assert_eq!(read(text), Err(OccurrenceError::Data), "{text}");
    }
    let of = |bytes: usize| {
        let filler = "x".repeat(bytes - r#"{"x":""}"#.len());
        read(&format!(r#"{{"name":"a","data":{{"x":"{filler}"}}}}"#))
    };
    assert!(of(MAX_DATA_BYTES).is_ok());
    assert_eq!(of(MAX_DATA_BYTES + 1), Err(OccurrenceError::TooLarge));
    let deep = |depth: usize| {
        let (open, close) = (r#"{"x":"#.repeat(depth), "}".repeat(depth));
        read(&format!(r#"{{"name":"a","data":{open}1{close}}}"#))
    };
    assert!(deep(32).is_ok());
    assert_eq!(deep(33), Err(OccurrenceError::Malformed));
    assert_eq!(
        read(r#"{"name":"a","data":{"x":1,"x":2}}"#),
        Err(OccurrenceError::Malformed)
    );
}

/// An id with a dot would shift the parts that Standard Webhooks sign.
#[test]
fn an_event_id_is_visible_ascii_without_a_dot() {
    let longest = "i".repeat(256);
    for id in ["1", "evt_1-2:3/4", &longest] {
        assert!(with(&format!(r#","eventId":"{id}""#)).is_ok(), "{id}");
    }
    let too_long = format!("\"{longest}i\"");
    for id in [
        "\"\"", "1", "null", r#""a.b""#, r#""a b""#, "\"é\"", r#""a\n""#, &too_long,
    ] {
        let result = with(&format!(r#","eventId":{id}"#));
        assert_eq!(result, Err(OccurrenceError::EventId), "{id}");
    }
}

#[test]
fn a_timestamp_has_a_date_a_time_with_seconds_and_an_offset() {
    for time in [
        "2026-11-25T08:00:00Z",
        "2026-11-25T08:00:00.123456789Z",
        "2026-12-31T23:59:60-23:59",
    ] {
        assert!(with(&format!(r#","timestamp":"{time}""#)).is_ok(), "{time}");
    }
    for time in [
        "",
        "2026-11-25",
        "2026-11-25T08:00Z",
        "2026-11-25T08:00:00",
        "2026-11-25 08:00:00Z",
        "2026-11-25T08:00:00.Z",
        "2026-11-25T08:00:00.1234567890Z",
        "2026-11-25T08:00:00,5Z",
        "2026-13-25T08:00:00Z",
        "2026-00-25T08:00:00Z",
        "2026-11-32T08:00:00Z",
        "2026-11-25T24:00:00Z",
        "2026-11-25T08:00:00+24:00",
        "2026-11-25T08:00:00+1:00",
        "2026-11-25T08:00:00z",
        "2026-11-25T08:00:0é",
    ] {
        let result = with(&format!(r#","timestamp":"{time}""#));
        assert_eq!(result, Err(OccurrenceError::Timestamp), "{time}");
    }
}

#[test]
fn a_group_is_a_name_without_the_prefix_of_cues() {
    assert!(with(r#","group":"staff""#).is_ok());
    for group in [
        "\"\"",
        "1",
        "null",
        r#""mcp-events:staff""#,
        r#""mcp-events:""#,
    ] {
        let result = with(&format!(r#","group":{group}"#));
        assert_eq!(result, Err(OccurrenceError::Group), "{group}");
    }
}
