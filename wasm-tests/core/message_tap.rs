//! The raw messages of a response.

use mcp_listen::{client::MessageTap, http::Headers, sse::Bounds};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::subscription::{JSON, STREAM};

const BOUNDS: Bounds = Bounds {
    line_bytes: 20,
    event_bytes: 20,
};

fn tap(fields: &str) -> MessageTap {
    MessageTap::new(&Headers::new(fields), BOUNDS)
}

#[test]
fn each_event_is_one_message() {
    let mut tap = tap(STREAM);
    tap.handle_bytes(b"data: {\"a\":\n\n: alive\n\nevent: other\ndata: x\n\nid: 1\ndata:\n\n");
    let messages: Vec<Vec<u8>> = std::iter::from_fn(|| tap.poll_message()).collect();
    assert_eq!(messages, [b"{\"a\":".to_vec(), b"x".to_vec()]);
    assert_eq!(tap.handle_end(), None);
}

#[test]
fn a_json_body_is_one_message_unless_too_large() {
    let read = |fields: &str, body: &[u8]| {
        let mut tap = tap(fields);
        tap.handle_bytes(body);
        assert_eq!(tap.poll_message(), None);
        tap.handle_end()
    };
    assert_eq!(read(JSON, b"{}"), Some(b"{}".to_vec()));
    assert_eq!(read(JSON, b""), None);
    assert_eq!(read(JSON, &[b' '; 21]), None);
    assert_eq!(read("content-type: text/html", b"{}"), None);
}
