use mcp_listen::{
    error::Reason,
    isolate::SessionStart,
    listen::{EndReason, ServerStream, StreamKind},
    session::{Ask, NewSession, Question, Reply},
};

use crate::{
    client::Client,
    host::{Host, Opening, STALL},
    invariant::{Violation, ensure},
    key::Key,
    register::check_room,
    request::{Asks, initialize_result},
    visit::{Fault, IDLE, Outcome, Todo, Visit, capabilities},
    wire::Reader,
    world::World,
};

/// The outcome of a question to a session.
enum Asked {
    Replied(Reply),
    /// Calls to shards come first.
    Waits,
    Failed,
}

/// Requests of clients, each led through an exchange.
impl World {
    /// A client sends a request.
    pub(crate) fn request(&mut self, at: usize, asks: Asks, fault: u8) -> Result<(), Violation> {
        self.request_in(at, asks, fault, 0)
    }

    /// The same, in an isolate.
    pub(crate) fn request_in(
        &mut self,
        at: usize,
        asks: Asks,
        fault: u8,
        isolate: usize,
    ) -> Result<(), Violation> {
        let opened_in = self.is_well().then_some(self.disturbances);
        let client = &self.clients[at];
        let request = client.request(asks);
        let mut visit = Visit::new(self.service.clone(), at, asks, request);
        visit.principal = client.principal();
        self.note(|| format!("client {at} asks: {asks:?}"));
        visit.isolate = isolate % self.shared_isolates();
        visit.fault = if self.setup.has_bad_requests {
            Fault::of(fault)
        } else {
            Fault::None
        };
        let may_fail = visit.fault != Fault::None || !self.has_room_in_any_case(at);
        visit.opened_in = opened_in.filter(|_| !may_fail);
        self.go_on(visit)
    }

    /// Another caller begins a session.
    pub(crate) fn intrude(&mut self, at: usize) -> Result<(), Violation> {
        let client = &self.clients[at];
        if client.session_id().is_none() {
            return Ok(());
        }
        let request = client.request(Asks::Open);
        let mut visit = Visit::new(self.service.clone(), at, Asks::Ping, request);
        visit.principal = Some("eve");
        self.go_on(visit)
    }

    /// A call to a shard is done: requests that waited only for it get a reply.
    pub(crate) fn handle_confirmed(&mut self, ticket: u32) -> Result<(), Violation> {
        for mut visit in std::mem::take(&mut self.visits) {
            visit.awaited.remove(&ticket);
            let reply = visit.reply.take_if(|_| visit.awaited.is_empty());
            let Some(reply) = reply else {
                self.visits.push(visit);
                continue;
            };
            visit.core.handle_reply(reply);
            self.go_on(visit)?;
        }
        Ok(())
    }

    /// A call to a shard failed, or the bus has restarted: requests that waited for it are refused.
    pub(crate) fn fail_visits(&mut self, ticket: Option<u32>) -> Result<(), Violation> {
        let (failed, waiting) = std::mem::take(&mut self.visits)
            .into_iter()
            .partition(|visit| ticket.is_none_or(|ticket| visit.awaited.contains(&ticket)));
        self.visits = waiting;
        let failed: Vec<Visit> = failed;
        for visit in failed {
            let refused = unavailable(&visit);
            self.conclude(&visit, refused)?;
        }
        Ok(())
    }

    fn go_on(&mut self, mut visit: Visit) -> Result<(), Violation> {
        loop {
            let outcome = match visit.advance()? {
                Todo::Ask(question) => match self.ask(&mut visit, &question)? {
                    Asked::Replied(reply) => {
                        visit.core.handle_reply(reply);
                        continue;
                    }
                    Asked::Waits => {
                        self.visits.push(visit);
                        return Ok(());
                    }
                    Asked::Failed => unavailable(&visit),
                },
                Todo::Initialize => self.initialize(&visit)?,
                Todo::Open => self.open_stream(&mut visit)?,
                Todo::End(outcome) => outcome,
            };
            return self.conclude(&visit, outcome);
        }
    }

