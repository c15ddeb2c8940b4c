//! Streams whose output this process reads itself.

use std::num::NonZeroU32;

use mcp_listen::{clock::Millis, event::ServerEvent, fanout::Fanout};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::fanout::{T0, TOOLS, cue, open, streams, tools};

#[test]
fn of_streams_in_a_row_with_one_reader_the_first_gets_each_event() {
    let mut fanout = Fanout::default();
    let [one, two, three, other] =
        ["1", "1", "2", "3"].map(|raw_id| open(&mut fanout, raw_id, &tools()));
    let alone = open(&mut fanout, "4", &tools());
    for (opened, reader) in [(one, 1), (two, 1), (three, 1), (other, 2)] {
        let reader = NonZeroU32::new(reader).expect("not zero");
        fanout.read_by(opened, reader);
    }
    assert_eq!(streams(&fanout.publish(TOOLS, T0, T0)), [one, other, alone]);
    let events = vec![TOOLS, ServerEvent::PromptsListChanged, TOOLS];
    let batch = fanout.publish_all(events, T0, T0);
    assert_eq!(streams(&batch), [one, other, alone]);
    // One that could not take it does not take it for the others.
    fanout.handle_missed([one], T0);
    assert_eq!(streams(&fanout.publish(TOOLS, T0, T0)), [two, other, alone]);
    assert_eq!(fanout.poll(one, T0), Some(cue("1", &TOOLS)));
    fanout.remove(one);
    fanout.remove(two);
    let batch = fanout.publish(TOOLS, T0, T0);
    assert_eq!(streams(&batch), [three, other, alone]);
}

/// Their clients receive nothing of what is written to the reader.
#[test]
fn streams_with_a_reader_get_keep_alives_whatever_is_published() {
    let mut fanout = Fanout::default();
    let [one, two] = ["1", "2"].map(|raw_id| open(&mut fanout, raw_id, &tools()));
    let alone = open(&mut fanout, "3", &tools());
    for opened in [one, two] {
        let reader = NonZeroU32::new(7).expect("not zero");
        fanout.read_by(opened, reader);
    }
    let mut beats = Vec::new();
    for second in 1..=50 {
        let now = T0 + Millis(second * 1_000);
        assert_eq!(streams(&fanout.publish(TOOLS, now, now)), [one, alone]);
        for opened in fanout.handle_timeout(now) {
            if fanout.poll(opened, now) == Some(b": keep-alive\n\n".to_vec()) {
                beats.push((second, opened));
            }
        }
    }
    let each = [15, 30, 45].map(|second| [(second, one), (second, two)]);
    assert_eq!(beats, each.concat());
}
