//! Where the streams of sessions are.

use alloc::boxed::Box;

use crate::{
    bus::{Bus, EdgeId, FollowReply, Follower, ShardId},
    clock::Millis,
    wire::Watched,
};

use super::{Claim, Output, Session, Sessions, Store};

impl<S: Store> Sessions<S> {
    /// An edge or a shard follows something, and tells which streams of sessions have come and gone there. `false`: the session of the
    /// edge is over, or another principal's, and its connection is to be closed.
    ///
    /// # Errors
    /// As of the store, as all below.
    pub fn handle_follow(
        &mut self,
        reply: &mut FollowReply,
        bus: &mut Bus,
        now: Millis,
    ) -> Result<bool, S::Error> {
        let from = reply.from();
        if let Follower::Shard(ShardId(shard)) = from {
            if reply.is_fresh() {
                self.handle_shard_emptied(shard, now)?;
            }
            for claim in reply.left().to_vec() {
                self.handle_left_shard(&claim, shard, now)?;
            }
        }
        let mut are_all_there = true;
        for claim in reply.joined().to_vec() {
            let watched = match from {
                Follower::Edge(edge) => self.handle_joined(&claim, edge),
                Follower::Shard(ShardId(shard)) => self.handle_joined_shard(&claim, shard),
            };
            match watched? {
                Some(watched) => reply.push_watch(bus, watched),
                None => are_all_there = false,
            }
        }
        Ok(are_all_there || matches!(from, Follower::Shard(_)))
    }

    /// No stream is at this shard any more.
    #[expect(clippy::missing_errors_doc, reason = "as of handle_follow")]
    pub fn handle_shard_emptied(&mut self, shard: u32, now: Millis) -> Result<(), S::Error> {
        for id in self.store.at_shard(shard)? {
            if let Some(session) = self.store.get(&id)? {
                self.leave_shard(&id, session, now)?;
            }
        }
        Ok(())
    }

    /// An edge is gone.
    #[expect(clippy::missing_errors_doc, reason = "as of handle_follow")]
    pub fn handle_left(&mut self, edge: EdgeId, now: Millis) -> Result<(), S::Error> {
        let Some(id) = self.here.remove_edge(edge) else {
            return Ok(());
        };
        match self.store.get(&id)? {
            Some(mut session) => self.touch(&id, &mut session, now),
            None => Ok(()),
        }
    }

    /// An edge of before a restart holds the stream of a session. Returns what that watches.
    #[expect(clippy::missing_errors_doc, reason = "as of handle_follow")]
    pub fn restore(&mut self, claim: &str, edge: EdgeId) -> Result<Option<Watched>, S::Error> {
        let id = Claim::from_text(claim).session;
        let Some(session) = self.store.get(&id)? else {
            return Ok(None);
        };
        self.here.insert(&id, edge);
        self.watched(claim, &id, &session).map(Some)
    }

    fn handle_joined(&mut self, claim: &str, edge: EdgeId) -> Result<Option<Watched>, S::Error> {
        let Some((id, mut session)) = self.claimed(claim)? else {
            return Ok(None);
        };
        if let Some(former) = self.here.insert(&id, edge) {
            self.outputs.push_back(Output::Release(former));
        }
        if let Some(shard) = session.shard.take() {
            self.release(shard, &id, &session, false);
            self.store.put(&id, &session)?;
        }
        self.watched(claim, &id, &session).map(Some)
    }

    fn handle_joined_shard(
        &mut self,
        claim: &str,
        shard: u32,
    ) -> Result<Option<Watched>, S::Error> {
        let Some((id, mut session)) = self.claimed(claim)? else {
            return Ok(None);
        };
        self.release_here(&id);
        let former = session.shard.replace(shard);
        if former != Some(shard) {
            if let Some(former) = former {
                self.release(former, &id, &session, false);
            }
            self.store.put(&id, &session)?;
        }
        self.watched(claim, &id, &session).map(Some)
    }

    fn handle_left_shard(&mut self, claim: &str, shard: u32, now: Millis) -> Result<(), S::Error> {
        match self.claimed(claim)? {
            Some((id, session)) if session.shard == Some(shard) => {
                self.leave_shard(&id, session, now)
            }
            _ => Ok(()),
        }
    }

    fn leave_shard(&mut self, id: &str, mut session: Session, now: Millis) -> Result<(), S::Error> {
        session.shard = None;
        session.used_at = now;
        self.store.put(id, &session)?;
        self.touch(id, &mut session, now)
    }

    /// The session that a claim names, where it is that principal's.
    fn claimed(&self, claim: &str) -> Result<Option<(Box<str>, Session)>, S::Error> {
        let Claim {
            session: id,
            principal,
        } = Claim::from_text(claim);
        let session = self.owned(&id, principal.as_deref())?;
        Ok(session.map(|session| (id, session)))
    }
}
