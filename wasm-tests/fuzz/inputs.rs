//! Input bytes: well-formed ones, damaged ones, and arbitrary ones.

use mcp_listen::sse;
use proptest::{collection::vec, prelude::*, sample::Index};

use crate::{
    any::{any_event, any_filter, any_id},
    frames,
    served::SEPARATOR,
};

/// JSON texts.
pub fn json() -> BoxedStrategy<Vec<u8>> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|flag| flag.to_string()),
        any::<f64>().prop_map(|number| format!("{number:e}")),
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?",
        "\"([a-c]|\\\\u[0-9a-fA-F]{4}|\\\\[\"\\\\/bfnrt]|é|\u{1f600}){0,4}\"",
    ];
    let text = leaf.prop_recursive(6, 32, 4, |inner| {
        let member = ("\"[a-c]\"|\"\\\\u006[1-3]\"", inner.clone());
        prop_oneof![
            vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            vec(member, 0..4).prop_map(|members| {
                let members = members.iter().map(|(key, value)| format!("{key} :{value}"));
                format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
            }),
        ]
    });
    let deep = (60usize..70, "[\\[{]").prop_map(|(depth, open)| match open.as_str() {
        "[" => "[".repeat(depth) + &"]".repeat(depth),
        _ => "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth),
    });
    damaged(prop_oneof![8 => text, 1 => deep].prop_map(String::into_bytes))
}

/// Filters and events, which are parsed similarly.
pub fn filters() -> BoxedStrategy<Vec<u8>> {
    let event = any_event().prop_map(|event| event.to_json());
    let filter = any_filter().prop_map(|filter| filter.to_json());
    damaged(prop_oneof![3 => filter, 1 => event].prop_map(String::into_bytes))
}

/// Bodies of listen requests and similar ones.
pub fn requests() -> BoxedStrategy<Vec<u8>> {
    let body = (any_id(), any_filter(), any::<bool>()).prop_map(|(id, filter, is_listen)| {
        let method = if is_listen { "subscriptions/listen" } else { "initialize" };
        let filter = filter.to_json();
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{META},"notifications":{filter}}}}}"#
        )
    });
    damaged(body.prop_map(String::into_bytes))
}

/// Inputs of a server with streams: requests, events and steps between them, one record each.
pub fn served() -> BoxedStrategy<Vec<u8>> {
    let body = (any_id(), any_filter()).prop_map(|(id, filter)| {
        let filter = filter.to_json();
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{{SERVED},"notifications":{filter}}}}}"#
        )
    });
    let body = prop_oneof![3 => body.prop_map(String::into_bytes), 1 => requests()];
    let listen = (any::<u8>(), body).prop_map(|(by, body)| [vec![b'L', by], body].concat());
    let open = select(&["G", "Glast-event-id: 3-e\n", "Glast-event-id: x\n"]);
    let event = any_event().prop_map(|event| [b"E", event.to_json().as_bytes()].concat());
    let steps = vec(any::<u8>(), 1..12);
    let record = prop_oneof![3 => listen, 1 => open, 2 => event, 4 => steps];
    damaged(vec(record, 0..12).prop_map(|records| records.join(&SEPARATOR)))
}

/// Header fields, a method and a URL, on lines.
pub fn headers() -> BoxedStrategy<Vec<u8>> {
    damaged(select(&[
        "GET\nhttps://mcp.example/mcp\nOrigin: https://app.example\nHost: mcp.example",
        "POST\nhttp://localhost:8787/mcp\nOrigin: http://localhost:1\nHost: localhost:8787",
        "OPTIONS\nhttps://[::1]:8787/\nOrigin: null\nAccess-Control-Request-Method: POST",
        "POST\nhttp://127.0.0.1/\nHost: 127.0.0.1\n\
         Content-Type: application/json; charset=\"utf-8\"",
    ]))
}

/// Frames of all protocols of the bus.
pub fn frames() -> BoxedStrategy<Vec<u8>> {
    let interest = any_filter().prop_map(|filter| frames::follow(&filter));
    let event =
        (any_event(), 0u64..5).prop_map(|(event, position)| frames::event(&event, position));
    let other = prop::sample::select(frames::others());
    damaged(prop_oneof![interest, event, other].prop_map(String::into_bytes))
}

/// Event streams.
pub fn streams() -> BoxedStrategy<Vec<u8>> {
    let piece = prop_oneof![
        6 => select(&["data: ", "data:", "data", ": ", "event: x", "id: 1", "id: 2\0", "retry: 5", "\u{feff}", "a"]),
        6 => select(&["\n", "\r", "\r\n", "\n\n"]),
        1 => vec(any::<u8>(), 0..4),
    ];
    damaged(vec(piece, 0..60).prop_map(|pieces| pieces.concat()))
}

