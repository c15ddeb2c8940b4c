//! The decoder of event streams, for any split of the input.

use mcp_listen::{
    clock::Millis,
    sse::{self, Bounds, DecodeError, Decoder, Event, Item},
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::check;

const BOUNDS: Bounds = Bounds {
    line_bytes: 1_000,
    event_bytes: 1_000,
};

/// The outcome of a stream.
#[derive(Debug, PartialEq, Eq)]
struct Read {
    items: Vec<Item>,
    error: Option<DecodeError>,
    last_event_id: Option<String>,
}

fn read_in(bounds: Bounds, chunks: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Read {
    let mut decoder = Decoder::new(bounds);
    let mut items = Vec::new();
    let mut error = None;
    for chunk in chunks {
        decoder.handle_bytes(chunk.as_ref());
        loop {
            match decoder.poll_item() {
                Ok(Some(item)) => items.push(item),
                Ok(None) => break,
                Err(problem) => assert_eq!(error.replace(problem), None, "it fails once"),
            }
        }
    }
    Read {
        items,
        error,
        last_event_id: decoder.last_event_id().map(str::to_owned),
    }
}

/// Reads the input at once and, because this must make no difference, byte by byte.
#[track_caller]
fn read(stream: impl AsRef<[u8]>) -> Read {
    let stream = stream.as_ref();
    let whole = read_in(BOUNDS, [stream]);
    assert_eq!(read_in(BOUNDS, stream.chunks(1)), whole);
    whole
}

#[track_caller]
fn items(stream: impl AsRef<[u8]>) -> Vec<Item> {
    let read = read(stream);
    assert_eq!(read.error, None);
    read.items
}

fn event(kind: &str, data: &str) -> Item {
    Item::Event(Event {
        kind: kind.into(),
        data: data.into(),
    })
}

fn message(data: &str) -> Item {
    event("message", data)
}

#[test]
fn every_line_ending_counts_once() {
    for end in ["\n", "\r", "\r\n"] {
        let stream = [
            ": c", "event: x", "data: a", "data: b", "", "data: c", "", "",
        ]
        .join(end);
        let reported = [Item::Comment, event("x", "a\nb"), message("c")];
        assert_eq!(items(stream), reported, "{end:?}");
    }
    assert_eq!(
        items("data: a\r\rdata: b\n\r\n"),
        [message("a"), message("b")]
    );
}

#[test]
fn an_event_is_returned_with_its_last_byte() {
    let mut decoder = Decoder::new(BOUNDS);
    decoder.handle_bytes(b"data: a\r\n\r");
    assert_eq!(decoder.poll_item(), Ok(Some(message("a"))));
    decoder.handle_bytes(b"\ndata: b\n\n");
    assert_eq!(decoder.poll_item(), Ok(Some(message("b"))));
    assert_eq!(decoder.poll_item(), Ok(None));
}

#[test]
fn an_event_without_a_blank_line_is_never_returned() {
    assert_eq!(items("data: a\n\ndata: b"), [message("a")]);
    assert_eq!(items("data: a\n\ndata: b\n"), [message("a")]);
}

#[test]
fn one_byte_order_mark_is_skipped_at_the_start() {
    assert_eq!(items("\u{feff}data: a\n\n"), [message("a")]);
    assert_eq!(items("\u{feff}\u{feff}data: a\n\n"), []);
    assert_eq!(items("\n\u{feff}data: a\n\n"), []);
    assert_eq!(items("data: \u{feff}a\n\n"), [message("\u{feff}a")]);
}

#[test]
fn one_space_after_the_colon_is_stripped() {
    assert_eq!(items("data:a\n\n"), [message("a")]);
    assert_eq!(items("data:  a\n\n"), [message(" a")]);
    assert_eq!(items("data:\ta:b\n\n"), [message("\ta:b")]);
}

#[test]
fn data_may_be_empty_but_not_missing() {
    assert_eq!(items("data\n\n"), [message("")]);
    assert_eq!(items("data: \n\n"), [message("")]);
    assert_eq!(items("data\ndata\n\n"), [message("\n")]);
    assert_eq!(items("event: x\nid: 1\n\ndata: a\n\n"), [message("a")]);
}

#[test]
fn unknown_fields_and_other_cases_are_ignored() {
    assert_eq!(items("Data: a\n data: b\ndatax: c\nfoo\n\n"), []);
}

#[test]
fn comments_are_reported() {
    assert_eq!(
        items(":\n\n: keep-alive\n:data: a\n\n"),
        vec![Item::Comment; 3]
    );
    assert_eq!(items(sse::KEEP_ALIVE), [Item::Comment]);
}

#[test]
fn retry_accepts_only_digits() {
    assert_eq!(items("retry: 1500\n"), [Item::Retry(Millis(1_500))]);
    for value in ["", "-1", "+1", "1.5", "1s", "1 ", "99999999999999999999"] {
        assert_eq!(items(format!("retry: {value}\n\n")), [], "{value}");
    }
}

#[test]
fn an_id_is_kept_unless_it_has_a_nul_or_invalid_utf8() {
    let id = |stream: &[u8]| read(stream).last_event_id;
    assert_eq!(id(b"data: a\n\n"), None);
    assert_eq!(id(b"id: 1\ndata: a\n\nid: 2\n\n"), Some("2".to_owned()));
    assert_eq!(id(b"id: 1\nid: 2\0\n\n"), Some("1".to_owned()));
    assert_eq!(id(b"id: 1\nid: \xff\n\n"), Some("1".to_owned()));
    assert_eq!(id(b"id: 1\nid\n\n"), Some(String::new()));
}

/// A client that resumes after the id of an event it has not received would never receive it.
#[test]
fn the_last_event_id_is_that_of_the_last_complete_event_wherever_the_stream_ends() {
    for end in ["\n", "\r", "\r\n"] {
        let blocks = [["id: 1", "data: a", "", ""], ["id: 2", "data: b", "", ""]];
        let stream = blocks.map(|block| block.join(end)).concat();
        for length in 0..=stream.len() {
            let read = read(&stream[..length]);
            let last = [None, Some("1"), Some("2")][read.items.len()];
            assert_eq!(
                read.last_event_id.as_deref(),
                last,
                "{:?}",
                &stream[..length]
            );
        }
    }
}

#[test]
fn invalid_utf8_in_data_is_passed_on() {
    let reported = items(b"data: \xff\xfe\n\n");
    let Item::Event(event) = &reported[0] else {
        panic!("{reported:?}");
    };
    assert_eq!(event.data, b"\xff\xfe");
}

#[test]
fn a_line_is_bounded_even_without_an_end() {
    let bounds = Bounds {
        line_bytes: 8,
        event_bytes: 1_000,
    };
    for end in ["", "\n\n"] {
        let just = read_in(bounds, [format!("data: ab{end}")]);
        assert_eq!(just.error, None);
        let over = read_in(bounds, [format!("data: abc{end}data: x\n\n")]);
        assert_eq!(
            (over.error, over.items),
            (Some(DecodeError::LineTooLong), vec![])
        );
    }
    let comment = read_in(bounds, [": 4567890"]);
    assert_eq!(comment.error, Some(DecodeError::LineTooLong));
}

#[test]
fn an_event_is_bounded_over_all_its_lines() {
    let bounds = Bounds {
        line_bytes: 1_000,
        event_bytes: 5,
    };
    let just = read_in(bounds, ["data: ab\ndata: cd\n\ndata: abcde\n\n"]);
    assert_eq!(just.items, [message("ab\ncd"), message("abcde")]);
    let over = read_in(bounds, ["data: a\n\ndata: ab\ndata: cde\n\ndata: x\n\n"]);
    assert_eq!(over.items, [message("a")]);
    assert_eq!(over.error, Some(DecodeError::EventTooLarge));
    let empty = read_in(bounds, ["data\n".repeat(7)]);
    assert_eq!(empty.error, Some(DecodeError::EventTooLarge));
}

#[test]
fn nothing_follows_an_error() {
    let bounds = Bounds {
        line_bytes: 8,
        event_bytes: 8,
    };
    let read = read_in(bounds, ["data: abcdefgh\n\n", "data: a\n\n"]);
    assert_eq!(read.items, []);
    assert_eq!(read.error.map(DecodeError::code), Some("line-too-long"));
}

fn any_stream() -> impl Strategy<Value = Vec<u8>> {
    let fields = [
        "data: ", "data:", "data", ": ", "event: x", "id: 1", "id: 2\0", "retry: 5", "\u{feff}",
        "a",
    ];
    let field = prop::sample::select(fields.to_vec());
    let line_end = prop::sample::select(&["\n", "\r", "\r\n", "\n\n"][..]);
    let piece = prop_oneof![
        6 => field.prop_map(|text| text.as_bytes().to_vec()),
        6 => line_end.prop_map(|text| text.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..4),
    ];
    vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

#[test]
fn any_split_of_the_stream_changes_nothing() {
    let bounds = Bounds {
        line_bytes: 20,
        event_bytes: 12,
    };
    check((any_stream(), 1usize..30), |(stream, length)| {
        let whole = read_in(bounds, [&stream]);
        assert_eq!(read_in(bounds, stream.chunks(1)), whole);
        assert_eq!(read_in(bounds, stream.chunks(length)), whole);
        for cut in 0..=stream.len() {
            let (one, other) = stream.split_at(cut);
            assert_eq!(read_in(bounds, [one, other]), whole);
        }
    });
}

#[test]
fn written_events_are_read_back() {
    check(vec("[^\r\n]{0,12}", 1..5), |lines| {
        let text = lines.join("\n");
        assert_eq!(items(sse::event(&text)), [message(&text)]);
        let identified = sse::identified("7", &sse::event(&text));
        let read = read(identified);
        assert_eq!(read.items, [message(&text)]);
        assert_eq!(read.last_event_id.as_deref(), Some("7"));
        assert_eq!(sse::data(&sse::event(&text)), [text.as_bytes()]);
    });
}
