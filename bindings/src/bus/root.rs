use wasm_bindgen::JsValue;

use mcp_listen::{
    bus::{self, EdgeId, FollowReply, Follower, Persist, ShardId},
    clock::Millis,
    event::ServerEvent,
    position::{Cursor, Position},
    session::{self, Sessions},
    topic::Topics,
    wire::Claim,
};

use crate::{
    error::{coded, out_of_place},
    text::event_of,
};

use super::{
    at,
    log::Log,
    number,
    output::{Output, Received},
    rows::Rows,
};

/// A bus with its log and its sessions.
pub(super) struct Root {
    pub(super) core: bus::Bus,
    pub(super) log: Log,
    pub(super) sessions: Option<Sessions<Rows>>,
}

impl Root {
    pub(super) fn new(log: Log) -> Self {
        let core = bus::Bus::new(Cursor {
            epoch: log.epoch().into(),
            position: at(log.position()),
        });
        Self {
            core: core.with_floor(at(log.floor())),
            log,
            sessions: None,
        }
    }

    pub(super) fn sessions(&mut self) -> Result<&mut Sessions<Rows>, JsValue> {
        let sessions = self.sessions.as_mut();
        sessions.ok_or_else(|| out_of_place("this bus keeps no sessions"))
    }

    pub(super) fn restore(
        &mut self,
        topics: &Topics,
        last: Option<Position>,
        seq: u64,
        session: Option<&Claim>,
    ) -> Result<EdgeId, JsValue> {
        let edge = self.core.restore(topics, last, seq);
        let Some(session) = session else {
            return Ok(edge);
        };
        let Some(interest) = self.sessions()?.restore(session, edge)? else {
            self.core.disconnect(edge);
            return Err(coded("bus-released", "the session of this edge is over"));
        };
        self.core
            .set_interest(edge, &interest.uris, interest.is_paused);
        Ok(edge)
    }

    /// Restores the events of the log that the shards may not have received.
    pub(super) fn restore_events(&mut self) -> Result<(), JsValue> {
        let Some(after) = self.core.restore_after() else {
            return Ok(());
        };
        let core = &mut self.core;
        let events = self.log.after(number(after))?;
        events.each(&mut |position, event| core.restore_event(position, event))
    }

    pub(super) fn receive(
        &mut self,
        edge: EdgeId,
        message: &str,
        now: Millis,
    ) -> Result<Received, JsValue> {
        self.core.handle_trimmed(at(self.log.floor()));
        Ok(match self.core.handle_message(edge, message) {
            Ok(bus::Received::Followed(reply)) => match self.answer(*reply, now)? {
                Some((keeps, session, frames)) => {
                    Received::followed(&keeps, session.as_ref(), frames)
                }
                None => Received::of("released"),
            },
            Ok(bus::Received::Full) => Received::of("full"),
            Ok(bus::Received::Detached) => Received::of("detached"),
            Err(error) => Received::dropped(error),
        })
    }

    /// Returns the answer to a shard; throws if its call fails.
    pub(super) fn follow(
        &mut self,
        shard: ShardId,
        text: &str,
        now: Millis,
    ) -> Result<Option<String>, JsValue> {
        self.core.handle_trimmed(at(self.log.floor()));
        let reply = self.core.handle_follow(shard, text);
        let answer = self.answer(reply.map_err(super::refused)?, now)?;
        Ok(answer.and_then(|(.., frames)| frames.into_iter().next()))
    }

    pub(super) fn disconnect(&mut self, edge: EdgeId, now: Millis) -> Result<(), JsValue> {
        self.core.disconnect(edge);
        match &mut self.sessions {
            Some(sessions) => sessions.handle_left(edge, now),
            None => Ok(()),
        }
    }

    /// Publishes events. All of them are parsed before the first is published, so that all or none
    /// are.
    pub(super) fn publish(
        &mut self,
        events: &[String],
        at: Millis,
    ) -> Result<Vec<bus::Delivery>, JsValue> {
        let events: Result<Vec<ServerEvent>, JsValue> =
            events.iter().map(|event| event_of(event)).collect();
        let mut deliveries = Vec::new();
        for event in events? {
            deliveries.extend(self.core.publish_at(&event, Some(at)).deliveries);
        }
        Ok(deliveries)
    }

    /// Returns the next output: what has to be durable comes before what is sent.
    pub(super) fn output(
        &mut self,
        now: Millis,
        session_now: Millis,
    ) -> Result<Option<Output>, JsValue> {
        if let Some(change) = self.core.poll_entry() {
            if let (bus::JournalEntry::Closed(ShardId(shard)), Some(sessions)) =
                (&change, &mut self.sessions)
            {
                sessions.handle_shard_emptied(*shard, session_now)?;
            }
            return Ok(Some(change.into()));
        }
        if let Some(batch) = self.core.poll_batch(now) {
            return Ok(Some(batch.into()));
        }
        while let Some(output) = self.sessions.as_mut().and_then(Sessions::poll_output) {
            let session::Output::Interest(edge, interest) = output else {
                return Ok(Output::of_session(output));
            };
            let frame = self
                .core
                .set_interest(edge, &interest.uris, interest.is_paused);
            if let Some(frame) = frame {
                return Ok(Some(Output::send(frame, &[edge.0])));
            }
        }
        Ok(None)
    }

    /// Completes the answer to a follow from the sessions and the log; `None` if the follower has
    /// to be released.
    fn answer(&mut self, mut reply: FollowReply, now: Millis) -> Result<Option<Answer>, JsValue> {
        if let Some(sessions) = &mut self.sessions
            && !sessions.handle_follow(&mut reply, &mut self.core, now)?
        {
            return Ok(None);
        }
        let keeps = reply.persist().clone();
        let session = reply.joined().first().cloned();
        if let Some(after) = reply.replay_after() {
            let events = match reply.from() {
                Follower::Edge(edge) => self.missed(edge, after)?,
                Follower::Shard(_) => self.log.after(number(after))?,
            };
            let core = &self.core;
            events.each(&mut |position, event| reply.push_event(core, position, event))?;
        }
        Ok(Some((keeps, session, reply.finish(&mut self.core))))
    }

    /// Returns what an edge has missed. The log is read only once, for the first edge that has
    /// missed something, since a thousand may reconnect at once.
    fn missed(&mut self, edge: EdgeId, after: Position) -> Result<super::log::Cursor, JsValue> {
        if !self.core.is_log_indexed() {
            let core = &mut self.core;
            let events = self.log.after(self.log.floor())?;
            events.each(&mut |position, event| core.index_event(position, event))?;
        }
        let positions = self.core.missed(edge, after).into_iter();
        self.log.at(positions.map(number).collect())
    }
}

/// What to store about the follower, the session of its stream, and the frames to send.
type Answer = (Persist, Option<Claim>, Vec<String>);
