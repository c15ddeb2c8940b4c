//! Requests that an exchange accepts, as streams of a fan-out.

use std::sync::Arc;

use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    exchange::{Exchange, LegacyMode, Service, SessionRules, Step},
    fanout::{Fanout, StreamId},
    filter::SubscriptionFilter,
    http::Policy,
    id::RequestId,
    limits::Limits,
    listen::{EndReason, Incoming, ServerStream, StreamKind},
    session::{Ask, Reply},
    sse::{Bounds, Decoder, Item},
};

use crate::{
    any::{id, task, task_id, updated, uri},
    host_step::{SESSION_LIMITS, carry_out},
};

/// For any requests, in any order of publishes, polls and closes: each stream consists of
/// well-formed server-sent events, starts with its acknowledgment, and sends nothing outside its
/// filter, under another id, or after its end.
pub fn served(bytes: &[u8]) {
    let mut server = Server::new();
    for record in bytes.split(|byte| *byte == SEPARATOR) {
        server.now = server.now + Millis(1);
        match record {
            [b'L', by, body @ ..] => server.request("POST", HEADERS[usize::from(*by) % 3], body),
            [b'G', fields @ ..] => {
                let fields = String::from_utf8_lossy(fields);
                server.request("GET", &format!("{SESSION}{fields}"), b"");
            }
            [b'E', event @ ..] => server.publish_text(event),
            steps => steps.iter().for_each(|step| server.step(*step)),
        }
    }
    server.close_all();
}

struct Server {
    service: Arc<Service>,
    fanout: Fanout,
    held: Vec<Held>,
    now: Millis,
}

/// A stream, and what its client has received.
struct Held {
    stream: StreamId,
    /// The id of the listen; `None` for the stream of a session.
    id: Option<RequestId>,
    decoder: Decoder,
    is_blocked: bool,
    is_acknowledged: bool,
    has_ended: bool,
}

impl Server {
    fn new() -> Self {
        let rules = SessionRules {
            limits: SESSION_LIMITS,
            authorizes: true,
        };
        let earlier = LegacyMode::Sessions(rules);
        Self {
            service: Arc::new(Service::new(Policy::default(), Limits::default(), earlier)),
            fanout: Fanout::default(),
            held: Vec::new(),
            now: Millis(0),
        }
    }

    fn request(&mut self, method: &str, headers: &str, body: &[u8]) {
        let url = "http://localhost/mcp";
        let mut exchange = Exchange::new(self.service.clone(), method, url, headers, true);
        let mut requested = None;
        for _ in 0..MAX_STEPS {
            let step = exchange.poll();
            if carry_out(&mut exchange, &step, body, Some("ann")) {
                continue;
            }
            match step {
                Step::Ask(question) => exchange.handle_reply(reply(&question.ask)),
                Step::Authorize { requested: filter } => {
                    exchange.handle_permit(permitted(body, &filter));
                    requested = Some(filter);
                }
                Step::Send { .. } => exchange.handle_status(202),
                Step::Open => {
                    let opened = exchange.open(KEEP_ALIVE, self.now);
                    let (stream, _) = opened.expect("a stream that is to be opened");
                    let requested = requested.expect("callers are authorized");
                    assert!(stream.honored().is_subset_of(&requested));
                    return self.open(stream);
                }
                _ => return,
            }
        }
        panic!("there is no end to what it asks for");
    }

    fn open(&mut self, stream: ServerStream) {
        let id = match stream.kind() {
            StreamKind::Listen(id) => Some(id.clone()),
            _ => None,
        };
        let bounds = Bounds {
            line_bytes: 1 << 20,
            event_bytes: 1 << 20,
        };
        self.held.push(Held {
            stream: self.fanout.open(stream, self.now),
            id,
            decoder: Decoder::new(bounds),
            is_blocked: false,
            is_acknowledged: false,
            has_ended: false,
        });
    }

