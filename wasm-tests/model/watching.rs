use mcp_listen::{
    client::{
        CloseReason, HttpAction, HttpRequest, RequestHandle, ServerHint, SubscriptionOptions,
        Watch, WatchOutput, WatchState,
    },
    clock::Millis,
    http::{Headers, Response},
};

use crate::{
    client::Client,
    host::Host,
    invariant::{Violation, ensure},
    key::Keys,
    request::{Asks, Request},
    wire::{Read, Said},
    world::World,
};

/// A client that is the core's [`Watch`]: it reopens a stream whenever one ends.
#[derive(Debug)]
pub(crate) struct Watching {
    watch: Watch,
    isolate: usize,
    /// Its last request, until the response is over.
    call: Option<RequestHandle>,
    request: Request,
    has_head: bool,
    is_live: bool,
    /// The number of published events when it was first live.
    live_from: Option<usize>,
}

impl Watching {
    pub(crate) fn new(keys: Keys, isolate: usize, seed: u64, now: Millis) -> Self {
        let options = SubscriptionOptions {
            silence: std::time::Duration::ZERO,
            ..SubscriptionOptions::default()
        };
        let request = Request::listen("0", &keys.filter());
        Self {
            watch: Watch::new(keys.filter(), options, ServerHint::Modern, seed, now),
            isolate,
            call: None,
            request,
            has_head: false,
            is_live: false,
            live_from: None,
        }
    }

    pub(crate) fn live_from(&self) -> Option<usize> {
        self.live_from
    }

    pub(crate) fn request(&self) -> Request {
        self.request.clone()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Millis> {
        self.watch.poll_timeout()
    }

    /// The bytes of one write to its stream, in one piece. Returns whether the stream continues.
    pub(crate) fn read(&mut self, reads: &[Read], now: Millis) -> bool {
        let bytes: Vec<u8> = reads.iter().flat_map(|read| read.bytes.clone()).collect();
        if let Some(call) = self.call.filter(|_| !bytes.is_empty()) {
            self.begin_response(200, "content-type: text/event-stream", now);
            self.watch.handle_bytes(call, &bytes, now);
        }
        !reads.iter().any(|read| read.said == Said::End)
    }

    /// Whether it has no stream.
    pub(crate) fn is_late(&self) -> bool {
        self.watch.state() != WatchState::Live
    }

    /// Its subscription has ended. Returns whether it was open.
    fn end(&mut self) -> bool {
        self.call = None;
        std::mem::take(&mut self.is_live)
    }

    fn begin_response(&mut self, status: u16, fields: &str, now: Millis) {
        if let Some(call) = self.call.filter(|_| !self.has_head) {
            self.has_head = true;
            let headers = Headers::new(fields);
            self.watch.handle_head(call, status, &headers, now);
        }
    }

    fn begin(&mut self, call: RequestHandle, request: &HttpRequest) -> Result<(), Violation> {
        let fields = request.headers.iter();
        let fields = fields.map(|(name, value)| format!("{name}: {value}"));
        self.call = Some(call);
        self.has_head = false;
        let former = std::mem::replace(
            &mut self.request,
            Request {
                method: request.method,
                headers: fields.collect::<Vec<_>>().join("\n"),
                body: request.body.clone().unwrap_or_default(),
            },
        );
        // Nothing else in the body changes.
        ensure(
            "each request of a watch has a new id",
            former.body != self.request.body,
            || former.body,
        )
    }
}

/// The steps of watches, whose hosts only move bytes.
impl World {
    /// Carries out the actions of a client's watch, and takes its outputs.
    pub(crate) fn tend_watch(&mut self, at: usize) -> Result<(), Violation> {
        loop {
            let now = self.now;
            let Some(watching) = self.clients[at].watching() else {
                return Ok(());
            };
            match watching.watch.poll_action() {
                Some(HttpAction::Send(call, request)) => {
                    watching.begin(call, &request)?;
                    let isolate = watching.isolate;
                    self.request_in(at, Asks::Listen, 0, isolate)?;
                    continue;
                }
                Some(HttpAction::Close(_)) => {
                    watching.call = None;
                    self.drop_host(at)?;
                    continue;
                }
                Some(other) => panic!("not known: {other:?}"),
                None => {}
            }
            let Some(output) = watching.watch.poll_output(now) else {
                return Ok(());
            };
            self.receive_output(at, &output)?;
        }
    }

