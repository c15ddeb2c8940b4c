use mcp_listen::{
    events::cursor::{MAX_CHARACTERS, from_text, to_text},
    position::{Cursor, Position},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::check;

fn cursor(epoch: &str, position: u64) -> Cursor {
    Cursor {
        epoch: epoch.into(),
        position: Position(position),
    }
}

#[test]
fn a_cursor_names_epoch_and_position() {
    check(("[ -~]{0,40}", 0..1_u64 << 53), |(epoch, position)| {
        let cursor = cursor(&epoch, position);
        let text = to_text(&cursor);
        assert!(text.len() <= MAX_CHARACTERS);
        assert!(
            text.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        );
        assert_eq!(from_text(&text), Some(cursor));
    });
}

#[test]
fn any_other_text_is_no_cursor() {
    check("\\PC{0,300}", |text| {
        if let Some(cursor) = from_text(&text) {
            assert_eq!(to_text(&cursor), text);
        }
    });
    let valid = to_text(&cursor("e", 7));
    for text in [
        "",
        "!",
        "AA",
        &valid[1..],
        &format!("{valid}="),
        &to_text(&cursor("e", 1 << 53)),
    ] {
        assert_eq!(from_text(text), None, "{text}");
    }
}
