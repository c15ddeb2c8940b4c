//! An edge that is given events read for many beside one that reads each frame by itself, to both of which the same happens.

use std::{cell::Cell, sync::Arc};

use mcp_listen::{
    clock::Millis,
    edge::{BusCall, Edge, Frame, Given, SharedEvents},
    event::ServerEvent,
    filter::SubscriptionFilter,
    legacy::event_id,
    listen::ServerStream,
    message,
    scope::{Label, Scope},
    sse,
    tally::Tally,
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{any_event, any_filter, any_id, check, id, updated, uri};

#[derive(Clone, Debug)]
enum Step {
    /// Events that come together, each of which may get lost on the way, or come twice.
    Events(Vec<(ServerEvent, usize)>),
    Room(bool),
    Close,
    Lose,
    Wait(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let times = prop_oneof![8 => Just(1), 1 => Just(0), 1 => Just(2)];
    prop_oneof![
        24 => vec((any_scoped_event(), times), 1..4).prop_map(Step::Events),
        6 => any::<bool>().prop_map(Step::Room),
        1 => Just(Step::Close),
        1 => Just(Step::Lose),
        4 => (0u64..400).prop_map(Step::Wait),
    ]
}

/// For everybody, for one audience, or the end of one caller.
fn any_scoped_event() -> impl Strategy<Value = ServerEvent> {
    let audience = prop_oneof![Just("ours"), Just("theirs")];
    prop_oneof![
        20 => any_event(),
        6 => (audience, any_event()).prop_map(|(audience, event)| for_audience(audience, event)),
        1 => prop_oneof![1 => Just("me"), 3 => Just("another")].prop_map(revoked),
    ]
}

fn label(text: &str) -> Label {
    Label::new(text).unwrap()
}

fn for_audience(audience: &str, event: ServerEvent) -> ServerEvent {
    ServerEvent::ForAudience {
        audience: label(audience),
        event: Box::new(event),
    }
}

fn revoked(principal: &str) -> ServerEvent {
    ServerEvent::Revoked {
        principal: label(principal),
    }
}

/// One edge, and what became of it.
struct Twin {
    edge: Edge,
    tally: Arc<Tally>,
    bytes: Vec<u8>,
    calls: Vec<BusCall>,
    /// How often one event was written at once, and how often several.
    at_once: [usize; 2],
}

impl Twin {
    fn new(raw_id: &str, filter: &SubscriptionFilter) -> Self {
        let stream = ServerStream::new(id(raw_id), filter.clone(), Millis(300), Millis(0));
        let mut edge = Edge::new(stream);
        let tally = Arc::new(Tally::default());
        edge.count_in(tally.clone(), Millis(1_000));
        edge.stream().stall_after(Millis(900));
        edge.scope_to(Scope {
            audiences: vec![label("ours")],
            principals: vec![label("me")],
            revocations: false,
        });
        Self {
            edge,
            tally,
            bytes: Vec::new(),
            calls: Vec::new(),
            at_once: [0; 2],
        }
    }

    fn hear(&mut self, frame: &str, now: Millis) {
        // What a lost edge drops both drop.
        self.edge.handle_bus_message(frame, now).ok();
    }

    fn hear_shared(&mut self, frames: &[String], has_room: bool, now: Millis) {
        let shared = SharedEvents::read(frames).map(|mut shared| {
            let given = self.edge.handle_shared(&mut shared, has_room, now);
            if let Given::Written(place) = given {
                self.at_once[usize::from(frames.len() > 1)] += 1;
                self.bytes.extend(shared.chunk(place));
            }
            given
        });
        if shared.is_none_or(|given| given == Given::Unchanged) {
            for frame in frames {
                self.hear(frame, now);
            }
        }
    }

    /// Writes what there is room for, and answers what it calls for with where the bus stands.
    fn settle(&mut self, has_room: bool, position: u64, now: Millis) {
        if !has_room {
            self.edge.stream().handle_blocked(now);
        }
        while has_room && let Some(Frame::Bytes(bytes)) = self.edge.poll_frame(now) {
            self.bytes.extend(bytes);
        }
        while let Some(call) = self.edge.poll_call(now) {
            self.calls.push(call);
            if call != BusCall::Leave {
                let since = self.edge.since().map(|since| since.position.0);
                self.hear(&attached(since.unwrap_or(position)), now);
            }
        }
    }
}

fn attached(position: u64) -> String {
    format!(r#"{{"v":1,"type":"attached","epoch":"e","position":{position}}}"#)
}

fn frame(position: u64, previous: u64, event: &ServerEvent) -> String {
    let event = event.to_json();
    format!(
        r#"{{"v":1,"type":"event","position":{position},"previous":{previous},"at":1000,"event":{event}}}"#
    )
}

fn assert_twins(one: &mut Twin, other: &mut Twin) {
    assert_eq!(
        String::from_utf8_lossy(&one.bytes),
        String::from_utf8_lossy(&other.bytes)
    );
    assert_eq!(one.calls, other.calls);
    assert_eq!(one.tally.read(), other.tally.read());
    assert_eq!(one.edge.poll_timeout(), other.edge.poll_timeout());
    assert_eq!(one.edge.counts(), other.edge.counts());
    let marks = [&one.edge, &other.edge].map(|edge| event_id::write(edge.mark()));
    assert_eq!(marks[0], marks[1]);
}

#[test]
fn an_edge_says_the_same_whoever_reads_its_frames() {
    let filters = any_filter().prop_map(|filter| SubscriptionFilter {
        tools_list_changed: true,
        prompts_list_changed: true,
        resources_list_changed: true,
        ..filter
    });
    let strategy = (any_id(), filters, vec(any_step(), 0..60));
    let at_once = Cell::new([0; 2]);
    check(strategy, |(raw_id, filter, steps)| {
        let (mut alone, mut sharing) = (Twin::new(raw_id, &filter), Twin::new(raw_id, &filter));
        let (mut now, mut has_room) = (Millis(0), true);
        let (mut position, mut sent) = (0, 0);
        for twin in [&mut alone, &mut sharing] {
            twin.hear(&attached(0), now);
            twin.settle(has_room, position, now);
        }
        for step in steps {
            match step {
                Step::Events(events) => {
                    let mut frames = Vec::new();
                    for (event, times) in events {
                        position += 1;
                        let frame = frame(position, sent, &event);
                        sent = position;
                        frames.extend(std::iter::repeat_n(frame, times));
                    }
                    for frame in &frames {
                        alone.hear(frame, now);
                    }
                    sharing.hear_shared(&frames, has_room, now);
                }
                Step::Room(room) => has_room = room,
                Step::Close => {
                    alone.edge.close();
                    sharing.edge.close();
                }
                Step::Lose => {
                    alone.edge.handle_bus_lost(now, 0.5, false);
                    sharing.edge.handle_bus_lost(now, 0.5, false);
                }
                Step::Wait(span) => {
                    now = now + Millis(span);
                    alone.edge.handle_timeout(now, 0.5);
                    sharing.edge.handle_timeout(now, 0.5);
                }
            }
            alone.settle(has_room, position, now);
            sharing.settle(has_room, position, now);
            assert_twins(&mut alone, &mut sharing);
        }
        let [one, several] = at_once.get();
        at_once.set([one + sharing.at_once[0], several + sharing.at_once[1]]);
    });
    assert!(at_once.get().iter().all(|count| *count > 10), "{at_once:?}");
}

fn watching() -> SubscriptionFilter {
    SubscriptionFilter {
        resource_subscriptions: vec![uri("a")],
        ..SubscriptionFilter::default()
    }
}

fn open(raw_id: &str) -> Twin {
    open_for(raw_id, &watching())
}

fn open_for(raw_id: &str, filter: &SubscriptionFilter) -> Twin {
    let mut twin = Twin::new(raw_id, filter);
    twin.hear(&attached(0), Millis(0));
    twin.settle(true, 0, Millis(0));
    twin.bytes.clear();
    twin
}

#[test]
fn streams_of_one_id_are_written_the_same_bytes_and_others_their_own() {
    let mut shared = SharedEvents::read(&[frame(1, 0, &updated("a"))]).unwrap();
    // More ids than are remembered.
    let ids: Vec<String> = (0..20).map(|number| (number / 2).to_string()).collect();
    for raw_id in &ids {
        let given = open(raw_id)
            .edge
            .handle_shared(&mut shared, true, Millis(0));
        let Given::Written(place) = given else {
            panic!("{given:?}");
        };
        let expected = message::notification(&id(raw_id), &updated("a"));
        assert_eq!(shared.chunk(place), sse::event(&expected));
        assert!(place < 8 || raw_id.as_str() >= "4");
    }
}

#[test]
fn nothing_is_written_at_once_that_something_comes_before() {
    let now = Millis(0);
    let give = |twin: &mut Twin, text: &str, has_room: bool| {
        let mut shared = SharedEvents::read(&[text]).unwrap();
        twin.edge.handle_shared(&mut shared, has_room, now)
    };
    let (first, second) = (frame(1, 0, &updated("a")), frame(2, 1, &updated("a")));
    let mut behind = open("1");
    assert_eq!(give(&mut behind, &first, false), Given::Waiting);
    assert_eq!(give(&mut behind, &second, true), Given::Unchanged);
    assert_eq!(
        give(&mut open("1"), &second, true),
        Given::Unchanged,
        "a gap"
    );
    let other = frame(1, 0, &updated("b"));
    assert_eq!(
        give(&mut open("1"), &other, true),
        Given::Unchanged,
        "not honored"
    );
    let mut opening = Twin::new("1", &watching());
    assert_eq!(give(&mut opening, &first, true), Given::Unchanged);
    opening.hear(&attached(0), now);
    assert_eq!(give(&mut opening, &first, true), Given::Unchanged);
}

#[test]
fn what_a_caller_has_to_be_asked_about_first_is_not_written_at_once() {
    let event = frame(1, 0, &updated("a"));
    let asked = |span| {
        let mut twin = open("1");
        twin.edge.stream().grant_for(Millis(span), Millis(0));
        let mut shared = SharedEvents::read(&[&event]).unwrap();
        let now = Millis(10);
        let given = twin.edge.handle_shared(&mut shared, true, now);
        if given == Given::Unchanged {
            twin.hear(&event, now);
            twin.settle(true, 0, now);
        }
        assert!(twin.bytes.is_empty());
        (given, twin.edge.stream().poll_question().is_some())
    };
    assert_eq!(asked(11), (Given::Written(0), false));
    assert_eq!(asked(10), (Given::Unchanged, true));
}

#[test]
fn what_is_for_an_audience_is_written_to_it_alone_and_as_for_everybody() {
    let now = Millis(0);
    let give = |audience: &str| {
        let event = for_audience(audience, updated("a"));
        let mut shared = SharedEvents::read(&[frame(1, 0, &event)]).unwrap();
        let given = open("1").edge.handle_shared(&mut shared, true, now);
        (given, shared.chunk(0).to_vec())
    };
    let plain = sse::event(&message::notification(&id("1"), &updated("a")));
    assert_eq!(give("ours"), (Given::Written(0), plain));
    assert_eq!(give("theirs"), (Given::Unchanged, Vec::new()));
}

#[test]
fn what_is_no_change_is_not_shared() {
    for text in ["", "{}", &attached(0), &frame(1, 0, &revoked("me"))] {
        assert!(SharedEvents::read(&[text]).is_none());
    }
    assert!(SharedEvents::read::<&str>(&[]).is_none());
}

#[test]
fn events_are_shared_together_that_follow_each_other_and_are_about_different_things() {
    let a = frame(1, 0, &updated("a"));
    let shared = |other: &str| SharedEvents::read(&[a.as_str(), other]).is_some();
    assert!(shared(&frame(2, 1, &updated("b"))));
    assert!(!shared(&frame(3, 2, &updated("b"))), "a gap");
    assert!(!shared(&frame(2, 1, &updated("a"))), "the same again");
    let ours = for_audience("ours", updated("a"));
    assert!(!shared(&frame(2, 1, &ours)), "the same for an audience");
    assert!(!shared(&frame(2, 1, &revoked("another"))));
    assert!(!shared(&attached(1)));
}

#[test]
fn events_that_come_together_are_written_together_to_who_takes_in_all_of_them() {
    let now = Millis(0);
    let mut shared = SharedEvents::read(&[
        frame(1, 0, &updated("a")),
        frame(2, 1, &ServerEvent::ToolsListChanged),
    ])
    .unwrap();
    let everything = SubscriptionFilter {
        tools_list_changed: true,
        ..watching()
    };
    let mut whole = open_for("1", &everything);
    assert_eq!(
        whole.edge.handle_shared(&mut shared, true, now),
        Given::Written(0)
    );
    let cue = |event| sse::event(&message::notification(&id("1"), &event));
    let both = [cue(updated("a")), cue(ServerEvent::ToolsListChanged)].concat();
    assert_eq!(shared.chunk(0), both);
    assert_eq!(whole.edge.mark().map(|mark| mark.position.0), Some(2));
    // Who honored them before says nothing of who is next.
    for filter in [
        watching(),
        SubscriptionFilter {
            resource_subscriptions: vec![uri("b")],
            ..everything.clone()
        },
    ] {
        let given = open_for("1", &filter)
            .edge
            .handle_shared(&mut shared, true, now);
        assert_eq!(given, Given::Unchanged);
    }
    let mut behind = open_for("1", &everything);
    assert_eq!(
        behind.edge.handle_shared(&mut shared, false, now),
        Given::Waiting
    );
    behind.settle(true, 2, now);
    assert_eq!(behind.bytes, both);
}
