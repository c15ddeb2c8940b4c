//! The locations of the streams of sessions.

use crate::{
    bus::{Bus, EdgeCloseReason, EdgeId, FollowReply, FollowSender, ShardId},
    clock::Millis,
    wire::{SessionCall, SessionInterest},
};

use super::{Claim, ROOT, Session, SessionOutput, SessionStore, Sessions};

impl<S: SessionStore> Sessions<S> {
    /// Handles a follow of an edge or shard, which names the streams of sessions that have joined
    /// or left there. Returns `false` if the session of the edge has ended, belongs to another
    /// principal or has had a newer stream: close the connection.
    ///
    /// # Errors
    /// The errors of the store, as for all functions below.
    pub fn handle_follow(
        &mut self,
        reply: &mut FollowReply,
        bus: &mut Bus,
        now: Millis,
    ) -> Result<bool, S::Error> {
        let from = reply.from();
        if let FollowSender::Shard(ShardId(shard)) = from {
            if reply.is_fresh() {
                self.handle_shard_emptied(shard, now)?;
            }
            for claim in reply.left().to_vec() {
                self.handle_left_shard(&claim, shard, now)?;
            }
        }
        let mut are_all_there = true;
        for claim in reply.joined().to_vec() {
            let interest = match from {
                FollowSender::Edge(edge) => self.handle_joined(&claim, edge),
                FollowSender::Shard(ShardId(shard)) => self.handle_joined_shard(&claim, shard),
            };
            match interest? {
                Some(interest) => reply.push_interest(bus, interest),
                None => are_all_there = false,
            }
        }
        Ok(are_all_there || matches!(from, FollowSender::Shard(_)))
    }

