use mcp_listen::{
    clock::Millis,
    events::{
        Draft, EventLog, EventName, Window, cursor,
        error::{CodeSet, EventError},
        page::{LogQuery, Page},
        webhook::{
            Deliverer, DelivererOptions, DelivererOutput, Disconnect, EndpointResponse, Failure,
            MatchRules, MessageKind, Outcome, Post, RequestedTtl, SubscribeRequest,
        },
    },
    position::{Cursor, Position},
};

use super::disk::Disk;
use crate::events::rows::MemoryRows;

/// A deliverer with its host, the log of its bus and virtual time.
pub(crate) struct Rig {
    pub(crate) deliverer: Deliverer<Disk>,
    pub(crate) options: DelivererOptions,
    pub(crate) match_rules: MatchRules,
    pub(crate) disk: Disk,
    pub(crate) now: Millis,
    /// The messages that are being sent.
    pub(crate) posts: Vec<Post>,
    /// All other outputs, except those that the rig carries out.
    pub(crate) outputs: Vec<DelivererOutput>,
    pub(crate) alarm: Option<Millis>,
    pub(crate) reads: usize,
    pub(crate) is_bus_away: bool,
    /// Whether reads of the log wait in `outputs`.
    pub(crate) holds_reads: bool,
    log: EventLog<MemoryRows>,
    epoch: &'static str,
    head: u64,
    calls: u32,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(DelivererOptions::default(), MatchRules::default())
    }

    pub(crate) fn with(options: DelivererOptions, match_rules: MatchRules) -> Self {
        let disk = Disk::default();
        Self {
            deliverer: Deliverer::new(disk.clone(), options.clone(), match_rules.clone(), None)
                .unwrap(),
            options,
            match_rules,
            disk,
            now: Millis(1_800_000_000_000),
            posts: Vec::new(),
            outputs: Vec::new(),
            alarm: None,
            reads: 0,
            is_bus_away: false,
            holds_reads: false,
            log: EventLog::open(MemoryRows::default(), Window::default()).unwrap(),
            epoch: "e1",
            head: 0,
            calls: 0,
        }
    }

    /// Makes or renews a subscription whose endpoint is allowed. Returns the result.
    pub(crate) fn subscribe(&mut self, subscribe: &SubscribeRequest) -> Result<String, EventError> {
        let call = self.call(subscribe);
        self.result(call).unwrap()
    }

    /// Makes a subscription and lets the pause before its first message pass.
    pub(crate) fn begin(&mut self, subscribe: &SubscribeRequest) {
        self.subscribe(subscribe).unwrap();
        self.pass(1_000);
    }

    pub(crate) fn call(&mut self, subscribe: &SubscribeRequest) -> u32 {
        self.calls += 1;
        let (call, now) = (self.calls, self.now);
        self.deliverer
            .handle_subscribe(call, subscribe.clone(), now)
            .unwrap();
        self.drain();
        call
    }

    /// Returns the result of a call if there is one.
    pub(crate) fn result(&mut self, call: u32) -> Option<Result<String, EventError>> {
        let place = self.outputs.iter().position(
            |output| matches!(output, DelivererOutput::Respond { call: own, .. } if *own == call),
        )?;
        match self.outputs.remove(place) {
            DelivererOutput::Respond { response, .. } => Some(response),
            _ => None,
        }
    }

    /// Publishes an occurrence, and wakes the deliverer. Returns its position.
    pub(crate) fn publish(&mut self, name: &str, data: &str) -> u64 {
        let position = self.append(name, data, "");
        self.wake(name);
        position
    }

    /// Publishes an occurrence that the deliverer does not learn of.
    pub(crate) fn append(&mut self, name: &str, data: &str, rest: &str) -> u64 {
        let text = format!("{{\"name\":\"{name}\",\"data\":{data}{rest}}}");
        let draft = Draft::from_json(text.as_bytes()).unwrap();
        self.head += 1;
        let cursor = self.head();
        self.log.append(&draft, &cursor, self.now).unwrap();
        self.head
    }

    pub(crate) fn wake(&mut self, name: &str) {
        let (head, now) = (self.head(), self.now);
        self.deliverer.handle_wake(&named(name), head, now).unwrap();
        self.drain();
    }

    /// Disconnects a subscriber: when by the clock of the bus, and by that of the
    /// deliverer.
    pub(crate) fn disconnect(&mut self, principal: &str, published_at: Millis, at: Millis) {
        let disconnect = Disconnect { published_at, at };
        self.deliverer
            .handle_disconnected(principal, disconnect, self.now)
            .unwrap();
        self.drain();
    }

    /// Begins a new log, as a bus with an empty disk does.
    pub(crate) fn empty_log(&mut self, window: Window) {
        self.begin_log("e2", window);
    }

    pub(crate) fn begin_log(&mut self, epoch: &'static str, window: Window) {
        self.log = EventLog::open(MemoryRows::default(), window).unwrap();
        self.epoch = epoch;
        self.head = 0;
    }

    /// Returns the page of the log for a query.
    pub(crate) fn page(&self, query: &LogQuery) -> Page {
        self.log.page(query, &self.head(), self.now).unwrap()
    }

    /// Returns the positions of what the log holds.
    pub(crate) fn kept(&self) -> Vec<u64> {
        self.log.rows().positions()
    }

    pub(crate) fn head(&self) -> Cursor {
        self.cursor_at(self.head)
    }

    pub(crate) fn cursor_at(&self, position: u64) -> Cursor {
        Cursor {
            epoch: self.epoch.into(),
            position: Position(position),
        }
    }

    pub(crate) fn cursor(&self, position: u64) -> String {
        cursor::to_text(&self.cursor_at(position))
    }

    /// Lets time pass, with the alarms in it.
    pub(crate) fn pass(&mut self, millis: u64) {
        let end = self.now + Millis(millis);
        while let Some(at) = self.alarm.filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.ring();
        }
        self.now = end;
    }

    /// Lets time pass until something is sent.
    pub(crate) fn pass_until_sent(&mut self) {
        while self.posts.is_empty() {
            self.now = self.now.max(self.alarm.expect("an alarm"));
            self.ring();
        }
    }

    /// Lets time pass, in which an endpoint responds at once. Returns what was sent.
    pub(crate) fn pass_with(&mut self, millis: u64, outcome: &Outcome) -> Vec<Post> {
        let end = self.now + Millis(millis);
        let mut done = Vec::new();
        loop {
            while !self.posts.is_empty() {
                let post = self.posts.remove(0);
                self.settle(&post, outcome);
                done.push(post);
            }
            let Some(at) = self.alarm.filter(|at| *at <= end) else {
                break;
            };
            self.now = self.now.max(at);
            self.ring();
        }
        self.now = end;
        done
    }

    /// Lets the alarm go off.
    pub(crate) fn ring(&mut self) {
        self.alarm = None;
        self.deliverer.handle_alarm(self.now, 0.5).unwrap();
        self.drain();
    }

    /// Takes the only message that is being sent.
    pub(crate) fn post(&mut self) -> Post {
        assert_eq!(self.posts.len(), 1, "{:?}", self.posts);
        self.posts.remove(0)
    }

    /// Responds to a message.
    pub(crate) fn respond(&mut self, post: &Post, status: u16) {
        self.settle(post, &response(status));
    }

    /// Responds to all messages that are being sent, and to those that follow at once.
    pub(crate) fn respond_all(&mut self, status: u16) -> Vec<Post> {
        let mut done = Vec::new();
        while !self.posts.is_empty() {
            let post = self.posts.remove(0);
            self.respond(&post, status);
            done.push(post);
        }
        done
    }

    pub(crate) fn settle(&mut self, post: &Post, outcome: &Outcome) {
        self.posts.retain(|own| own.post != post.post);
        self.deliverer
            .handle_sent(post.post, outcome, self.now, 0.5)
            .unwrap();
        self.drain();
    }

    /// Forgets the deliverer and makes another one of its rows.
    pub(crate) fn restart(&mut self) {
        self.posts.clear();
        let (options, match_rules) = (self.options.clone(), self.match_rules.clone());
        self.deliverer =
            Deliverer::new(self.disk.clone(), options, match_rules, self.alarm).unwrap();
    }

    /// Responds to the reads that have waited, and all that follow.
    pub(crate) fn release_reads(&mut self) {
        self.holds_reads = false;
        for output in std::mem::take(&mut self.outputs) {
            if let DelivererOutput::Read { read, query } = output {
                let page = self.page(&query);
                self.deliverer.handle_page(read, page, self.now).unwrap();
            }
        }
        self.drain();
    }

    /// Carries out the outputs.
    pub(crate) fn drain(&mut self) {
        while let Some(output) = self.deliverer.poll_output() {
            match output {
                DelivererOutput::SetAlarm(at) => self.alarm = at,
                DelivererOutput::Post(post) => {
                    assert!(self.alarm.is_some(), "sent without an alarm");
                    self.posts.push(post);
                }
                DelivererOutput::Read { read, .. } if self.is_bus_away => {
                    self.deliverer
                        .handle_read_failed(read, self.now, 0.5)
                        .unwrap();
                }
                DelivererOutput::Read { read, query } if !self.holds_reads => {
                    self.reads += 1;
                    let page = self.page(&query);
                    self.deliverer.handle_page(read, page, self.now).unwrap();
                }
                output => self.outputs.push(output),
            }
        }
    }

    pub(crate) fn writes(&self) -> usize {
        self.disk.writes()
    }

    pub(crate) fn rows(&self) -> usize {
        self.disk.len()
    }
}

