//! Input over wires: frames of the bus, event streams, lines, and responses of servers.

use mcp_listen::{
    bus::{Bus, Shard},
    capabilities::{Capabilities, Discovered},
    client::{Subscription, SubscriptionOptions, SubscriptionOutput},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    http::Headers,
    isolate::{Isolate, SessionStart},
    json,
    limits::Limits,
    listen::{ServerStream, StreamKind},
    position::{Cursor, Position},
    sse::{self, Bounds, Decoder, Item},
    stdio::{self, Channel, Input, Lines},
    upstream::{ResumePoint, Timeouts},
    wire::{Batch, BatchAck, BusMessage, EdgeMessage, Follow, FollowResponse, SessionCall},
};

use crate::{
    any::{claim, id, uri},
    frames,
};

/// A frame is written as it was read, for any receiver, and no receiver breaks on any frame.
pub fn bus_frames(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    round(text, EdgeMessage::from_json, EdgeMessage::to_json);
    round(text, Follow::from_json, Follow::to_json);
    round(text, FollowResponse::from_json, FollowResponse::to_json);
    round(text, BatchAck::from_json, |ack| ack.to_json());
    round(text, SessionCall::from_json, SessionCall::to_json);
    drop(BusMessage::from_json(text));
    // A batch for an edge is never the last one.
    if Batch::from_json(text).is_ok_and(|batch| batch.epoch.is_some() || !batch.is_last) {
        round(text, Batch::from_json, batch_text);
    }
    everybody_takes(text);
}

fn round<T: PartialEq + std::fmt::Debug, E>(
    text: &str,
    read: fn(&str) -> Result<T, E>,
    write: fn(&T) -> String,
) {
    if let Ok(value) = read(text) {
        let again = read(&write(&value)).ok();
        assert_eq!(again.as_ref(), Some(&value), "it is written as another one");
    }
}

fn batch_text(batch: &Batch) -> String {
    let Batch {
        previous,
        through,
        at,
        ..
    } = *batch;
    let events = batch.events.iter();
    let events = events.map(|(at, event)| (*at, event.to_json()));
    match &batch.epoch {
        None => Batch::for_edge(previous, through, at, events),
        Some(epoch) => {
            let cursor = Cursor {
                epoch: epoch.clone(),
                position: through,
            };
            Batch::for_shard(&cursor, previous, at, events, batch.is_last)
        }
    }
}

fn everybody_takes(text: &str) {
    let mut bus = Bus::new(cursor());
    let number = bus.connect();
    let follow = frames::follow(&watched());
    for frame in [text, &follow, text] {
        drop(bus.handle_message(number, frame));
    }
    let mut alone = Isolate::new(Timeouts::default(), Millis(0));
    let lists = ServerStream::with_kind(StreamKind::Session, watched(), Millis(0), Millis(0));
    let start = SessionStart {
        session: claim("s 1"),
        past: ResumePoint::Since(cursor()),
        denied: Vec::new(),
    };
    let session = alone.open_session(lists, start, Millis(0));
    drop(alone.poll_call(Millis(0)));
    let mut isolate = Isolate::new(Timeouts::default(), Millis(0));
    let stream = ServerStream::new(id("1"), watched(), Millis(0), Millis(0));
    let stream = isolate.open(stream, Millis(0));
    drop(isolate.poll_call(Millis(0)));
    let followed = frames::followed(1, &cursor());
    for frame in [text, &followed, text, text] {
        let _ = alone.handle_message(frame, Millis(1));
        while alone.poll_output(Millis(1)).is_some() {}
        while alone.fanout().poll(session, Millis(1)).is_some() {}
        let _ = isolate.handle_message(frame, Millis(1));
        while isolate.poll_output(Millis(1)).is_some() {}
        while isolate.fanout().poll(stream, Millis(1)).is_some() {}
    }
    let mut shard = Shard::new(0);
    let number = shard.connect();
    drop(shard.handle_message(number, text, Millis(0)));
    let _ = shard.handle_session_call(1, text);
    if let Some(call) = shard.poll_call(Millis(0)) {
        shard.handle_response(call.seq, text, Millis(1), 0.5);
    }
    while shard.poll_output().is_some() {}
}

/// Any split of a stream changes nothing.
pub fn sse_in(bytes: &[u8]) {
    let whole = items([bytes]);
    assert_eq!(items(bytes.chunks(1)), whole, "byte by byte");
    for cut in 0..=bytes.len() {
        let (one, other) = bytes.split_at(cut);
        assert_eq!(items([one, other]), whole, "cut at {cut}");
    }
}

fn items<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Item>, Option<String>, bool) {
    let mut decoder = Decoder::new(Bounds {
        line_bytes: 40,
        event_bytes: 30,
    });
    let (mut items, mut is_over) = (Vec::new(), false);
    for chunk in chunks {
        decoder.handle_bytes(chunk);
        loop {
            match decoder.poll_item() {
                Ok(Some(item)) => {
                    assert!(!is_over, "something follows an error");
                    items.push(item);
                }
                Ok(None) => break,
                Err(_) => is_over = true,
            }
        }
    }
    (items, decoder.last_event_id().map(str::to_owned), is_over)
}