    /// Records that no stream is at this shard any more; at [`ROOT`], none except those of known
    /// edges.
    #[expect(
        clippy::missing_errors_doc,
        reason = "the errors are those of handle_follow"
    )]
    pub fn handle_shard_emptied(&mut self, shard: u32, now: Millis) -> Result<(), S::Error> {
        for id in self.store.at_shard(shard)? {
            if self.local.edge(&id).is_none() {
                self.leave(&id, now)?;
            }
        }
        self.forget_releases(shard)
    }

    /// Handles the removal of an edge.
    #[expect(
        clippy::missing_errors_doc,
        reason = "the errors are those of handle_follow"
    )]
    pub fn handle_left(&mut self, edge: EdgeId, now: Millis) -> Result<(), S::Error> {
        match self.local.remove_edge(edge) {
            Some(id) => self.leave(&id, now),
            None => Ok(()),
        }
    }

    /// Restores the stream of a session at an edge after a restart, unless it has moved to a shard.
    /// Returns the session's subscriptions.
    #[expect(
        clippy::missing_errors_doc,
        reason = "the errors are those of handle_follow"
    )]
    pub fn restore(
        &mut self,
        claim: &Claim,
        edge: EdgeId,
    ) -> Result<Option<SessionInterest>, S::Error> {
        let session = self.claimed(claim)?;
        let Some(session) = session.filter(|session| session.at_shard().is_none()) else {
            return Ok(None);
        };
        self.local.insert(&claim.session, edge);
        self.interest(claim.clone(), &session).map(Some)
    }

    /// Stores a changed session, and reports its subscriptions and whether its client is ready to
    /// the holder of its stream.
    pub(super) fn notify(
        &mut self,
        id: &str,
        session: &mut Session,
        now: Millis,
    ) -> Result<(), S::Error> {
        let shard = session.at_shard();
        if shard.is_some() {
            session.is_unconfirmed = true;
            session.used_at = now;
        }
        self.store.put(id, session)?;
        if let Some(shard) = shard {
            self.notify_shard(shard, id, session, true);
        } else if let Some(edge) = self.local.edge(id) {
            let interest = self.interest(session.claim(id), session)?;
            self.outputs
                .push_back(SessionOutput::Interest(edge, interest));
        }
        Ok(())
    }

    /// Repeats the report if the shard has not confirmed it.
    pub(super) fn notify_again(
        &mut self,
        id: &str,
        session: &mut Session,
        now: Millis,
    ) -> Result<(), S::Error> {
        if session.is_unconfirmed {
            self.notify(id, session, now)?;
        }
        Ok(())
    }

    /// Calls a shard about a changed session. The shard then joins the session again; until it
    /// does, it counts as not informed.
    pub(super) fn notify_shard(
        &mut self,
        shard: u32,
        id: &str,
        session: &Session,
        is_awaited: bool,
    ) {
        self.outputs.push_back(SessionOutput::Call {
            shard,
            call: SessionCall::Changed(session.claim(id)),
            is_awaited,
        });
    }

    fn interest(&self, claim: Claim, session: &Session) -> Result<SessionInterest, S::Error> {
        Ok(SessionInterest {
            uris: self.store.subscriptions(&claim.session)?,
            session: claim,
            is_paused: session.is_paused,
        })
    }

    fn handle_joined(
        &mut self,
        claim: &Claim,
        edge: EdgeId,
    ) -> Result<Option<SessionInterest>, S::Error> {
        let Some(mut session) = self.claimed(claim)? else {
            return Ok(None);
        };
        if let Some(former) = self.local.insert(&claim.session, edge) {
            let close_reason = close_reason(&session, claim);
            self.outputs
                .push_back(SessionOutput::Close(former, close_reason));
        }
        self.attach_at(claim, &mut session, ROOT)?;
        self.interest(claim.clone(), &session).map(Some)
    }

    fn handle_joined_shard(
        &mut self,
        claim: &Claim,
        shard: u32,
    ) -> Result<Option<SessionInterest>, S::Error> {
        let Some(mut session) = self.claimed(claim)? else {
            return Ok(None);
        };
        self.release_local(&claim.session, close_reason(&session, claim));
        self.attach_at(claim, &mut session, shard)?;
        self.interest(claim.clone(), &session).map(Some)
    }

    /// Records that the stream of a session is at `shard`. If it was at another shard, that one has
    /// to close it.
    fn attach_at(
        &mut self,
        claim: &Claim,
        session: &mut Session,
        shard: u32,
    ) -> Result<(), S::Error> {
        let is_moved = session.shard != Some(shard);
        if let Some(former) = session.at_shard().filter(|_| is_moved) {
            self.release(former, claim.clone(), false)?;
        }
        if is_moved {
            self.store.forget_release(shard, claim)?;
        }
        session.shard = Some(shard);
        let is_new = core::mem::replace(&mut session.attached, claim.stream) != claim.stream;
        if core::mem::take(&mut session.is_unconfirmed) || is_moved || is_new {
            self.store.put(&claim.session, session)?;
        }
        Ok(())
    }

    fn handle_left_shard(
        &mut self,
        claim: &Claim,
        shard: u32,
        now: Millis,
    ) -> Result<(), S::Error> {
        match self.claimed(claim)? {
            Some(session) if session.shard == Some(shard) => self.leave(&claim.session, now),
            _ => Ok(()),
        }
    }

    /// Records that a session has no stream any more.
    fn leave(&mut self, id: &str, now: Millis) -> Result<(), S::Error> {
        let Some(mut session) = self.store.get(id)? else {
            return Ok(());
        };
        session.shard = None;
        session.is_unconfirmed = false;
        session.used_at = now;
        self.store.put(id, &session)?;
        self.touch(id, &mut session, now)
    }

    /// Returns the session of a claim if it belongs to that principal and no newer stream was
    /// attached.
    fn claimed(&self, claim: &Claim) -> Result<Option<Session>, S::Error> {
        let session = self.owned(&claim.session, claim.principal.as_deref())?;
        Ok(session.filter(|session| session.admits(claim.stream)))
    }
}

/// Returns why the edge with the previous stream closes it. If it is the same stream, an edge that
/// still holds it has to reconnect.
fn close_reason(session: &Session, claim: &Claim) -> EdgeCloseReason {
    if session.attached == claim.stream {
        EdgeCloseReason::Lost
    } else {
        EdgeCloseReason::Over
    }
}
