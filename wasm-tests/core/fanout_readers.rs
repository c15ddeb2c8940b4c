//! Streams whose output this process reads itself.

use std::{num::NonZeroU32, sync::Arc};

use mcp_listen::{
    clock::Millis, event::ServerEvent, fanout::Fanout, filter::SubscriptionFilter,
    listen::ServerStream, metrics::Metrics,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::id,
    fanout::{T0, TOOLS, cue, open, streams, tools},
};

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

/// What they were passed over for is uncounted too.
#[test]
fn counts_never_fall_below_zero_if_streams_with_one_reader_have_no_room() {
    let (mut fanout, metrics) = (Fanout::default(), Arc::<Metrics>::default());
    let with = |prompts, resources| SubscriptionFilter {
        prompts_list_changed: prompts,
        resources_list_changed: resources,
        ..tools()
    };
    let filters = [with(false, false), with(true, false), with(false, true)];
    let [_, two, three] = filters.map(|filter| {
        let mut stream = ServerStream::new(id("1"), filter, Millis(15_000), T0);
        stream.count_in(metrics.clone());
        let opened = fanout.open(stream, T0);
        fanout.handle_attached(opened, T0);
        fanout.poll(opened, T0);
        fanout.read_by(opened, NonZeroU32::new(1).expect("not zero"));
        opened
    });
    let events = vec![
        TOOLS,
        ServerEvent::PromptsListChanged,
        ServerEvent::ResourcesListChanged,
    ];
    fanout.publish_all(events, T0, T0);
    assert_eq!(metrics.read().frames, 3);
    fanout.handle_missed([two, three], T0);
    let counted = metrics.read();
    assert!(counted.frames <= 1 && counted.waits[0] <= 1, "{counted:?}");
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
