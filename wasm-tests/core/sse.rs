use mcp_listen::sse;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn a_message_is_one_event() {
    assert_eq!(
        sse::event("{\"a\":1}"),
        b"event: message\ndata: {\"a\":1}\n\n"
    );
}

#[test]
fn line_breaks_become_data_lines_and_forge_nothing() {
    assert_eq!(
        sse::event("a\n\nevent: x"),
        b"event: message\ndata: a\ndata: \ndata: event: x\n\n"
    );
    assert_eq!(sse::event("a\rb"), b"event: message\ndata: a\ndata: b\n\n");
}

#[test]
fn the_keep_alive_is_a_comment() {
    assert!(sse::KEEP_ALIVE.starts_with(b":"));
    assert!(sse::KEEP_ALIVE.ends_with(b"\n\n"));
}

#[test]
fn event_data_is_found_with_any_line_ending() {
    for body in [
        "event: message\ndata: {}\n\n",
        ": c\r\n\r\ndata: {}\r\n\r\n",
        "id: 1\rdata:{}\r\r",
    ] {
        assert_eq!(sse::data(body.as_bytes()), [b"{}"], "{body:?}");
    }
    let body = b"data: a\ndata: b\n\ndata: c\n\n";
    assert_eq!(sse::data(body), [b"a\nb".as_slice(), b"c"]);
}
