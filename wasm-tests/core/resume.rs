use mcp_listen::{
    bus::EdgeId,
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    isolate::SessionStart,
    legacy::event_id,
    listen::{ServerStream, StreamKind},
    message,
    position::{Cursor, Position},
    root::RootReceived,
    session::{Ask, Reply},
    sse,
    topic::Topic,
    upstream::{BusCall, ResumePoint},
    wire::{BusMessage, EdgeMessage, Follow, FollowResponse},
};
use proptest::collection::vec;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::alone::{Alone, Frame};
use crate::any::{any_event, any_filter, check, claim, task, task_id, updated, uri};
use crate::follow::{self, Receivers as _};
use crate::log::Log;
use crate::session_root::{SessionRoot, session_start};

fn cursor(epoch: &str, position: u64) -> Cursor {
    Cursor {
        epoch: epoch.into(),
        position: Position(position),
    }
}

/// The stream of a session that returns, without other topics.
fn coming_back(since: &Cursor) -> Follow {
    Follow {
        joined: vec![claim("s 1")],
        ..Follow::fresh(1, Vec::new()).since(since)
    }
}

/// A session that is subscribed to the resources of this filter.
fn subscribed(filter: &SubscriptionFilter) -> SessionRoot {
    let mut session = SessionRoot::new();
    for uri in &filter.resource_subscriptions {
        session.watch(uri);
    }
    session
}

fn stream(filter: &SubscriptionFilter, start: SessionStart) -> Alone {
    let kind = StreamKind::Session;
    let stream = ServerStream::with_kind(kind, filter.clone(), Millis(0), Millis(0));
    Alone::of_session(stream, start)
}

/// A session with this filter whose first stream is attached.
fn attached(filter: &SubscriptionFilter) -> (SessionRoot, EdgeId, Alone) {
    let mut session = subscribed(filter);
    let mut stream = stream(filter, session_start(1, ResumePoint::None));
    let edge = session.attach(&mut stream);
    (session, edge, stream)
}

/// Returns the ids of the events in a body.
fn event_ids(text: &str) -> Vec<&str> {
    let lines = text.lines();
    lines.filter(|line| line.starts_with("id")).collect()
}

fn text(edge: &mut Alone) -> String {
    let frames = std::iter::from_fn(|| match edge.poll_frame(Millis(0)) {
        Some(Frame::Bytes(bytes)) => Some(bytes),
        Some(Frame::End) | None => None,
    });
    String::from_utf8(frames.flatten().collect()).unwrap()
}

#[test]
fn an_event_id_contains_its_cursor() {
    let here = cursor("9b2e-4f", 42);
    assert_eq!(event_id::write(Some(&here)), "42-9b2e-4f");
    assert_eq!(event_id::read("42-9b2e-4f"), Some(here));
    assert_eq!(event_id::write(None), "unknown");
    for epoch in ["", "a b", "\u{e9}", "a\n"] {
        assert_eq!(event_id::write(Some(&cursor(epoch, 1))), "unknown");
    }
}

#[test]
fn an_invalid_event_id_has_no_cursor() {
    for id in [
        "",
        "-",
        "unknown",
        "1",
        "1-",
        "-e",
        "+1-e",
        "-1-e",
        "1.5-e",
        "x-e",
        "1-e e",
        "1-\u{e9}",
        "9007199254740992-e",
    ] {
        assert_eq!(event_id::read(id), None, "{id}");
    }
    check("\\PC{0,40}", |text| {
        if let Some(cursor) = event_id::read(&text) {
            event_id::read(&event_id::write(Some(&cursor))).unwrap();
        }
    });
}

#[test]
fn a_follow_names_its_session_and_cursor() {
    assert_eq!(
        follow::everything(1).to_json(),
        r#"{"v":1,"type":"follow","seq":1,"fresh":true,"add":["everything"]}"#
    );
    let whole = coming_back(&cursor("e", 3)).to_json();
    assert_eq!(
        whole,
        r#"{"v":1,"type":"follow","seq":1,"fresh":true,"since":3,"epoch":"e","joined":["s 1"]}"#
    );
    assert_eq!(EdgeMessage::from_json(&whole).unwrap().to_json(), whole);
}

