use mcp_listen::{
    bus::{BusMessage, EdgeId, EdgeMessage, Mark},
    edge::SharedEvents,
    line::{LineCall, LineOutput},
    listen::Ending,
};

use crate::{
    absence::Absence,
    answer::Refusal,
    invariant::{Violation, hold},
    isolate::{Isolate, MOST_HOPS, Rider},
    network::{Close, Frame, Note, SocketId, Way},
    taking::note_of,
    world::World,
};

/// What goes on between the streams of an isolate, the line that they share, and the bus.
impl World {
    /// Takes a stream in on the line of its isolate.
    pub(crate) fn ride(&mut self, at: usize) {
        let now = self.now;
        let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) else {
            return;
        };
        host.is_riding = true;
        let (place, interest) = (host.isolate, host.interest());
        let isolate = &mut self.isolates[place];
        let edge = isolate.line.attach(&interest, now);
        isolate.riders.insert(edge, Rider::of(at));
        if isolate.holder.is_none() {
            self.appoint(place, edge);
        }
    }

    /// A stream asks its line whether it missed anything, or wants something else from now on.
    pub(crate) fn ask_line(&mut self, at: usize) {
        let now = self.now;
        let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) else {
            return;
        };
        let (place, interest, since) = (host.isolate, host.interest(), host.since());
        let isolate = &mut self.isolates[place];
        if let Some(edge) = isolate.rider_of(at) {
            isolate.line.attach_again(edge, &interest, since, now);
        }
    }

    /// Does what a line wants done; the answer is whether there was anything.
    pub(crate) fn serve(&mut self, place: usize) -> Result<bool, Violation> {
        let (now, budget) = (self.now, self.budget());
        let mut has_done = false;
        while self.isolates[place].is_served() {
            let Some(call) = self.isolates[place].line.poll_call(now) else {
                break;
            };
            has_done = true;
            self.note(|| format!("  line {place} calls for {call:?}"));
            match call {
                LineCall::Leave => self.hang_up(place, false),
                LineCall::Attach(text) => self.open_line(place, text)?,
                LineCall::Send(text) => self.send_up(place, text),
            }
        }
        has_done |= self.tell(place)?;
        let isolate = &self.isolates[place];
        if isolate.is_served() {
            if isolate.must_retire(budget) {
                self.hand_over(place, isolate.holder)?;
                has_done = true;
            } else if isolate.must_shed(budget, now) {
                self.shed(place)?;
                has_done = true;
            }
        }
        let random = self.random();
        self.isolates[place].watch(now, random);
        Ok(has_done)
    }

    /// What is due at a line, or at those who watch it.
    pub(crate) fn isolate_timeout(&mut self, place: usize) -> Result<(), Violation> {
        let (now, random) = (self.now, self.random());
        let isolate = &mut self.isolates[place];
        let is_due = isolate.line.poll_timeout().is_some_and(|at| at <= now);
        if is_due && isolate.is_served() {
            isolate.line.handle_timeout(now, random);
        }
        if isolate.line.is_away() && !isolate.riders.is_empty() {
            isolate.absence.get_or_insert(Absence::since(now));
        }
        if isolate.takes_over_at.take_if(|at| *at <= now).is_some() {
            self.take_over(place)?;
        }
        Ok(())
    }

    /// A frame of the bus came to a line. Those that come in one turn are served together.
    pub(crate) fn hear_on_line(&mut self, place: usize, frame: &Frame) -> Result<(), Violation> {
        let now = self.now;
        self.note(|| format!("  line {place} hears {}", frame.text));
        let confirms = matches!(frame.note, Note::Attached | Note::Adjusted);
        let is_current = self.isolates[place].epoch == self.bus.disk().mark().epoch;
        let head = BusMessage::head_in(&frame.text).filter(|_| confirms && is_current);
        let head = head.and_then(|head| self.bus.disk().published(head));
        if confirms {
            self.tell(place)?;
        }
        let isolate = &mut self.isolates[place];
        isolate.has_heard = true;
        // A frame that had to be dropped is counted on a real host, and nothing more.
        isolate.line.handle_message(&frame.text, now).ok();
        if !isolate.line.is_away() {
            isolate.absence = None;
        }
        if confirms {
            isolate.confirmed = head.map_or(0, |(_, number)| number);
            self.tell(place)?;
            self.isolates[place].confirmed = 0;
        }
        Ok(())
    }

    /// The connection of a line is gone, or could not be made.
    pub(crate) fn lose_line(
        &mut self,
        place: usize,
        how: Close,
        is_overloaded: bool,
    ) -> Result<(), Violation> {
        let (now, random) = (self.now, self.random());
        self.note(|| format!("  line {place} loses its bus: {how:?}"));
        let isolate = &mut self.isolates[place];
        isolate.socket = None;
        if how == Close::Moved {
            isolate.home = None;
            isolate.moves += 1;
            if !isolate.has_heard && isolate.hops < MOST_HOPS {
                isolate.hops += 1;
                return self.connect_line(place);
            }
            isolate.line.handle_sent_on(now, random);
        } else {
            let since = isolate.absence.map_or(now, |absence| absence.since);
            isolate.absence = Some(Absence {
                is_overloaded,
                ..Absence::since(since)
            });
            isolate.line.handle_lost(now, random, is_overloaded);
        }
        self.tell(place)?;
        Ok(())
    }

    /// A stream is on its line no longer. Where its request had the socket, another one opens the next.
    pub(crate) fn alight(&mut self, at: usize) -> Result<(), Violation> {
        let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) else {
            return Ok(());
        };
        host.is_riding = false;
        let place = host.isolate;
        let Some(edge) = self.isolates[place].rider_of(at) else {
            return Ok(());
        };
        self.remove(place, edge)
    }

    /// Gives the streams what their line has for them; the answer is whether there was anything.
    fn tell(&mut self, place: usize) -> Result<bool, Violation> {
        let budget = self.budget();
        let mut has_told = false;
        while !self.isolates[place].must_retire(budget) {
            let Some(output) = self.isolates[place].line.poll_output() else {
                break;
            };
            has_told = true;
            let writes = match output {
                LineOutput::Send { messages, edges } => {
                    self.give_all(place, &messages, &edges)?;
                    edges.len()
                }
                LineOutput::Lose { edge, since } => {
                    self.part(place, edge, since, false)?;
                    1
                }
                LineOutput::Refuse(edge) => {
                    self.part(place, edge, None, false)?;
                    1
                }
            };
            self.isolates[place].count(writes);
        }
        Ok(has_told)
    }

    fn give_all(
        &mut self,
        place: usize,
        messages: &[String],
        edges: &[EdgeId],
    ) -> Result<(), Violation> {
        let shared = (edges.len() > 1).then(|| SharedEvents::read(messages));
        let mut shared = shared.flatten();
        for edge in edges {
            self.check_head(place, *edge, messages)?;
            let (now, published) = (self.now, self.ledger.now());
            let rider = self.isolates[place].riders.get(edge).copied();
            let Some(Rider { client: at, .. }) = rider else {
                continue;
            };
            self.note(|| format!("    client {at} gets {}", messages.join(" ")));
            if let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) {
                host.take(messages, shared.as_mut(), published, now)?;
            }
            self.pump(at)?;
        }
        Ok(())
    }

    /// Who waited for the answer of the bus takes nothing at or before the head that the answer names.
    fn check_head(
        &mut self,
        place: usize,
        edge: EdgeId,
        messages: &[String],
    ) -> Result<(), Violation> {
        let Isolate {
            riders, confirmed, ..
        } = &mut self.isolates[place];
        let Some(rider) = riders.get_mut(&edge) else {
            return Ok(());
        };
        for message in messages {
            match note_of(message) {
                Note::Attached if !rider.is_told => {
                    rider.is_told = true;
                    rider.head = *confirmed;
                }
                Note::Event { key, .. } => {
                    let is_news = rider.head == 0 || self.ledger.last(key) > rider.head;
                    hold(
                        "nothing from before the acknowledgment that waited for the bus",
                        is_news,
                        || format!("client {}: {}", rider.client, key.name()),
                    )?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A stream is held by its line no longer: it attaches by itself, or ends.
    pub(crate) fn part(
        &mut self,
        place: usize,
        edge: EdgeId,
        since: Option<Mark>,
        is_exhausted: bool,
    ) -> Result<(), Violation> {
        let (now, random) = (self.now, self.random());
        let Some(Rider { client: at, .. }) = self.isolates[place].riders.get(&edge).copied() else {
            return Ok(());
        };
        self.note(|| format!("  client {at} is parted from line {place}, since {since:?}"));
        if let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) {
            host.is_riding = false;
        }
        self.remove(place, edge)?;
        let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) else {
            return Ok(());
        };
        if host.is_opening() {
            return self.refuse(at);
        }
        match since {
            Some(since) => host.edge().handle_parted(since, now, random),
            None => host.lose(now, random, false),
        }
        if is_exhausted {
            host.allow(Ending::Exhausted);
            host.edge().stream().retire_at(now, Ending::Exhausted);
        }
        self.pump(at)
    }

    fn open_line(&mut self, place: usize, text: String) -> Result<(), Violation> {
        self.hang_up(place, false);
        let isolate = &mut self.isolates[place];
        isolate.attach_frame = text;
        isolate.has_heard = false;
        isolate.hops = 0;
        self.connect_line(place)
    }

    fn connect_line(&mut self, place: usize) -> Result<(), Violation> {
        let home = self.isolates[place].home;
        let (now, refusal) = (self.now, self.bus.refusal());
        match refusal.filter(|_| home.is_none()) {
            Some(Refusal::Silent) => {
                let isolate = &mut self.isolates[place];
                isolate.absence = Some(Absence {
                    is_hanging: true,
                    ..isolate.absence.unwrap_or_else(|| Absence::since(now))
                });
                Ok(())
            }
            Some(refusal) => self.lose_line(place, Close::Lost, refusal == Refusal::Overloaded),
            None => {
                let socket = self.network.connect(false);
                if !self.seat(socket, home) {
                    self.network.cut(socket);
                    self.isolates[place].home = None;
                    return self.lose_line(place, Close::Lost, false);
                }
                let home = self.shards.home(socket);
                let epoch = self.bus.disk().mark().epoch;
                let isolate = &mut self.isolates[place];
                (isolate.socket, isolate.home, isolate.epoch) = (Some(socket), home, epoch);
                let text = isolate.attach_frame.clone();
                self.send_up(place, text);
                Ok(())
            }
        }
    }

    fn send_up(&mut self, place: usize, text: String) {
        if let Some(socket) = self.isolates[place].socket {
            self.note(|| format!("  line {place} on socket {}: {text}", socket.0));
            let note = Note::Attach;
            self.network.send(socket, Way::ToBus, Frame { text, note });
        }
    }

    /// The request that has the socket closes it; later, where another one tried.
    pub(crate) fn hang_up(&mut self, place: usize, is_late: bool) {
        let socket = self.isolates[place].socket.take();
        if let Some(socket) = socket {
            self.leave_socket(socket, is_late);
        }
    }

    /// Says goodbye on a socket and closes it.
    pub(crate) fn leave_socket(&mut self, socket: SocketId, is_late: bool) {
        if is_late && !self.is_unlucky {
            self.network.set_held(socket, Way::ToBus, true);
        }
        let text = EdgeMessage::Detach.to_json();
        let note = Note::Detach;
        self.network.send(socket, Way::ToBus, Frame { text, note });
        self.network.close(socket, Way::ToBus, Close::Lost);
        self.network.shut(socket, Way::ToEdge);
    }
}
