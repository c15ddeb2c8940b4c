use mcp_listen::{
    fanout::{Published, StreamId, WriteBatch},
    isolate::{IsolateOutput, MovedStream},
    listen::ServerStream,
};

use crate::{
    host::Host,
    invariant::{Violation, hold},
    isolate::Rider,
    key::Key,
    pending::{Pending, Told},
    world::World,
};

/// The outputs of an isolate for its streams.
impl World {
    /// Passes the outputs to the streams; returns whether there were any.
    pub(crate) fn tell(&mut self, place: usize) -> Result<bool, Violation> {
        let now = self.now;
        let mut has_told = false;
        while let Some(output) = self.isolates[place].core.poll_output(now) {
            has_told = true;
            self.isolates[place].count(writes(&output));
            match output {
                IsolateOutput::Write(fan) => {
                    self.write(place, &fan)?;
                }
                IsolateOutput::Poll(ids) => {
                    self.poll(place, &ids)?;
                }
                IsolateOutput::Refused { id, .. } => {
                    let client = self.isolates[place].rider(id).map(|rider| rider.client);
                    if let Some(at) = client {
                        self.refuse(at)?;
                    }
                }
                IsolateOutput::Moved(parted) => {
                    self.part(place, *parted)?;
                }
            }
        }
        Ok(has_told)
    }

    /// Events were fanned out: each stream has them written, or they are pending.
    fn write(&mut self, place: usize, fan: &WriteBatch) -> Result<(), Violation> {
        let (now, published) = (self.now, self.ledger.now());
        let events = self.isolates[place].core.streams().last().to_vec();
        let riders = self.isolates[place].riders.clone();
        let mut missed = Vec::new();
        for (id, chunk) in &fan.writes {
            let Some(rider) = riders.iter().find(|rider| rider.id == *id) else {
                continue;
            };
            let Self {
                clients, isolates, ..
            } = self;
            let stream = isolates[place].core.stream(*id).unwrap();
            let host = clients[rider.client].host.as_mut().unwrap();
            if host.written_at.is_some() {
                missed.push(*id);
                continue;
            }
            host.write_at_once(fan.chunk(*chunk), stream, published, now)?;
            self.note(|| format!("    client {} is written to", rider.client));
        }
        let fanout = self.isolates[place].core.fanout();
        fanout.handle_missed(missed, now);
        fanout.take_due();
        for rider in &riders {
            self.check_head(rider, &events)?;
            let Self {
                clients, isolates, ..
            } = self;
            let stream = isolates[place].core.stream(rider.id).unwrap();
            let host = clients[rider.client].host.as_mut().unwrap();
            let told = heard_of(&events, host.pending(), stream);
            host.count(&told, stream)?;
            self.block(place, rider);
            self.pump(rider.client)?;
        }
        Ok(())
    }

    fn block(&mut self, place: usize, rider: &Rider) {
        let now = self.now;
        let Self {
            clients, isolates, ..
        } = self;
        let host = clients[rider.client].host.as_ref().unwrap();
        if host.written.is_some() {
            let fanout = isolates[place].core.fanout();
            fanout.with_stream(rider.id, |stream| stream.handle_blocked(now));
        }
    }

    /// Streams were attached, or may have missed something.
    fn poll(&mut self, place: usize, ids: &[StreamId]) -> Result<(), Violation> {
        for id in ids {
            let isolate = &mut self.isolates[place];
            let confirmed = isolate.confirmed;
            let Some(rider) = isolate.rider_mut(*id) else {
                continue;
            };
            let at = rider.client;
            let host = self.clients[at].host.as_ref();
            let goes_on = host.is_some_and(Host::is_of_session);
            if !rider.is_told {
                rider.is_told = true;
                rider.head = if goes_on { 0 } else { confirmed };
            }
            let Self {
                clients, isolates, ..
            } = self;
            let stream = isolates[place].core.stream(*id).unwrap();
            let host = clients[at].host.as_mut().unwrap();
            host.count(&[Told::All], stream)?;
            self.pump(at)?;
        }
        Ok(())
    }

    /// A stream that waited for the answer of the bus takes nothing at or before the head that the
    /// answer names.
    fn check_head(&self, rider: &Rider, events: &[Published]) -> Result<(), Violation> {
        let client = &self.clients[rider.client];
        let Some(host) = &client.host else {
            return Ok(());
        };
        for published in events {
            let key = Key::of(&published.event);
            let is_given =
                host.pending().has(key) || host.written.as_ref().is_some_and(|it| it.tells_of(key));
            let is_news = rider.head == 0 || self.ledger.last(key) > rider.head;
            hold(
                "nothing from before an acknowledgment that waited for the bus",
                !is_given || is_news,
                || format!("client {}: {}", rider.client, key.name()),
            )?;
        }
        Ok(())
    }

    /// A stream continues in a separate isolate.
    fn part(&mut self, place: usize, parted: MovedStream) -> Result<(), Violation> {
        let (now, random) = (self.now, self.random());
        let MovedStream { id, stream, since } = parted;
        let Some(at) = self.isolates[place].rider(id).map(|rider| rider.client) else {
            return Ok(());
        };
        self.note(|| format!("  client {at} is parted with, since {since:?}"));
        self.remove(place, id)?;
        let place = self.alone();
        let id = self.isolates[place].core.adopt(stream, since, now, random);
        self.enter(at, place, id)?;
        if let Some(rider) = self.isolates[place].rider_mut(id) {
            rider.is_told = true;
        }
        self.pump(at)
    }
}

/// The number of streams that are written to.
fn writes(output: &IsolateOutput) -> usize {
    match output {
        IsolateOutput::Write(fan) => fan.writes.len(),
        IsolateOutput::Poll(ids) => ids.len(),
        IsolateOutput::Refused { .. } | IsolateOutput::Moved(_) => 1,
    }
}

/// The events that a stream receives: those at or before the head of its acknowledgment are
/// excluded.
fn heard_of(events: &[Published], pending: &Pending, stream: &ServerStream) -> Vec<Told> {
    let honored = stream.honored();
    let mut heard: Vec<&Published> = events
        .iter()
        .filter(|published| honored.accepts(&published.event))
        .collect();
    let is_new = |published: &&Published| !pending.has(Key::of(&published.event));
    while heard.iter().copied().filter(|it| is_new(it)).count() > pending.added(stream) {
        let lowest = heard.iter().copied().filter(|it| is_new(it));
        let lowest = lowest.map(|published| published.position).min();
        heard.retain(|published| Some(published.position) != lowest);
    }
    heard
        .into_iter()
        .map(|published| Told::Change(Key::of(&published.event)))
        .collect()
}