#[test]
fn a_bus_resumes_where_its_log_still_reaches() {
    for (since, goes_on) in [
        (cursor("e", 10), true),
        (cursor("e", 5), true),
        (cursor("e", 4), false),
        (cursor("e", 11), false),
        (cursor("other", 10), false),
    ] {
        let mut session = SessionRoot::new();
        for _ in 0..10 {
            session.publish(&ServerEvent::ToolsListChanged);
        }
        session.log.trim(5);
        let edge = session.root.bus_mut().connect();
        let follow = Follow {
            add: vec![Topic::Tools],
            ..coming_back(&since)
        };
        let received = session
            .root
            .handle_message(edge, &follow.to_json(), Millis(0));
        let Ok(RootReceived::Followed {
            session: joined,
            frames,
            ..
        }) = received
        else {
            panic!("{received:?}")
        };
        assert_eq!(joined, Some(claim("s 1")));
        let from = if goes_on { since.position.0 } else { 10 };
        let Ok(FollowResponse::Followed(followed)) = FollowResponse::from_json(&frames[0]) else {
            panic!("{frames:?}");
        };
        assert_eq!(followed.cursor, cursor("e", 10));
        assert_eq!(followed.missed.unwrap().after, Position(from));
        let replayed: Vec<_> = frames[1..].iter().map(|it| follow::positions(it)).collect();
        let missed = (from < 10).then(|| vec![Position(10)]);
        // The log is read only for an edge that has missed something.
        assert_eq!(session.root.bus().is_log_indexed(), missed.is_some());
        assert_eq!(replayed, Vec::from_iter(missed));
    }
}

#[test]
fn subscriptions_of_a_session_reach_the_index_and_the_edge() {
    let (mut session, edge, mut stream) = attached(&SubscriptionFilter::default());
    assert_eq!(session.publish(&updated("a")).edges(), []);
    session.watch("a");
    let frame = session.frame_for(edge);
    assert_eq!(frame, r#"{"v":1,"type":"interest","uris":["a"]}"#);
    stream.handle_bus_message(&frame, Millis(0)).unwrap();
    session.publish_to(edge, &mut stream, &updated("a"));
    assert_eq!(stream.stream().pending_cues(), 1);
    session.unwatch("a");
    let frame = session.frame_for(edge);
    assert_eq!(session.publish(&updated("a")).edges(), []);
    stream.handle_bus_message(&frame, Millis(0)).unwrap();
    assert_eq!(stream.stream().pending_cues(), 0);
    let bus = session.root.bus_mut();
    let idle = bus.connect();
    assert_eq!(bus.set_interest(idle, &[uri("a")], false), None);
}

#[test]
fn a_session_stream_starts_with_an_event_id_and_has_no_subscription_id() {
    let lists = SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    };
    let (mut session, edge, mut stream) = attached(&lists);
    assert_eq!(text(&mut stream), "id: 0-e\ndata: \n\n");
    session.publish_to(edge, &mut stream, &ServerEvent::ToolsListChanged);
    assert_eq!(
        text(&mut stream),
        "id: 1-e\nevent: message\n\
         data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"
    );
    stream.close();
    assert_eq!(stream.poll_frame(Millis(0)), Some(Frame::End));
    assert_eq!(stream.poll_frame(Millis(0)), None);
}

#[test]
fn an_event_id_covers_only_written_events() {
    let filter = SubscriptionFilter {
        resource_subscriptions: vec![uri("a"), uri("b")],
        ..SubscriptionFilter::default()
    };
    let (mut session, edge, mut stream) = attached(&filter);
    text(&mut stream);
    for event in [updated("a"), updated("b"), updated("a")] {
        session.publish_to(edge, &mut stream, &event);
    }
    assert_eq!(event_ids(&text(&mut stream)), ["id: 1-e", "id: 3-e"]);
}

#[test]
fn an_event_id_does_not_cover_earlier_gaps() {
    let filter = SubscriptionFilter {
        resource_subscriptions: vec![uri("a"), uri("b"), uri("c")],
        ..SubscriptionFilter::default()
    };
    let (mut session, edge, mut stream) = attached(&filter);
    text(&mut stream);
    session.publish_to(edge, &mut stream, &updated("a"));
    session.publish(&updated("b"));
    session.publish_to(edge, &mut stream, &updated("c"));
    let written = text(&mut stream);
    assert_eq!(event_ids(&written), ["id: 1-e"], "2 was lost on its way");
}

