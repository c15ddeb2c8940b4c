//! The root of a bus: a [`Bus`] with the log that it replays and the sessions whose streams it
//! holds.

mod log;
mod output;

use alloc::{boxed::Box, string::String, vec::Vec};

pub use log::Log;
pub use output::{RootOutput, RootReceived};

use crate::{
    bus::{self, Bus, EdgeId, FollowReply, FollowSender, JournalEntry, Publication, ShardId},
    clock::Millis,
    session::{self, ROOT, SessionStore, Sessions},
    vocabulary::{event::ServerEvent, position::Position, topic::Topics},
    wire::{Claim, ProtocolError},
};

/// A bus with its log and, if it keeps any, its sessions.
///
/// It decides in which order the three take part: the bus learns what the log still holds before it
/// handles a message, sessions join before events are replayed, and what has to be stored comes
/// before what is sent.
///
/// The host appends each published event to the log before it sends it. After each call it carries
/// out what [`Root::poll_output`] returns.
#[derive(Debug)]
pub struct Root<L, S> {
    bus: Bus,
    log: L,
    sessions: Option<Sessions<S>>,
}

impl<L: Log, S: SessionStore<Error = L::Error>> Root<L, S> {
    /// Creates a root on its log. It keeps sessions if there is a store for them. After a restart,
    /// restore the shards, [their events](Root::restore_events) and the edges, and then call
    /// [`Root::handle_restored`].
    pub fn new(log: L, store: Option<S>) -> Self {
        Self {
            bus: Bus::new(log.cursor()).with_floor(log.floor()),
            log,
            sessions: store.map(Sessions::new),
        }
    }

    /// Returns the bus.
    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    /// Returns the bus, for everything that needs neither log nor sessions. Pass events, the frames
    /// of edges, the follows of shards and the end of connections to the root instead.
    pub fn bus_mut(&mut self) -> &mut Bus {
        &mut self.bus
    }

    /// Returns the sessions, for the questions of requests and for what shards confirm; `None` if
    /// the root keeps none.
    pub fn sessions_mut(&mut self) -> Option<&mut Sessions<S>> {
        self.sessions.as_mut()
    }

    /// Restores an edge after a restart, with what the registry returned about it and the session
    /// whose stream it holds. Returns `None` if that session is over: close the connection.
    ///
    /// # Errors
    /// The errors of the store and of the log, as for all functions below.
    pub fn restore(
        &mut self,
        topics: &Topics,
        last: Option<Position>,
        seq: u64,
        session: Option<&Claim>,
    ) -> Result<Option<EdgeId>, L::Error> {
        let edge = self.bus.restore(topics, last, seq);
        let Some(claim) = session else {
            return Ok(Some(edge));
        };
        let interest = match &mut self.sessions {
            Some(sessions) => sessions.restore(claim, edge)?,
            None => None,
        };
        let Some(interest) = interest else {
            self.bus.disconnect(edge);
            return Ok(None);
        };
        self.bus
            .set_interest(edge, &interest.uris, interest.is_paused);
        Ok(Some(edge))
    }

    /// Restores the events that the restored shards may not have received.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of restore")]
    pub fn restore_events(&mut self) -> Result<(), L::Error> {
        let Some(after) = self.bus.restore_after() else {
            return Ok(());
        };
        let bus = &mut self.bus;
        self.log.after(after, &mut |position, event| {
            bus.restore_event(position, event);
        })
    }

    /// Completes the restore after a restart: sessions whose stream was not restored no longer have
    /// one here.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of restore")]
    pub fn handle_restored(&mut self, now: Millis) -> Result<(), L::Error> {
        self.handle_emptied(ROOT, now)
    }

    /// Publishes an event; see [`Bus::publish_at`].
    pub fn publish_at(&mut self, event: &ServerEvent, at: Option<Millis>) -> Publication {
        // Otherwise the index of a log from which no edge reads would grow without bound.
        if self.bus.is_log_indexed() {
            self.bus.handle_trimmed(self.log.floor());
        }
        self.bus.publish_at(event, at)
    }

    /// Handles a frame of an edge; `now` is on the clock of the sessions.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of restore")]
    pub fn handle_message(
        &mut self,
        edge: EdgeId,
        text: &str,
        now: Millis,
    ) -> Result<RootReceived, L::Error> {
        self.bus.handle_trimmed(self.log.floor());
        Ok(match self.bus.handle_message(edge, text) {
            Ok(bus::Received::Followed(reply)) => return self.respond_to_edge(reply, now),
            Ok(bus::Received::Full) => RootReceived::Full,
            Ok(bus::Received::Detached) => RootReceived::Detached,
            Err(error) => RootReceived::Dropped(error),
        })
    }

