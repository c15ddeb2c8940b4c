use mcp_listen::stdio::{Line, Lines};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::check;

/// Returns all lines of `chunks`, and the rest.
fn lines(chunks: &[&[u8]], max_bytes: usize) -> (Vec<Line>, Vec<u8>) {
    let mut lines = Lines::new(max_bytes);
    let mut found = Vec::new();
    for chunk in chunks {
        lines.handle_bytes(chunk);
        found.extend(std::iter::from_fn(|| lines.poll_line()));
    }
    (found, lines.finish())
}

fn whole(line: &str) -> Line {
    Line::Whole(line.as_bytes().to_vec())
}

#[test]
fn lines_keep_their_bytes() {
    let text = "a\r\n\n  b \nrest";
    assert_eq!(
        lines(&[text.as_bytes()], 10),
        (
            vec![whole("a\r\n"), whole("\n"), whole("  b \n")],
            b"rest".to_vec()
        )
    );
}

#[test]
fn a_line_may_be_as_long_as_the_limit() {
    assert_eq!(lines(&[b"1234\n"], 4).0, [whole("1234\n")]);
    assert_eq!(lines(&[b"12345\n"], 4).0, [Line::TooLong]);
}

#[test]
fn reading_continues_after_a_too_long_line() {
    let chunks: [&[u8]; 4] = [b"a\n1234", b"5678", b"9\nb", b"\n"];
    assert_eq!(
        lines(&chunks, 4).0,
        [whole("a\n"), Line::TooLong, whole("b\n")]
    );
}

#[test]
fn an_unfinished_too_long_line_is_dropped() {
    assert_eq!(
        lines(&[b"12345", b"6"], 4),
        (vec![Line::TooLong], Vec::new())
    );
}

#[test]
fn any_split_of_the_input_changes_nothing() {
    check((vec(any_byte(), 0..60), 0usize..8), |(bytes, max_bytes)| {
        let at_once = lines(&[&bytes], max_bytes);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(lines(&single, max_bytes), at_once);
        for at in 0..bytes.len() {
            let (left, right) = bytes.split_at(at);
            assert_eq!(lines(&[left, right], max_bytes), at_once);
        }
    });
}

#[test]
fn lines_and_rest_are_the_input() {
    check(vec(any_byte(), 0..60), |bytes| {
        let (found, rest) = lines(&[&bytes], 60);
        let mut all = Vec::new();
        for line in found {
            let Line::Whole(line) = line else {
                panic!("no line is longer than all bytes");
            };
            assert_eq!(
                line.iter().position(|byte| *byte == b'\n'),
                Some(line.len() - 1)
            );
            all.extend(line);
        }
        all.extend(rest);
        assert_eq!(all, bytes);
    });
}

fn any_byte() -> impl Strategy<Value = u8> {
    prop_oneof![1 => Just(b'\n'), 4 => any::<u8>()]
}