#[test]
fn an_event_id_does_not_cover_pending_cues() {
    let filter = SubscriptionFilter {
        resource_subscriptions: vec![uri("a"), uri("b")],
        ..SubscriptionFilter::default()
    };
    let (mut session, edge, mut stream) = attached(&filter);
    text(&mut stream);
    let frames = [updated("a"), updated("b")].map(|event| {
        let publication = session.publish(&event);
        publication.message_for(edge).unwrap().to_owned()
    });
    stream.handle_bus_message(&frames[1], Millis(0)).unwrap();
    assert_eq!(stream.poll_call(Millis(0)), Some(BusCall::Ask));
    let again = follow::joined(2, 0, &["a", "b"]);
    stream.handle_bus_message(&again, Millis(0)).unwrap();
    stream.handle_bus_message(&frames[0], Millis(0)).unwrap();
    let Some(Frame::Bytes(first)) = stream.poll_frame(Millis(0)) else {
        panic!("nothing is written");
    };
    let first = String::from_utf8(first).unwrap();
    assert!(first.contains(r#""uri":"b""#));
    assert!(!first.contains("id: 1"), "{first}");
    assert!(text(&mut stream).starts_with("id: 1-e\n"));
}

#[test]
fn unreplayable_events_are_cued_once_per_topic() {
    let filter = SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: vec![uri("a")],
        ..SubscriptionFilter::default()
    };
    for past in [ResumePoint::Unknown, ResumePoint::Since(cursor("other", 0))] {
        let mut stream = stream(&filter, session_start(1, past));
        subscribed(&filter).attach(&mut stream);
        let cues = [ServerEvent::ToolsListChanged, updated("a")].map(|event| {
            String::from_utf8(sse::event(&message::plain_notification(&event))).unwrap()
        });
        assert_eq!(
            text(&mut stream),
            format!("id: unknown\ndata: \n\n{}id: 0-e\n{}", cues[0], cues[1])
        );
    }
}

#[test]
fn the_latest_task_state_and_wanted_events_are_replayed() {
    let filter = SubscriptionFilter {
        tools_list_changed: true,
        task_ids: vec![task_id("t")],
        ..SubscriptionFilter::default()
    };
    let done = task(r#"{"taskId":"t","status":"completed"}"#);
    let log = Log::default();
    for event in [
        &task(r#"{"taskId":"t","status":"working"}"#),
        &ServerEvent::ToolsListChanged,
        &ServerEvent::PromptsListChanged,
        &done,
    ] {
        log.push(event);
    }
    let mut root = log.root();
    let edge = root.bus_mut().connect();
    let back = follow::fresh(1, &filter).since(&cursor("e", 0));
    let received = root.handle_message(edge, &back.to_json(), Millis(0));
    let Ok(RootReceived::Followed { frames, .. }) = received else {
        panic!("{received:?}")
    };
    assert_eq!(frames[0], follow::attached(1, 0, 4));
    let Ok(BusMessage::Batch(batch)) = BusMessage::from_json(&frames[1]) else {
        panic!("{}", frames[1]);
    };
    let tools = ServerEvent::ToolsListChanged;
    assert_eq!(batch.events, [(Position(2), tools), (Position(4), done)]);
    assert_eq!(
        (batch.previous, batch.through),
        (Some(Position(0)), Position(4))
    );
    assert_eq!(
        (frames.len(), root.bus().registry().last(edge)),
        (2, Some(Position(4)))
    );
}

/// Reads a stream up to any event, breaks it, and continues from the id of that event.
#[test]
fn nothing_is_lost_wherever_a_stream_breaks() {
    let strategy = (
        any_filter(),
        vec(any_event(), 0..12),
        vec(any_event(), 0..12),
        0..12usize,
        0..16u64,
    );
    check(strategy, |(filter, before, missed, read, window)| {
        // Sessions have no tasks, whose states could not be recovered after a gap.
        let filter = SubscriptionFilter {
            task_ids: Vec::new(),
            ..filter
        };
        let (mut session, edge, mut first) = attached(&filter);
        for event in &before {
            session.publish_to(edge, &mut first, event);
        }
        let written = text(&mut first);
        let mut blocks = written.split_inclusive("\n\n");
        let read: Vec<&str> = blocks.by_ref().take(read.max(1)).collect();
        let unread: Vec<&str> = blocks.collect();
        let last = read
            .iter()
            .filter_map(|block| block.strip_prefix("id: "))
            .next_back();
        let id = last.and_then(|block| block.lines().next()).unwrap();
        session.root.disconnect(edge, Millis(0)).unwrap();
        for event in &missed {
            session.publish(event);
        }
        session.log.trim(window);
        let past = event_id::read(id).map_or(ResumePoint::Unknown, ResumePoint::Since);
        let Reply::Open { stream: number, .. } = session.ask(Ask::Open { resumes: true }) else {
            panic!("it does not open")
        };
        let start = session_start(number, past);
        let mut second = stream(&filter, start);
        session.attach(&mut second);
        let again = text(&mut second);
        for event in missed.iter().filter(|event| filter.accepts(event)) {
            let cue = message::plain_notification(event);
            assert_eq!(again.matches(&cue).count(), 1, "{cue} of {again}");
        }
        for cue in unread.iter().filter_map(|block| block.split_once("data: ")) {
            assert!(again.contains(cue.1), "{} was never read", cue.1);
        }
    });
}