    fn ask(&mut self, visit: &mut Visit, question: &Question) -> Result<Asked, Violation> {
        if self.bus.refusal().is_some() {
            return Ok(Asked::Failed);
        }
        let is_own = question.principal.as_deref() == self.clients[visit.at].principal();
        self.bus.wake();
        self.register.observe(&self.bus, self.now)?;
        let is_watch = matches!(question.ask, Ask::Subscribe { .. });
        let before = is_watch.then(|| self.bus.disk().sessions.rows().clone());
        if is_own {
            self.clients[visit.at].handle_asked(&question.ask);
            for client in self.of_session(&question.session) {
                client.handle_shared(&question.ask);
            }
        }
        let fault = visit.fault.disk();
        let reply = self.bus.ask_session(question.clone(), self.now, fault);
        let Ok(reply) = reply else {
            self.break_disk()?;
            return Ok(Asked::Failed);
        };
        self.note(|| format!("  {:?}: {reply:?}", question.ask));
        self.register.check_reply(question, &reply, self.now)?;
        self.check_count()?;
        if let (Ask::Subscribe { uri, limits }, Some(before)) = (&question.ask, &before) {
            let id = &question.session;
            let is_watched = before.uris(id).any(|watched| watched == uri);
            check_room(id, before, &reply, limits, is_watched)?;
        }
        match (&question.ask, &reply) {
            (Ask::Initialized { .. }, Reply::Done) => {
                let clients = self.of_session(&question.session);
                clients.for_each(|client| client.is_ready = true);
            }
            (Ask::End { .. }, Reply::Done) => self.disturbances += 1,
            _ => {}
        }
        visit.awaited = self.post_session_calls();
        self.route();
        if visit.awaited.is_empty() {
            return Ok(Asked::Replied(reply));
        }
        visit.reply = Some(reply);
        Ok(Asked::Waits)
    }

    /// The clients that have a stream of a session, or had one.
    fn of_session<'w>(&'w mut self, id: &'w str) -> impl Iterator<Item = &'w mut Client> {
        let clients = self.clients.iter_mut();
        clients.filter(move |client| client.session_id() == Some(id))
    }

    /// The disk failed: the writes are rolled back, and the object is reset.
    fn break_disk(&mut self) -> Result<(), Violation> {
        self.note(|| "  the disk fails".to_owned());
        self.disturbances += 1;
        self.reset_bus(self.spin.is_multiple_of(2))
    }

    /// Forwards it to the upstream server, and begins a session from the reply.
    fn initialize(&mut self, visit: &Visit) -> Result<Outcome, Violation> {
        let client = &self.clients[visit.at];
        if let Fault::Upstream(status) = visit.fault {
            return Ok(Outcome::Forwarded(status));
        }
        let known = capabilities(&client.lists().filter());
        let result = initialize_result(known);
        let initialized = visit.core.initialized(result.as_bytes(), Some(known));
        let Some(initialized) = initialized else {
            return Err(Violation::new("a reply to initialize is valid", result));
        };
        let principal = visit.principal.map(Into::into);
        let new = NewSession {
            address: visit.principal.is_none().then(|| "192.0.2.1".into()),
            principal,
            upstream_id: self.setup.has_upstream_ids.then(|| "upstream".into()),
            capabilities: initialized.capabilities.to_json().into(),
            idle: IDLE.into(),
        };
        if self.bus.refusal().is_some() {
            return Ok(unavailable(visit));
        }
        let id: Box<str> = format!("s{}", self.begun).into();
        self.begun += 1;
        self.bus.wake();
        self.register.observe(&self.bus, self.now)?;
        let before = self.bus.disk().sessions.rows().clone();
        let (limits, fault) = (self.limits, visit.fault.disk());
        let begun = self.bus.begin_session(&id, new, &limits, self.now, fault);
        let Ok(begun) = begun else {
            self.break_disk()?;
            return Ok(unavailable(visit));
        };
        let has_evicted = self.register.begin(&id, &self.bus, &before, self.now)?;
        self.disturbances += u64::from(has_evicted);
        self.check_count()?;
        self.post_session_calls();
        self.route();
        ensure(
            "a session begins if there is room",
            begun || self.setup.bounds % 4 == 3,
            || format!("client {}", visit.at),
        )?;
        let refused = || Outcome::Responded(visit.core.refuse(Reason::TooManySessions));
        Ok(if begun { Outcome::Begun(id) } else { refused() })
    }

    fn open_stream(&mut self, visit: &mut Visit) -> Result<Outcome, Violation> {
        let Some((stream, start)) = visit.core.open(self.keep_alive(), self.now) else {
            let how = format!("client {}", visit.at);
            return Err(Violation::new("a stream to be opened is created", how));
        };
        match &start {
            Some(start) => self.check_session_start(visit, start)?,
            None if visit.fault == Fault::DeniedResources => {
                self.clients[visit.at].deny_resources();
            }
            None => {}
        }
        Ok(Outcome::Opened(Box::new(stream), start))
    }