/// Texts that are encoded as events.
pub fn messages() -> BoxedStrategy<Vec<u8>> {
    damaged(vec("[^\r\n]{0,40}", 0..6).prop_map(|lines| lines.join("\n").into_bytes()))
}

/// Lines of a stdio client.
pub fn lines() -> BoxedStrategy<Vec<u8>> {
    let known = select(&[
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"a"}}"#,
        r#"{"jsonrpc":"2.0","id":4,"result":{}}"#,
    ]);
    let line = prop_oneof![requests(), known].prop_map(|line| [line, b"\n".to_vec()].concat());
    damaged(vec(line, 0..6).prop_map(|lines| lines.concat()))
}

/// Responses of a server: a byte that selects the beginning, then the body.
pub fn responses() -> BoxedStrategy<Vec<u8>> {
    let message = (any_id(), any_filter(), any_event()).prop_map(|(id, filter, event)| {
        [
            frames::acknowledged(id, &filter),
            frames::notification(id, &event),
            frames::result(id),
        ]
    });
    let stream = vec(message, 0..4).prop_map(|messages| {
        let events = messages.iter().flatten().map(|message| sse::event(message));
        events.collect::<Vec<_>>().concat()
    });
    let body = prop_oneof![3 => damaged(stream), 1 => requests(), 1 => streams()];
    (any::<u8>(), body)
        .prop_map(|(head, body)| [vec![head], body].concat())
        .boxed()
}

/// Steps of a machine, one per byte.
pub fn steps() -> BoxedStrategy<Vec<u8>> {
    vec(any::<u8>(), 0..200).boxed()
}

fn select(texts: &'static [&'static str]) -> BoxedStrategy<Vec<u8>> {
    let text = prop::sample::select(texts);
    text.prop_map(|text| text.as_bytes().to_vec()).boxed()
}

/// Draws from a strategy with a few edits, and sometimes arbitrary bytes.
fn damaged(whole: impl Strategy<Value = Vec<u8>> + 'static) -> BoxedStrategy<Vec<u8>> {
    let edited = (whole, vec(any_edit(), 0..5)).prop_map(|(mut bytes, edits)| {
        for edit in edits {
            edit.apply(&mut bytes);
        }
        bytes
    });
    prop_oneof![9 => edited, 1 => vec(any::<u8>(), 0..80)].boxed()
}

#[derive(Clone, Debug)]
enum Edit {
    Set(Index, u8),
    Insert(Index, &'static [u8]),
    Remove(Index, usize),
    Repeat(Index, usize),
}

fn any_edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(place, byte)| Edit::Set(place, byte)),
        (any::<Index>(), prop::sample::select(TOKENS))
            .prop_map(|(place, token)| Edit::Insert(place, token)),
        (any::<Index>(), 1usize..12).prop_map(|(place, length)| Edit::Remove(place, length)),
        (any::<Index>(), 1usize..40).prop_map(|(place, length)| Edit::Repeat(place, length)),
    ]
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let at = |place: &Index| place.index(bytes.len() + 1);
        match self {
            Self::Set(place, byte) => {
                let place = at(place);
                if let Some(old) = bytes.get_mut(place) {
                    *old = *byte;
                }
            }
            Self::Insert(place, token) => {
                let place = at(place);
                bytes.splice(place..place, token.iter().copied());
            }
            Self::Remove(place, length) => {
                let place = at(place);
                let end = bytes.len().min(place + length);
                bytes.drain(place..end);
            }
            Self::Repeat(place, length) => {
                let place = at(place);
                let end = bytes.len().min(place + length);
                let slice = bytes[place..end].to_vec();
                bytes.splice(place..place, slice);
            }
        }
    }
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
const SERVED: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
const TOKENS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b",",
    b":",
    b"\n",
    b"\r",
    b"\0",
    b" ",
    b"\xff",
    b"\xed\xa0\x80",
    b"null",
    b"-0",
    b"1e999",
    b"1e-999",
    b"99999999999999999999",
    b"9007199254740993",
    b"\\u0000",
    b"\\ud800",
    b"\\udc00",
    b"\\ud83d\\ude00",
    b"\xef\xbb\xbf",
    b"\"a\":1,",
    b"\"id\":null,",
    b"\"__proto__\":1,",
    b"/**/",
    b"NaN",
];