    fn receive_output(&mut self, at: usize, output: &WatchOutput) -> Result<(), Violation> {
        self.note(|| format!("  client {at} gets {output:?}"));
        match output {
            WatchOutput::Live { honored, .. } => {
                let published = self.ledger.now();
                if let Some(watching) = self.clients[at].watching() {
                    watching.live_from.get_or_insert(published);
                    watching.is_live = true;
                }
                let wanted = self.clients[at].wanted.filter();
                ensure("a watch knows what is honored", *honored == wanted, || {
                    format!("client {at}: {honored:?}")
                })
            }
            WatchOutput::Changed(event) => self.clients[at].receive_change(event),
            WatchOutput::Waiting { end, .. } => {
                let client = &mut self.clients[at];
                let is_open = client.host.as_ref().is_some_and(Host::is_open);
                let was_live = client.watching().is_some_and(Watching::end);
                ensure(
                    "a watch keeps its stream while that is open",
                    !(was_live && is_open) || *end == CloseReason::Graceful,
                    || format!("client {at}: {end:?}"),
                )?;
                self.drop_host(at)
            }
            WatchOutput::Stopped(end) => Err(Violation::new(
                "a watch continues while it may",
                format!("client {at}: {end:?}"),
            )),
            other => panic!("not known: {other:?}"),
        }
    }

    /// The request of a watch gets a response without a stream.
    pub(crate) fn respond_to_watch(&mut self, at: usize, response: &Response) {
        let now = self.now;
        let Some(watching) = self.clients[at].watching() else {
            return;
        };
        let retry = response
            .retry_after
            .map_or_else(String::new, |seconds| format!("\nretry-after: {seconds}"));
        let fields = format!("content-type: application/json{retry}");
        watching.begin_response(response.status, &fields, now);
        let body = response.body.as_deref().unwrap_or_default();
        if let Some(call) = watching.call.take() {
            watching.watch.handle_bytes(call, body.as_bytes(), now);
            watching.watch.handle_end(call, now);
        }
    }

    /// The response of a watch is over.
    pub(crate) fn end_watch(&mut self, at: usize) -> Result<(), Violation> {
        let now = self.now;
        let watching = self.clients.get_mut(at).and_then(|it| it.watching());
        let Some(watching) = watching else {
            return Ok(());
        };
        if let Some(call) = watching.call.take() {
            watching.watch.handle_end(call, now);
            return self.tend_watch(at);
        }
        Ok(())
    }

    /// Its deadline may have come.
    pub(crate) fn expire_watch(&mut self, at: usize) -> Result<(), Violation> {
        let now = self.now;
        let Some(watching) = self.clients[at].watching() else {
            return Ok(());
        };
        if watching.poll_timeout().is_some_and(|due| due <= now) {
            watching.watch.handle_timeout(now);
            return self.tend_watch(at);
        }
        Ok(())
    }

    /// Every watch is open again in time.
    pub(crate) fn check_watches(&mut self) -> Result<(), Violation> {
        let until = self.now + MAX_WAIT;
        while let Some(late) = self.clients.iter().position(Client::is_late) {
            let due = self.clients[late].poll_timeout();
            let due = due.filter(|due| (self.now..=until).contains(due));
            ensure("a watch reopens", due.is_some(), || {
                format!("client {late} has nothing to wait for before {}", until.0)
            })?;
            self.pass(due.map_or(Millis(0), |due| due - self.now) + A_MOMENT)?;
        }
        Ok(())
    }

    /// The watches stop permanently.
    pub(crate) fn cancel_watches(&mut self) -> Result<(), Violation> {
        for at in 0..self.clients.len() {
            if let Some(watching) = self.clients[at].watching() {
                watching.call = None;
                watching.watch.cancel();
                self.drop_host(at)?;
            }
        }
        Ok(())
    }
}

/// The longest wait of a watch, and the longest one for the acknowledgment.
const MAX_WAIT: Millis = Millis(60_000);
const A_MOMENT: Millis = Millis(1);