    fn step(&mut self, step: u8) {
        if step.is_multiple_of(4) {
            return self.publish(vec![events()[usize::from(step / 4) % 6].clone()]);
        }
        let place = usize::from(step / 16).checked_rem(self.held.len());
        let Some(place) = place else { return };
        let stream = self.held[place].stream;
        match step % 16 {
            1 | 2 => self.fanout.handle_attached(stream, self.now),
            3 => self.held[place].is_blocked = true,
            5 | 6 => self.held[place].is_blocked = false,
            7 => self
                .fanout
                .with_stream(stream, |stream| stream.retire(EndReason::Drained)),
            9 => close(&mut self.fanout, stream),
            10 => self.narrow(place),
            11 => {
                self.fanout.remove(stream);
                self.held.remove(place);
                return self.reuse();
            }
            13 => self.fanout.handle_gap(),
            14 => self.now = self.now + KEEP_ALIVE,
            _ => {}
        }
        self.fanout.handle_timeout(self.now);
        self.poll_all();
    }

    /// It honors no resources any more, while cues of all kinds are pending.
    fn narrow(&mut self, place: usize) {
        self.held[place].is_blocked = true;
        self.publish(events().to_vec());
        self.held[place].is_blocked = false;
        let stream = self.held[place].stream;
        let honored = self.fanout.stream(stream).map(|it| it.honored().clone());
        let honored = honored.expect("a stream that is held");
        let narrow = SubscriptionFilter {
            resource_subscriptions: Vec::new(),
            ..honored
        };
        self.fanout.handle_filter(stream, narrow);
    }

    fn publish_text(&mut self, bytes: &[u8]) {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        if let Ok(event) = ServerEvent::from_json(text) {
            self.publish(vec![event.clone(), ServerEvent::ToolsListChanged, event]);
        }
    }

    fn publish(&mut self, events: Vec<ServerEvent>) {
        let batch = self.fanout.publish_all(events, self.now, self.now);
        let mut missed = Vec::new();
        for (stream, chunk) in &batch.writes {
            let mut held = self.held.iter_mut();
            let held = held.find(|held| held.stream == *stream);
            let held = held.expect("a stream that is gone is written to");
            if held.is_blocked {
                missed.push(*stream);
                continue;
            }
            let honored = self.fanout.stream(*stream).map(ServerStream::honored);
            held.read(batch.chunk(*chunk), honored.expect("it is held"));
        }
        self.fanout.handle_missed(missed, self.now);
        self.fanout.take_due();
        self.poll_all();
    }

    fn poll_all(&mut self) {
        let Self {
            fanout, held, now, ..
        } = self;
        for held in held.iter_mut().filter(|held| !held.is_blocked) {
            while let Some(bytes) = fanout.poll(held.stream, *now) {
                let honored = fanout.stream(held.stream).map(ServerStream::honored);
                held.read(&bytes, honored.expect("it is held"));
            }
        }
    }

    fn close_all(&mut self) {
        for held in &mut self.held {
            held.is_blocked = false;
            self.fanout.handle_attached(held.stream, self.now);
            close(&mut self.fanout, held.stream);
        }
        self.poll_all();
        for held in self.held.drain(..) {
            let ending = self.fanout.remove(held.stream);
            assert!(ending.is_some(), "a stream that is closed has ended");
        }
        self.reuse();
        let batch = self.fanout.publish(updated("a"), self.now, self.now);
        assert!(batch.is_empty() && self.fanout.is_empty());
    }
}

impl Server {
    /// A stream in a reused slot receives only what it honors itself.
    fn reuse(&mut self) {
        let honored = SubscriptionFilter {
            prompts_list_changed: true,
            ..SubscriptionFilter::default()
        };
        let own = id("\"own\"");
        self.open(ServerStream::new(own, honored, KEEP_ALIVE, self.now));
        if let Some(stream) = self.held.last().map(|held| held.stream) {
            self.fanout.handle_attached(stream, self.now);
            self.poll_all();
            self.publish(events().to_vec());
            self.fanout.remove(stream);
        }
        self.held.pop();
    }
}

impl Held {
    /// Reads what was written to it, which ends with a frame.
    fn read(&mut self, bytes: &[u8], honored: &SubscriptionFilter) {
        assert!(bytes.ends_with(b"\n\n"), "a frame is cut");
        self.decoder.handle_bytes(bytes);
        let mut is_any = false;
        while let Some(item) = self.decoder.poll_item().expect("it can be read") {
            is_any = true;
            if let Item::Event(event) = item {
                self.take(&event.data, honored);
            }
        }
        assert!(is_any, "bytes that say nothing");
    }