/// Written events are read back.
pub fn sse_out(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).replace('\r', " ");
    let mut decoder = Decoder::new(Bounds {
        line_bytes: 100_000,
        event_bytes: 100_000,
    });
    decoder.handle_bytes(&sse::identified("7", &sse::event(&text)));
    let Ok(Some(Item::Event(event))) = decoder.poll_item() else {
        panic!("no event");
    };
    assert_eq!(event.data, text.as_bytes(), "it is read as another one");
    assert_eq!(decoder.poll_item(), Ok(None), "there are two");
    assert_eq!(decoder.last_event_id(), Some("7"));
}

/// Any split of lines changes nothing, and any input from a client gets a response in whole lines
/// of JSON.
pub fn stdio(bytes: &[u8]) {
    let lines = |chunk: usize| {
        let mut lines = Lines::new(60);
        let mut found = Vec::new();
        for bytes in bytes.chunks(chunk) {
            lines.handle_bytes(bytes);
            found.extend(std::iter::from_fn(|| lines.poll_line()));
        }
        (found, lines.finish())
    };
    assert_eq!(lines(1), lines(bytes.len().max(1)), "it depends on the cut");
    let mut channel = Channel::new(
        Limits::default(),
        stdio::ChannelLimits {
            line_bytes: 100_000,
            subscriptions: 3,
        },
    );
    for chunk in bytes.chunks(16) {
        channel.handle_bytes(chunk);
        while let Some(input) = channel.poll_input() {
            respond(&mut channel, &input);
        }
        written(&mut channel);
    }
    drop(channel.handle_end());
    channel.close();
    written(&mut channel);
}

fn respond(channel: &mut Channel, input: &Input) {
    if let Input::Listen { handle: number, .. } = *input {
        let reported = Discovered {
            capabilities: Capabilities::ALL,
            server_info: None,
            fresh_until: None,
            is_public: true,
        };
        channel.open(number, &reported, None);
        channel.handle_events(vec![ServerEvent::ToolsListChanged]);
    }
}

fn written(channel: &mut Channel) {
    while let Some(line) = channel.poll_line() {
        let message = line.strip_suffix('\n').expect("a whole line");
        assert!(!message.contains('\n'), "two lines in one");
        assert!(json::read(message.as_bytes(), 64).is_ok(), "it is no JSON");
    }
}

/// For any response of a server, its client gets in order: the acknowledgment, changes of what is
/// honored, one end.
pub fn client(bytes: &[u8]) {
    let (head, body) = bytes.split_first().unwrap_or((&0, &[]));
    let (status, headers) = HEADS[usize::from(*head) % HEADS.len()];
    let mut subscription = Subscription::new(
        id("1"),
        watched(),
        SubscriptionOptions::default(),
        Millis(0),
    );
    subscription.handle_head(status, &Headers::new(headers), Millis(0));
    let mut outputs = Vec::new();
    for chunk in body.chunks(7) {
        subscription.handle_bytes(chunk, Millis(1));
        outputs.extend(std::iter::from_fn(|| subscription.poll_output()));
    }
    subscription.handle_end();
    outputs.extend(std::iter::from_fn(|| subscription.poll_output()));
    let mut honored: Option<SubscriptionFilter> = None;
    for (place, output) in outputs.iter().enumerate() {
        match output {
            SubscriptionOutput::Acknowledged(filter) => {
                assert!(filter.is_subset_of(&watched()), "more than was asked for");
                assert!(
                    honored.replace(filter.clone()).is_none(),
                    "twice acknowledged"
                );
            }
            SubscriptionOutput::Changed(event) => {
                assert!(
                    honored
                        .as_ref()
                        .is_some_and(|filter| accepts(filter, event)),
                    "not honored"
                );
            }
            SubscriptionOutput::Ended(_) => {
                assert_eq!(place + 1, outputs.len(), "something follows the end");
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(
        matches!(outputs.last(), Some(SubscriptionOutput::Ended(_))),
        "it never ends"
    );
}

/// A server may report a sub-resource of a subscribed resource, which has another URI.
fn accepts(honored: &SubscriptionFilter, event: &ServerEvent) -> bool {
    match event {
        ServerEvent::ResourceUpdated { .. } => !honored.resource_subscriptions.is_empty(),
        _ => honored.accepts(event),
    }
}

fn watched() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        prompts_list_changed: true,
        resource_subscriptions: vec![uri("a"), uri("b")],
        ..SubscriptionFilter::default()
    }
}

fn cursor() -> Cursor {
    Cursor {
        epoch: "e".into(),
        position: Position(0),
    }
}

const HEADS: [(u16, &str); 6] = [
    (200, "Content-Type: text/event-stream"),
    (200, "Content-Type: application/json"),
    (200, ""),
    (400, "Content-Type: application/json"),
    (503, "Content-Type: application/json\nRetry-After: 5"),
    (302, "Location: x"),
];