pub(crate) fn named(name: &str) -> EventName {
    EventName::new(name).unwrap()
}

/// A request for a subscription with this number, to an allowed endpoint that no other has.
pub(crate) fn subscribe(number: u32) -> SubscribeRequest {
    SubscribeRequest {
        id: format!("sub_{number:032x}").into(),
        principal: "ann".into(),
        groups: Vec::new(),
        name: named("order.paid"),
        arguments: "{}".into(),
        url: format!("https://h{number}.example.com/hook").into(),
        host: format!("h{number}.example.com").into(),
        is_allowed: true,
        secret: "sealed one".into(),
        secret_digest: "1".into(),
        codes: CodeSet::Sep,
        cursor: None,
        max_age_ms: None,
        ttl: RequestedTtl::Default,
        challenge: "challenge".into(),
        total: 0,
        asked_at: Millis(1 << 52),
    }
}

pub(crate) fn response(status: u16) -> Outcome {
    Outcome::Response(EndpointResponse {
        status,
        retry_after_ms: None,
        body: "".into(),
    })
}

pub(crate) fn echo(body: &str) -> Outcome {
    Outcome::Response(EndpointResponse {
        status: 200,
        retry_after_ms: None,
        body: body.into(),
    })
}

pub(crate) fn failure() -> Outcome {
    Outcome::Failure(Failure::ConnectionRefused)
}

pub(crate) fn kinds(posts: &[Post]) -> Vec<MessageKind> {
    posts.iter().map(|post| post.kind).collect()
}