    fn take(&mut self, message: &[u8], honored: &SubscriptionFilter) {
        assert!(!self.has_ended, "something after the end");
        let Some(id) = self.id.clone() else {
            return take_of_session(message, honored);
        };
        let said = Incoming::read(message, &Limits::default());
        let (kind, incoming) = said.expect("a message that a client knows");
        assert_eq!(kind, id, "another subscription");
        match incoming {
            Incoming::Acknowledged(filter) => {
                assert!(!self.is_acknowledged, "twice");
                assert!(honored.is_subset_of(&filter), "more than acknowledged");
                self.is_acknowledged = true;
            }
            Incoming::Changed(event) => {
                assert!(self.is_acknowledged, "before the acknowledgment");
                assert!(honored.accepts(&event), "not honored: {event:?}");
            }
            Incoming::Result => {
                assert!(self.is_acknowledged, "before the acknowledgment");
                self.has_ended = true;
            }
            other => panic!("{other:?}"),
        }
    }
}

/// In a session, each message is a notification without a subscription id; the first event is
/// empty.
fn take_of_session(message: &[u8], honored: &SubscriptionFilter) {
    if message.is_empty() {
        return;
    }
    let text = std::str::from_utf8(message).expect("it is text");
    assert!(!text.contains("subscriptionId"), "a kind: {text}");
    let all = events();
    let mut known = all.iter().filter(|event| honored.accepts(event));
    let is_known = known.any(|event| {
        let written = mcp_listen::message::notification(&id("0"), event);
        method_of(&written) == method_of(text)
    });
    let is_list = text.contains("list_changed");
    assert!(is_known || !is_list, "not honored: {text}");
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method alone is not general enough in its lifetime"
)]
fn close(fanout: &mut Fanout, stream: StreamId) {
    fanout.with_stream(stream, |stream| stream.close());
}

fn method_of(message: &str) -> Option<&str> {
    message.split_once("\"method\":\"")?.1.split('"').next()
}

/// The replies of a session that exists and is subscribed to a few resources.
fn reply(ask: &Ask) -> Reply {
    match ask {
        Ask::UpstreamId => Reply::UpstreamId(None),
        Ask::Open { .. } => Reply::Open {
            capabilities: r#"{"tools":{"listChanged":true},"resources":{"subscribe":true}}"#.into(),
            stream: 1,
            since: "0-e".into(),
            subscriptions: vec![uri("a"), uri("b")],
        },
        _ => Reply::Done,
    }
}

/// Some callers may receive everything, and some little.
fn permitted(body: &[u8], requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
    match body.len() % 3 {
        0 => None,
        1 => Some(requested.clone()),
        _ => Some(SubscriptionFilter {
            tools_list_changed: true,
            resource_subscriptions: vec![uri("a")],
            task_ids: vec![task_id("a")],
            ..SubscriptionFilter::default()
        }),
    }
}

fn events() -> [ServerEvent; 7] {
    [
        ServerEvent::ToolsListChanged,
        ServerEvent::PromptsListChanged,
        ServerEvent::ResourcesListChanged,
        ServerEvent::EventsListChanged,
        updated("a"),
        updated("b"),
        task(r#"{"taskId":"a","status":"working"}"#),
    ]
}

/// Separates the records of an input.
pub const SEPARATOR: u8 = 0x1e;
const SESSION: &str = "accept: text/event-stream\nmcp-session-id: s\n";
const HEADERS: [&str; 3] = [
    "content-type: application/json\naccept: application/json, text/event-stream\n\
     mcp-protocol-version: 2026-07-28\nmcp-method: subscriptions/listen",
    "content-type: application/json\naccept: application/json, text/event-stream",
    "content-type: application/json\naccept: application/json, text/event-stream\n\
     mcp-session-id: s",
];
const KEEP_ALIVE: Millis = Millis(1_000);
const MAX_STEPS: usize = 12;
