use mcp_listen::{
    fanout::{Published, StreamId, WriteBatch},
    isolate::{IsolateOutput, MovedStream},
    listen::ServerStream,
};

use crate::{
    host::Host,
    invariant::{Violation, ensure},
    isolate::Member,
    key::Key,
    pending::{Content, Pending},
    world::World,
};

/// The outputs of an isolate for its streams.
impl World {
    /// Passes the outputs to the streams; returns whether there were any.
    pub(crate) fn write_outputs(&mut self, place: usize) -> Result<bool, Violation> {
        let now = self.now;
        let mut has_output = false;
        while let Some(output) = self.isolates[place].core.poll_output(now) {
            has_output = true;
            self.isolates[place].count(writes(&output));
            match output {
                IsolateOutput::Write(batch) => {
                    self.write(place, &batch)?;
                }
                IsolateOutput::Poll(ids) => {
                    self.poll(place, &ids)?;
                }
                IsolateOutput::Refused { id, .. } => {
                    let client = self.isolates[place].member(id).map(|member| member.client);
                    if let Some(at) = client {
                        let host = self.clients[at].host.as_ref();
                        let is_open = host.is_some_and(Host::is_open);
                        ensure("a stream that was not ended stays open", !is_open, || {
                            format!("client {at} is refused")
                        })?;
                        self.refuse(at)?;
                    }
                }
                IsolateOutput::Moved(moved) => {
                    self.part(place, *moved)?;
                }
                other => panic!("not known: {other:?}"),
            }
        }
        Ok(has_output)
    }

    /// Events were fanned out: each stream has them written, or they are pending.
    fn write(&mut self, place: usize, batch: &WriteBatch) -> Result<(), Violation> {
        let (now, published) = (self.now, self.ledger.now());
        let events = self.isolates[place].core.streams().last().to_vec();
        let members = self.isolates[place].members.clone();
        let mut missed = Vec::new();
        for (id, chunk) in &batch.writes {
            let Some(member) = members.iter().find(|member| member.id == *id) else {
                continue;
            };
            let Self {
                clients, isolates, ..
            } = self;
            let stream = isolates[place].core.stream(*id).unwrap();
            let host = clients[member.client].host.as_mut().unwrap();
            if host.written_at.is_some() {
                missed.push(*id);
                continue;
            }
            host.write_at_once(batch.chunk(*chunk), stream, published, now)?;
            self.note(|| format!("    client {} is written to", member.client));
        }
        let fanout = self.isolates[place].core.fanout();
        fanout.handle_missed(missed, now);
        fanout.take_due();
        for member in &members {
            self.check_head(member, &events)?;
            let Self {
                clients, isolates, ..
            } = self;
            let stream = isolates[place].core.stream(member.id).unwrap();
            let host = clients[member.client].host.as_mut().unwrap();
            let received = received_by(&events, host.pending(), stream);
            host.count(&received, stream)?;
            self.block(place, member);
            self.pump(member.client)?;
        }
        Ok(())
    }

    fn block(&mut self, place: usize, member: &Member) {
        let now = self.now;
        let Self {
            clients, isolates, ..
        } = self;
        let host = clients[member.client].host.as_ref().unwrap();
        if host.written.is_some() {
            let fanout = isolates[place].core.fanout();
            fanout.with_stream(member.id, |stream| stream.handle_blocked(now));
        }
    }

    /// Streams were attached, or may have missed something.
    fn poll(&mut self, place: usize, ids: &[StreamId]) -> Result<(), Violation> {
        for id in ids {
            let isolate = &mut self.isolates[place];
            let confirmed = isolate.confirmed;
            let Some(member) = isolate.member_mut(*id) else {
                continue;
            };
            let at = member.client;
            let host = self.clients[at].host.as_ref();
            let goes_on = host.is_some_and(Host::is_of_session);
            if !member.is_attached {
                member.is_attached = true;
                member.head = if goes_on { 0 } else { confirmed };
            }
            let Self {
                clients, isolates, ..
            } = self;
            let stream = isolates[place].core.stream(*id).unwrap();
            let host = clients[at].host.as_mut().unwrap();
            host.count(&[Content::All], stream)?;
            self.pump(at)?;
        }
        Ok(())
    }

    /// A stream that waited for the reply of the bus takes nothing at or before the head that the
    /// reply names.
    fn check_head(&self, member: &Member, events: &[Published]) -> Result<(), Violation> {
        let client = &self.clients[member.client];
        let Some(host) = &client.host else {
            return Ok(());
        };
        for published in events {
            let key = Key::of(&published.event);
            let is_given =
                host.pending().has(key) || host.written.as_ref().is_some_and(|it| it.contains(key));
            let is_news = member.head == 0 || self.ledger.last(key) > member.head;
            ensure(
                "nothing from before an acknowledgment that waited for the bus",
                !is_given || is_news,
                || format!("client {}: {}", member.client, key.name()),
            )?;
        }
        Ok(())
    }

    /// A stream continues in a separate isolate.
    fn part(&mut self, place: usize, moved: MovedStream) -> Result<(), Violation> {
        let (now, random) = (self.now, self.random());
        let MovedStream {
            id, stream, since, ..
        } = moved;
        let Some(at) = self.isolates[place].member(id).map(|member| member.client) else {
            return Ok(());
        };
        self.note(|| format!("  client {at} is moved with, since {since:?}"));
        self.remove(place, id)?;
        let place = self.alone();
        let id = self.isolates[place].core.adopt(stream, since, now, random);
        self.enter(at, place, id)?;
        if let Some(member) = self.isolates[place].member_mut(id) {
            member.is_attached = true;
        }
        self.pump(at)
    }
}

/// The number of streams that are written to.
fn writes(output: &IsolateOutput) -> usize {
    match output {
        IsolateOutput::Write(batch) => batch.writes.len(),
        IsolateOutput::Poll(ids) => ids.len(),
        IsolateOutput::Refused { .. } | IsolateOutput::Moved(_) => 1,
        other => panic!("not known: {other:?}"),
    }
}

/// The events that a stream receives: those at or before the head of its acknowledgment are
/// excluded.
fn received_by(events: &[Published], pending: &Pending, stream: &ServerStream) -> Vec<Content> {
    let honored = stream.honored();
    let mut received: Vec<&Published> = events
        .iter()
        .filter(|published| honored.accepts(&published.event))
        .collect();
    let is_new = |published: &&Published| !pending.has(Key::of(&published.event));
    while received.iter().copied().filter(|it| is_new(it)).count() > pending.added(stream) {
        let lowest = received.iter().copied().filter(|it| is_new(it));
        let lowest = lowest.map(|published| published.position).min();
        received.retain(|published| Some(published.position) != lowest);
    }
    received
        .into_iter()
        .map(|published| Content::Change(Key::of(&published.event)))
        .collect()
}
