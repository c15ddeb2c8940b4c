//! Where the streams of sessions are.

use crate::{
    bus::{Bus, EdgeId, FollowReply, Follower, Parting, ShardId},
    clock::Millis,
    wire::{SessionCall, Watched},
};

use super::{Claim, Output, ROOT, Session, Sessions, Store};

impl<S: Store> Sessions<S> {
    /// An edge or a shard follows something, and tells which streams of sessions have come and gone there. `false`: the session of the
    /// edge is over, another principal's, or has had a newer stream, and the connection is to be closed.
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

    /// No stream is at this shard any more; at [`ROOT`], none but those of edges that are known.
    #[expect(clippy::missing_errors_doc, reason = "as of handle_follow")]
    pub fn handle_shard_emptied(&mut self, shard: u32, now: Millis) -> Result<(), S::Error> {
        for id in self.store.at_shard(shard)? {
            if self.here.edge(&id).is_none() {
                self.leave(&id, now)?;
            }
        }
        self.forget_releases(shard)
    }

    /// An edge is gone.
    #[expect(clippy::missing_errors_doc, reason = "as of handle_follow")]
    pub fn handle_left(&mut self, edge: EdgeId, now: Millis) -> Result<(), S::Error> {
        match self.here.remove_edge(edge) {
            Some(id) => self.leave(&id, now),
            None => Ok(()),
        }
    }

    /// An edge of before a restart holds the stream of a session. Returns what that watches.
    #[expect(clippy::missing_errors_doc, reason = "as of handle_follow")]
    pub fn restore(&mut self, claim: &Claim, edge: EdgeId) -> Result<Option<Watched>, S::Error> {
        let Some(session) = self.claimed(claim)? else {
            return Ok(None);
        };
        self.here.insert(&claim.session, edge);
        self.watched(claim.clone(), &session).map(Some)
    }

    /// Keeps a session that has changed, and reports to the holder of its stream what that follows now, and whether its client is ready.
    pub(super) fn tell(
        &mut self,
        id: &str,
        session: &mut Session,
        now: Millis,
    ) -> Result<(), S::Error> {
        let shard = session.at_shard();
        if shard.is_some() {
            session.is_untold = true;
            session.used_at = now;
        }
        self.store.put(id, session)?;
        if let Some(shard) = shard {
            self.tell_shard(shard, id, session, true);
        } else if let Some(edge) = self.here.edge(id) {
            let watched = self.watched(session.claim(id), session)?;
            self.outputs.push_back(Output::Watch(edge, watched));
        }
        Ok(())
    }

    /// The same where nothing has changed, but the call to the shard may have failed.
    pub(super) fn tell_again(
        &mut self,
        id: &str,
        session: &mut Session,
        now: Millis,
    ) -> Result<(), S::Error> {
        if session.is_untold {
            self.tell(id, session, now)?;
        }
        Ok(())
    }

    /// The shard joins the session again then: until it has, it counts as not told.
    pub(super) fn tell_shard(&mut self, shard: u32, id: &str, session: &Session, is_awaited: bool) {
        self.outputs.push_back(Output::Tell {
            shard,
            call: SessionCall::Changed(session.claim(id)),
            is_awaited,
        });
    }

    fn watched(&self, claim: Claim, session: &Session) -> Result<Watched, S::Error> {
        Ok(Watched {
            uris: self.store.watched(&claim.session)?,
            session: claim,
            is_held: session.is_held,
        })
    }

    fn handle_joined(&mut self, claim: &Claim, edge: EdgeId) -> Result<Option<Watched>, S::Error> {
        let Some(mut session) = self.claimed(claim)? else {
            return Ok(None);
        };
        if let Some(former) = self.here.insert(&claim.session, edge) {
            let parting = parting(&session, claim);
            self.outputs.push_back(Output::Close(former, parting));
        }
        self.seat(claim, &mut session, ROOT)?;
        self.watched(claim.clone(), &session).map(Some)
    }

    fn handle_joined_shard(
        &mut self,
        claim: &Claim,
        shard: u32,
    ) -> Result<Option<Watched>, S::Error> {
        let Some(mut session) = self.claimed(claim)? else {
            return Ok(None);
        };
        self.release_here(&claim.session, parting(&session, claim));
        self.seat(claim, &mut session, shard)?;
        self.watched(claim.clone(), &session).map(Some)
    }

    /// The stream of a session is there now, which receives what the session watches: a shard where another one is lets that go.
    fn seat(&mut self, claim: &Claim, session: &mut Session, shard: u32) -> Result<(), S::Error> {
        let is_moved = session.shard != Some(shard);
        if let Some(former) = session.at_shard().filter(|_| is_moved) {
            self.release(former, claim.clone(), false)?;
        }
        if is_moved {
            self.store.forget_release(shard, claim)?;
        }
        session.shard = Some(shard);
        let is_new = core::mem::replace(&mut session.attached, claim.stream) != claim.stream;
        if core::mem::take(&mut session.is_untold) || is_moved || is_new {
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

    /// A session has no stream any more, which it had up to now.
    fn leave(&mut self, id: &str, now: Millis) -> Result<(), S::Error> {
        let Some(mut session) = self.store.get(id)? else {
            return Ok(());
        };
        session.shard = None;
        session.is_untold = false;
        session.used_at = now;
        self.store.put(id, &session)?;
        self.touch(id, &mut session, now)
    }

    /// The session that a claim names, where it is that principal's, and no newer stream of it was attached.
    fn claimed(&self, claim: &Claim) -> Result<Option<Session>, S::Error> {
        let session = self.owned(&claim.session, claim.principal.as_deref())?;
        Ok(session.filter(|session| session.admits(claim.stream)))
    }
}

/// Why the edge that had the stream of a session lets it go for this one. Where it is the same stream, an edge that still has it comes back.
fn parting(session: &Session, claim: &Claim) -> Parting {
    if session.attached == claim.stream {
        Parting::Lost
    } else {
        Parting::Over
    }
}