    /// Handles a call of a shard that states what it follows. Returns the response, or why the call
    /// fails and changes nothing; `now` is on the clock of the sessions.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of restore")]
    pub fn handle_follow(
        &mut self,
        shard: ShardId,
        text: &str,
        now: Millis,
    ) -> Result<Result<String, ProtocolError>, L::Error> {
        self.bus.handle_trimmed(self.log.floor());
        let mut reply = match self.bus.handle_follow(shard, text) {
            Ok(reply) => reply,
            Err(error) => return Ok(Err(error)),
        };
        self.join(&mut reply, now)?;
        Ok(Ok(self.finish(reply)?.concat()))
    }

    /// Handles a closed connection of an edge; `now` is on the clock of the sessions.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of restore")]
    pub fn disconnect(&mut self, edge: EdgeId, now: Millis) -> Result<(), L::Error> {
        self.bus.disconnect(edge);
        match &mut self.sessions {
            Some(sessions) => sessions.handle_left(edge, now),
            None => Ok(()),
        }
    }

    /// [Sweeps](Sessions::sweep) the sessions. If only a stream at a shard keeps a session, and that
    /// shard has not reported since the last restart, asks the shard: it may have restarted too.
    /// `now` is on the clock of the sessions.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of restore")]
    pub fn sweep(&mut self, now: Millis) -> Result<(), L::Error> {
        if let Some(sessions) = &mut self.sessions {
            let shards = sessions.sweep(now)?;
            self.bus.ask_unreported(&shards);
        }
        Ok(())
    }

    /// Returns the next output; `session_now` is on the clock of the sessions.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of restore")]
    pub fn poll_output(
        &mut self,
        now: Millis,
        session_now: Millis,
    ) -> Result<Option<RootOutput>, L::Error> {
        if let Some(entry) = self.bus.poll_entry() {
            if let JournalEntry::Closed(ShardId(shard)) = entry {
                self.handle_emptied(shard, session_now)?;
            }
            return Ok(Some(RootOutput::Persist(entry)));
        }
        if let Some(call) = self.bus.poll_batch(now) {
            return Ok(Some(RootOutput::Batch(call)));
        }
        while let Some(output) = self.sessions.as_mut().and_then(Sessions::poll_output) {
            if let Some(output) = self.handle_changed(output) {
                return Ok(Some(output));
            }
        }
        Ok(None)
    }

    /// Returns what to do about a changed session.
    fn handle_changed(&mut self, change: session::SessionOutput) -> Option<RootOutput> {
        Some(match change {
            session::SessionOutput::Interest(edge, interest) => {
                let bus = &mut self.bus;
                let frame = bus.set_interest(edge, &interest.uris, interest.is_paused)?;
                RootOutput::Send(edge, frame)
            }
            session::SessionOutput::Close(edge, reason) => RootOutput::Close(edge, reason),
            session::SessionOutput::Call {
                shard,
                call,
                is_awaited,
            } => RootOutput::CallShard {
                shard,
                call,
                is_awaited,
            },
        })
    }

    fn handle_emptied(&mut self, shard: u32, now: Millis) -> Result<(), L::Error> {
        match &mut self.sessions {
            Some(sessions) => sessions.handle_shard_emptied(shard, now),
            None => Ok(()),
        }
    }

    fn respond_to_edge(
        &mut self,
        mut reply: Box<FollowReply>,
        now: Millis,
    ) -> Result<RootReceived, L::Error> {
        if !self.join(&mut reply, now)? {
            return Ok(RootReceived::Released);
        }
        Ok(RootReceived::Followed {
            persist: reply.persist().clone(),
            session: reply.joined().first().cloned(),
            frames: self.finish(*reply)?,
        })
    }

    /// Adds the sessions that have joined. Returns `false` if the edge has to be released.
    fn join(&mut self, reply: &mut FollowReply, now: Millis) -> Result<bool, L::Error> {
        match &mut self.sessions {
            Some(sessions) => sessions.handle_follow(reply, &mut self.bus, now),
            None => Ok(true),
        }
    }

    /// Adds the missed events, and returns the frames of the response.
    fn finish(&mut self, mut reply: FollowReply) -> Result<Vec<String>, L::Error> {
        if let Some(after) = reply.replay_after() {
            match reply.from() {
                FollowSender::Edge(edge) => {
                    self.index()?;
                    let missed = self.bus.missed(edge, after);
                    self.log.at(&missed, &mut |position, event| {
                        reply.push_event(&self.bus, position, event);
                    })?;
                }
                FollowSender::Shard(_) => self.log.after(after, &mut |position, event| {
                    reply.push_event(&self.bus, position, event);
                })?,
            }
        }
        Ok(reply.finish(&mut self.bus))
    }

    /// Indexes the log once, for the first edge that has missed something, since a thousand may
    /// reconnect at once.
    fn index(&mut self) -> Result<(), L::Error> {
        if self.bus.is_log_indexed() {
            return Ok(());
        }
        let bus = &mut self.bus;
        let read = self.log.after(self.log.floor(), &mut |position, event| {
            bus.index_event(position, event);
        });
        if read.is_err() {
            self.bus.clear_index();
        }
        read
    }
}