    fn check_session_start(
        &mut self,
        visit: &Visit,
        start: &SessionStart,
    ) -> Result<(), Violation> {
        let client = &mut self.clients[visit.at];
        let rows = self.bus.disk().sessions.rows();
        let is_denied = self.setup.authorizes && visit.fault == Fault::DeniedResources;
        let id = client.session_id().filter(|_| is_denied);
        let denied: Vec<_> = id
            .into_iter()
            .flat_map(|id| rows.uris(id))
            .cloned()
            .collect();
        ensure(
            "a stream sends nothing that its caller may not receive",
            start.denied == denied,
            || format!("{denied:?} is denied, and {:?} left out", start.denied),
        )?;
        client.handle_opened(&denied, self.ledger.now());
        Ok(())
    }

    fn conclude(&mut self, visit: &Visit, outcome: Outcome) -> Result<(), Violation> {
        let (at, asks) = (visit.at, visit.asks);
        let published = self.ledger.now();
        self.note(|| format!("  client {at}: {}", outcome.name()));
        match outcome {
            Outcome::Opened(stream, start) => return self.hold_stream(visit, *stream, start),
            Outcome::Begun(id) => self.clients[at].start_over(id, published),
            Outcome::Forwarded(404) if asks != Asks::Initialize => self.clients[at].lose_session(),
            Outcome::Responded(response) => {
                self.respond_to_watch(at, &response);
                let is_done = response.refusal.is_none();
                let is_over = response.status == Reason::SessionNotFound.status()
                    && !matches!(visit.fault, Fault::Foreign)
                    && visit.principal != Some("eve");
                match asks {
                    _ if is_over => self.clients[at].lose_session(),
                    Asks::Subscribe(key) if is_done && self.is_watched(at, key) => {
                        self.clients[at].watch(key, published);
                    }
                    Asks::End if is_done => self.clients[at].lose_session(),
                    Asks::Listen | Asks::Open => self.check_refused(visit, response.status)?,
                    _ => {}
                }
            }
            Outcome::Forwarded(_) => ensure(
                "our requests get a reply here",
                matches!(asks, Asks::Initialize | Asks::Initialized | Asks::End),
                || format!("{asks:?} is forwarded"),
            )?,
        }
        Ok(())
    }

    fn check_refused(&self, visit: &Visit, status: u16) -> Result<(), Violation> {
        let is_in_the_way = status == Reason::StreamTaken.status();
        ensure(
            "a stream that can be opened opens",
            is_in_the_way || visit.opened_in != Some(self.disturbances),
            || format!("client {} got {status}", visit.at),
        )
    }

    fn hold_stream(
        &mut self,
        visit: &Visit,
        mut stream: ServerStream,
        start: Option<SessionStart>,
    ) -> Result<(), Violation> {
        stream.stall_after(STALL);
        let at = visit.at;
        let is_session = start.is_some();
        let is_empty = stream.honored().is_empty();
        let client = &mut self.clients[at];
        let reader = match stream.kind() {
            StreamKind::Listen(id) if client.is_watching() => Reader::Watch(id.clone()),
            StreamKind::Listen(id) => {
                Reader::Subscription(client.listen_id().unwrap_or_else(|| id.clone()))
            }
            _ => Reader::Session,
        };
        let opening = Opening {
            reader,
            stream,
            start,
            isolate: visit.isolate,
            read: client.read_up_to(),
        };
        let mut host = Host::open(opening, self.now);
        host.opened_in = visit.opened_in;
        // A listen without an honored topic gets its result at once.
        if is_empty && !is_session {
            host.allow(EndReason::Closed);
        }
        client.host = Some(host);
        if is_session {
            self.join_alone(at)
        } else {
            self.connect(at)
        }
    }

    /// Whether the session of a client is subscribed to a resource, according to the disk.
    fn is_watched(&self, at: usize, key: Key) -> bool {
        let rows = self.bus.disk().sessions.rows();
        let id = self.clients[at].session_id();
        id.is_some_and(|id| rows.uris(id).any(|uri| **uri == *key.name()))
    }

    /// The core counts exactly the existing sessions.
    fn check_count(&mut self) -> Result<(), Violation> {
        let counted = self.bus.count_sessions();
        let stored = self.bus.disk().sessions.rows().all().count();
        ensure(
            "the count of sessions is right",
            counted.is_none_or(|counted| counted == stored),
            || format!("{counted:?} of {stored}"),
        )
    }
}

impl Outcome {
    fn name(&self) -> String {
        match self {
            Self::Responded(response) => format!("{} {:?}", response.status, response.body),
            Self::Forwarded(status) => format!("{status} of the upstream server"),
            Self::Begun(id) => format!("session {id} begins"),
            Self::Opened(..) => "a stream is opened".to_owned(),
        }
    }
}

fn unavailable(visit: &Visit) -> Outcome {
    Outcome::Responded(visit.core.refuse(Reason::Unavailable))
}
