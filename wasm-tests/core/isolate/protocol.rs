//! The words in which a line changes what it is sent.

use mcp_listen::{
    bus::{Adjust, BusMessage, EdgeMessage, Interest, ProtocolError},
    filter::SubscriptionFilter,
    topic::Topic,
};
use proptest::prelude::*;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{any_filter, check};

fn any_adjust() -> impl Strategy<Value = Adjust> {
    (0..1u64 << 53, any_filter(), any_filter()).prop_map(|(seq, add, drop)| Adjust {
        seq,
        add,
        drop,
    })
}

fn keys(filter: &SubscriptionFilter) -> Vec<Topic> {
    let mut topics = filter.topics();
    topics.sort();
    topics
}

#[test]
fn adjustments_are_read_as_they_were_written() {
    check(any_adjust(), |adjust| {
        let seq = adjust.seq;
        let message = EdgeMessage::Adjust(adjust);
        assert_eq!(EdgeMessage::from_json(&message.to_json()), Ok(message));
        for answer in [BusMessage::Adjusted(seq), BusMessage::Refused(seq)] {
            assert_eq!(BusMessage::from_json(&answer.to_json()), Ok(answer));
        }
    });
}

#[test]
fn what_is_added_is_wanted_and_what_is_dropped_is_not() {
    check((any_filter(), any_adjust()), |(filter, adjust)| {
        let mut after = Interest::Filter(filter.clone()).topics();
        adjust.apply(&mut after);
        let (add, drop) = (keys(&adjust.add), keys(&adjust.drop));
        let stays = |topic: &Topic| !drop.contains(topic) && !add.contains(topic);
        let mut wanted: Vec<Topic> = keys(&filter).into_iter().filter(stays).collect();
        wanted.extend(add);
        wanted.sort();
        // Each once, too.
        assert!(after.iter().eq(&wanted));
        let mut everything = Interest::Everything.topics();
        adjust.apply(&mut everything);
        assert!(everything.iter().eq([&Topic::Everything]));
    });
}

#[test]
fn what_is_no_adjustment_is_refused() {
    for text in [
        r#"{"v":1,"type":"adjust","seq":1,"add":{}}"#,
        r#"{"v":1,"type":"adjust","seq":-1,"add":{},"drop":{}}"#,
        r#"{"v":1,"type":"adjust","add":{},"drop":{}}"#,
        r#"{"v":1,"type":"adjust","seq":1,"add":"everything","drop":{}}"#,
        r#"{"v":1,"type":"adjust","seq":1,"add":[],"drop":{}}"#,
    ] {
        let read = EdgeMessage::from_json(text);
        assert_eq!(read, Err(ProtocolError::Malformed), "{text}");
    }
}
