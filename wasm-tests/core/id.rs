use mcp_listen::id::RequestId;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn strings_and_integers_are_ids_and_keep_their_text() {
    for raw in [
        "1",
        "\"1\"",
        "0",
        "\"\"",
        "-7",
        "12345678901234567890",
        "1.0",
        "1e3",
        "10e-1",
        "0.0",
        "-0",
        "0e-9",
        "1.50e1",
        "100e-2",
        "1E+2",
        "1e999999999999999999999",
        "\"\\u0031\"",
        "\"é\"",
        "0e999999999999999999999",
    ] {
        assert_eq!(
            RequestId::from_raw(raw, 256).as_ref().map(RequestId::raw),
            Some(raw),
            "{raw}"
        );
    }
}

#[test]
fn nothing_else_is_an_id() {
    for raw in [
        "null",
        "true",
        "{}",
        "[1]",
        "1.5",
        "15e-1",
        "0.1",
        "1e-1",
        "1.05e1",
        "1e-999999999999999999999",
        "",
        "01",
        "1.0e-1",
        "\"",
        "1 2",
    ] {
        assert_eq!(RequestId::from_raw(raw, 256), None, "{raw}");
    }
}

#[test]
fn length_is_bounded() {
    let string = |length: usize| format!("\"{}\"", "x".repeat(length));
    assert!(RequestId::from_raw(&string(255), 256).is_some());
    assert!(RequestId::from_raw(&string(256), 256).is_some());
    assert!(RequestId::from_raw(&string(257), 256).is_none());
    assert!(RequestId::from_raw(&"9".repeat(256), 256).is_some());
    assert!(RequestId::from_raw(&"9".repeat(257), 256).is_none());
}

#[test]
fn the_number_one_is_not_the_string_one() {
    assert_ne!(
        RequestId::from_raw("1", 256),
        RequestId::from_raw("\"1\"", 256)
    );
}
