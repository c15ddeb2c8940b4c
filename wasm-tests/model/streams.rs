use mcp_listen::{
    fanout::StreamId,
    listen::EndReason,
    position::Position,
    upstream::UpstreamCall,
    wire::{BusMessage, EdgeMessage, FollowResponse},
};

use crate::{
    absence::Absence,
    invariant::{Violation, ensure},
    isolate::{Isolate, MAX_HOPS, Member},
    network::{Close, Frame, Note, SocketId, Way},
    reply::Refusal,
    world::World,
};

/// The steps between the streams of an isolate and the bus.
impl World {
    /// Adds a stream to an isolate.
    pub(crate) fn join_isolate(&mut self, at: usize, place: usize) -> Result<(), Violation> {
        let now = self.now;
        let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) else {
            return Ok(());
        };
        let Some((stream, start)) = host.made.take() else {
            return Ok(());
        };
        let core = &mut self.isolates[place].core;
        let id = match start {
            Some(start) => core.open_session(stream, start, now),
            None => core.open(stream, now),
        };
        self.enter(at, place, id)?;
        // What is delivered at once, and what is published once the client has read that.
        self.write_outputs(place)?;
        Ok(())
    }

    /// Adds a stream to a separate isolate.
    pub(crate) fn join_alone(&mut self, at: usize) -> Result<(), Violation> {
        let place = self.alone();
        self.join_isolate(at, place)
    }

    /// One more isolate, for one stream.
    pub(crate) fn alone(&mut self) -> usize {
        let isolate = Isolate::new(self.probe_interval(), self.budget());
        self.isolates.push(isolate);
        self.isolates.len() - 1
    }

    pub(crate) fn enter(&mut self, at: usize, place: usize, id: StreamId) -> Result<(), Violation> {
        if let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) {
            host.isolate = place;
            host.stream = Some(id);
        }
        let member = Member::of(at, id, self.now);
        self.isolates[place].members.push(member);
        self.take(place, id)?;
        self.look(place, id)?;
        Ok(())
    }

    /// Carries out the calls of an isolate; returns whether there were any.
    pub(crate) fn serve(&mut self, place: usize) -> Result<bool, Violation> {
        let now = self.now;
        let mut has_done = false;
        while self.isolates[place].is_served() {
            let Some(call) = self.isolates[place].core.poll_call(now) else {
                break;
            };
            has_done = true;
            self.note(|| format!("  isolate {place} calls for {call:?}"));
            match call {
                UpstreamCall::Leave => self.hang_up(place, false),
                UpstreamCall::Attach(text) => self.open_line(place, text)?,
                UpstreamCall::Send(text) => self.send_up(place, text),
                other => panic!("not known: {other:?}"),
            }
        }
        has_done |= self.write_outputs(place)?;
        if self.isolates[place].is_served() {
            has_done |= self.lease(place)?;
        }
        Ok(has_done)
    }

    /// The timeouts of an isolate.
    pub(crate) fn isolate_timeout(&mut self, place: usize) {
        let (now, random) = (self.now, self.random());
        let isolate = &mut self.isolates[place];
        isolate.core.fanout().handle_timeout(now);
        let is_due = isolate.core.poll_timeout().is_some_and(|at| at <= now);
        if is_due && isolate.is_served() {
            isolate.core.handle_timeout(now, random);
        }
        if isolate.core.is_away() && !isolate.members.is_empty() {
            isolate.absence.get_or_insert(Absence::since(now));
        }
    }

    /// Handles a frame of the bus. Frames of one turn are delivered together, or each is a separate
    /// turn.
    pub(crate) fn receive_on_line(&mut self, place: usize, frame: &Frame) -> Result<(), Violation> {
        let now = self.now;
        self.note(|| format!("  isolate {place} receives {}", frame.text));
        let confirms = frame.note == Note::Reply;
        let is_current = self.isolates[place].epoch == self.bus.disk().cursor().epoch;
        let head = head_in(&frame.text).filter(|_| confirms && is_current);
        let head = head.and_then(|head| self.bus.disk().log.published(head));
        if confirms {
            self.write_outputs(place)?;
        }
        let is_sound = self.is_sound(place);
        let isolate = &mut self.isolates[place];
        isolate.has_received = true;
        let before = isolate.core.counts();
        // A dropped frame is only counted on a real host.
        isolate.core.handle_message(&frame.text, now).ok();
        let counts = isolate.core.counts();
        let has_gap = counts.gaps > before.gaps;
        ensure(
            "a socket without a fault has no gap",
            !(is_sound && has_gap),
            || frame.text.clone(),
        )?;
        if !isolate.core.is_away() {
            isolate.absence = None;
        }
        if counts.resyncs > before.resyncs {
            self.excuse_losses(place);
        }
        if confirms {
            self.isolates[place].confirmed = head.map_or(0, |(_, number)| number);
            self.write_outputs(place)?;
            self.isolates[place].confirmed = 0;
        } else if self.spin.is_multiple_of(2) {
            self.write_outputs(place)?;
        }
        Ok(())
    }

    /// Whether nothing was lost or changed on the socket of an isolate. The stream of a session
    /// counts an event as a gap if a message about its subscriptions may be missing.
    fn is_sound(&self, place: usize) -> bool {
        let isolate = &self.isolates[place];
        let socket = isolate.socket.and_then(|socket| self.network.get(socket));
        let mut members = isolate.members.iter();
        socket.is_some_and(|socket| !socket.is_hurt && !socket.is_blind)
            && !members.any(|member| self.clients[member.client].is_session())
    }

    /// The connection of an isolate is lost, or could not be opened.
    pub(crate) fn lose_line(
        &mut self,
        place: usize,
        how: Close,
        is_overloaded: bool,
    ) -> Result<(), Violation> {
        let (now, random) = (self.now, self.random());
        let is_overloaded = is_overloaded || how == Close::Full;
        self.note(|| format!("  isolate {place} loses its bus: {how:?}"));
        let isolate = &mut self.isolates[place];
        isolate.socket = None;
        if how == Close::Over {
            return self.let_go(place);
        }
        if how == Close::Moved {
            isolate.home = None;
            isolate.moves += 1;
            if !isolate.has_received && isolate.hops < MAX_HOPS {
                isolate.hops += 1;
                return self.connect_line(place);
            }
            isolate.core.handle_redirected(now, random);
        } else {
            let since = isolate.absence.map_or(now, |absence| absence.since);
            isolate.absence = Some(Absence {
                is_overloaded,
                ..Absence::since(since)
            });
            if how == Close::Full {
                isolate.core.handle_full();
            }
            isolate.core.handle_lost(now, random, is_overloaded);
        }
        self.write_outputs(place)?;
        Ok(())
    }

    /// The bus closes the streams: they end, or are refused.
    fn let_go(&mut self, place: usize) -> Result<(), Violation> {
        let members: Vec<usize> = self.isolates[place]
            .members
            .iter()
            .map(|it| it.client)
            .collect();
        for at in members {
            self.check_let_go(at)?;
            let Some((host, mut driven)) = self.driven(at) else {
                continue;
            };
            if driven.is_opening() {
                self.refuse(at)?;
                continue;
            }
            host.allow(EndReason::Aborted);
            driven.abort();
            self.pump(at)?;
        }
        Ok(())
    }

    fn open_line(&mut self, place: usize, text: String) -> Result<(), Violation> {
        self.hang_up(place, false);
        let isolate = &mut self.isolates[place];
        isolate.attach_frame = text;
        isolate.has_received = false;
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
                let socket = self.network.connect(self.bus.omits_previous());
                if !self.connect_socket(socket, home) {
                    self.network.cut(socket);
                    self.isolates[place].home = None;
                    return self.lose_line(place, Close::Lost, false);
                }
                let home = self.shards.home(socket);
                let epoch = self.bus.disk().cursor().epoch;
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
            self.note(|| format!("  isolate {place} on socket {}: {text}", socket.0));
            if let Ok(EdgeMessage::Follow(follow)) = EdgeMessage::from_json(&text)
                && follow.is_fresh
            {
                self.isolates[place].stated = follow.received();
            }
            let note = Note::Follow;
            self.network.send(socket, Way::ToBus, Frame { text, note });
        }
    }

    /// The owner closes the socket; later, if another request tried.
    pub(crate) fn hang_up(&mut self, place: usize, is_late: bool) {
        let socket = self.isolates[place].socket.take();
        if let Some(socket) = socket {
            self.leave_socket(socket, is_late);
        }
    }

    /// Detaches on a socket and closes it.
    pub(crate) fn leave_socket(&mut self, socket: SocketId, is_late: bool) {
        if is_late && !self.is_unlucky {
            self.network.set_paused(socket, Way::ToBus, true);
        }
        let text = EdgeMessage::Detach.to_json();
        let note = Note::Detach;
        self.network.send(socket, Way::ToBus, Frame { text, note });
        self.network.close(socket, Way::ToBus, Close::Lost);
        self.network.shut(socket, Way::ToEdge);
    }
}

/// Where the log ended, according to a reply.
fn head_in(text: &str) -> Option<Position> {
    match BusMessage::from_json(text) {
        Ok(BusMessage::Response(FollowResponse::Followed(followed))) => {
            Some(followed.cursor.position)
        }
        _ => None,
    }
}
