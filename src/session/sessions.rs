use alloc::{boxed::Box, collections::VecDeque, vec::Vec};

use crate::{
    bus::{EdgeCloseReason, EdgeId},
    clock::Millis,
    sorted::{Map, Set},
    wire::{SessionCall, SessionInterest},
};

use super::{
    Ask, NewSession, Question, Reply, Session, SessionLimits, SessionStore, limits::StoreTotals,
    local_streams::LocalStreams,
};

/// The sessions of a bus, with their store. [`Sessions::poll_output`] returns what edges and shards
/// have to learn of a change.
#[derive(Debug)]
pub struct Sessions<S> {
    pub(super) store: S,
    /// The totals; `None` before they are counted.
    room: Option<StoreTotals>,
    pub(super) local: LocalStreams,
    /// When sessions were last used, more exactly than in the store, and the order of uses.
    used: Map<Box<str>, (Millis, u64)>,
    uses: u64,
    swept_at: Option<Millis>,
    pub(super) outputs: VecDeque<SessionOutput>,
}

/// An output of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionOutput {
    /// The subscriptions of the stream at this edge are now these: call
    /// [`Bus::set_interest`](crate::bus::Bus::set_interest).
    Interest(EdgeId, SessionInterest),
    /// The stream at this edge has ended or is attached elsewhere: close its connection.
    Close(EdgeId, EdgeCloseReason),
    /// Call a shard, and [`Sessions::handle_confirmed`] once it has confirmed. Until then
    /// [`Sessions::sweep`] repeats the call.
    Call {
        /// The shard.
        shard: u32,
        /// The call.
        call: SessionCall,
        /// Whether the request that led to it waits for the shard.
        is_awaited: bool,
    },
}

impl<S: SessionStore> Sessions<S> {
    /// Creates the sessions of a store. Once the edges from before a restart are
    /// [restored](Sessions::restore), report that the other streams that were here [are
    /// gone](Sessions::handle_shard_emptied) from [`ROOT`](super::ROOT).
    pub fn new(store: S) -> Self {
        Self {
            store,
            room: None,
            local: LocalStreams::default(),
            used: Map::new(),
            uses: 0,
            swept_at: None,
            outputs: VecDeque::new(),
        }
    }

    /// Returns the number of sessions, including ended ones that are not swept yet.
    ///
    /// # Errors
    /// The errors of the store, as for all functions below.
    pub fn count(&mut self) -> Result<usize, S::Error> {
        Ok(self.room()?.all().sessions)
    }

    /// Returns the next output.
    pub fn poll_output(&mut self) -> Option<SessionOutput> {
        self.outputs.pop_front()
    }

    /// Begins a session unless there is no room. Makes room only at the expense of the same caller:
    /// its least recently used session ends, if possible one without a stream. `since` is the event
    /// id of the end of the log.
    ///
    /// # Errors
    /// The errors of the store.
    pub fn begin(
        &mut self,
        id: &str,
        new: NewSession,
        since: &str,
        limits: &SessionLimits,
        now: Millis,
    ) -> Result<bool, S::Error> {
        if !self.make_room(&new, limits, now)? {
            return Ok(false);
        }
        let session = Session {
            new,
            since: since.into(),
            used_at: now,
            is_paused: true,
            uris: 0,
            uri_bytes: 0,
            opened: 0,
            attached: 0,
            shard: None,
            is_unconfirmed: false,
        };
        self.room()?.of(&session).sessions += 1;
        self.store.put(id, &session)?;
        self.note_use(id, now);
        Ok(true)
    }

    /// Handles a question of a request.
    ///
    /// # Errors
    /// The errors of the store.
    pub fn ask(&mut self, question: Question, now: Millis) -> Result<Reply, S::Error> {
        let Question {
            session: id,
            principal,
            ask,
        } = question;
        let session = self.owned(&id, principal.as_deref())?;
        let Some(mut session) = session.filter(|session| !self.is_over(&id, session, now)) else {
            return Ok(Reply::Unknown);
        };
        self.touch(&id, &mut session, now)?;
        let upstream_id = session.new.upstream_id.clone();
        Ok(match (ask, upstream_id) {
            (Ask::UpstreamId, upstream_id) => Reply::UpstreamId(upstream_id),
            (
                Ask::Initialized {
                    is_forwarded: false,
                }
                | Ask::End {
                    is_forwarded: false,
                },
                Some(upstream_id),
            ) => Reply::ForwardFirst(upstream_id),
            (Ask::Initialized { .. }, _) => {
                if core::mem::take(&mut session.is_paused) {
                    self.notify(&id, &mut session, now)?;
                } else {
                    self.notify_again(&id, &mut session, now)?;
                }
                Reply::Done
            }
            (Ask::End { .. }, _) => {
                self.end(&id, &session, true)?;
                Reply::Done
            }
            (Ask::MaySubscribe | Ask::Subscribe { .. } | Ask::Unsubscribe(_), _)
                if !session.may_subscribe() =>
            {
                Reply::NotOffered
            }
            (Ask::Use | Ask::MaySubscribe, _) => Reply::Done,
            (Ask::Subscribe { uri, limits }, _) => {
                self.subscribe(&id, session, &uri, &limits, now)?
            }
            (Ask::Unsubscribe(uri), _) => {
                self.unsubscribe(&id, session, &uri, now)?;
                Reply::Done
            }
            (Ask::Open { resumes }, _) if !resumes && self.is_streaming(&id, &session) => {
                Reply::Taken
            }
            (Ask::Open { .. }, _) => self.open(&id, session, now)?,
        })
    }

    /// Removes the sessions that have ended, and repeats the calls that shards have not confirmed.
    /// Returns the shards with the streams of sessions that had no request for their idle time: only
    /// the stream keeps such a session.
    ///
    /// # Errors
    /// The errors of the store.
    pub fn sweep(&mut self, now: Millis) -> Result<Vec<u32>, S::Error> {
        self.swept_at = Some(now);
        let mut shards = Set::default();
        for id in self.store.ended(now)? {
            let Some(mut session) = self.store.get(&id)? else {
                continue;
            };
            if self.is_over(&id, &session, now) {
                self.forget(&id, &session)?;
            } else if let Some(shard) = session.at_shard().filter(|_| session.is_unconfirmed) {
                session.used_at = now;
                self.store.put(&id, &session)?;
                self.notify_shard(shard, &id, &session, false);
            } else if self.is_streaming(&id, &session) {
                if let Some(shard) = session.at_shard() {
                    shards.insert(shard);
                }
                self.touch(&id, &mut session, now)?;
            } else {
                session.used_at = self.used_at(&id, &session);
                self.store.put(&id, &session)?;
            }
        }
        self.release_again()?;
        Ok(shards.into_keys().collect())
    }

    fn room(&mut self) -> Result<&mut StoreTotals, S::Error> {
        if self.room.is_none() {
            let [named, unnamed] = self.store.totals()?;
            self.room = Some(StoreTotals { named, unnamed });
        }
        Ok(self.room.get_or_insert_default())
    }

    /// Makes room for one more session of a caller, at the expense of that caller only.
    fn make_room(
        &mut self,
        new: &NewSession,
        limits: &SessionLimits,
        now: Millis,
    ) -> Result<bool, S::Error> {
        if let Some(caller) = new.caller() {
            let max = limits.sessions_per_principal;
            if max < 1 {
                return Ok(false);
            }
            let mut own = self.store.of_caller(&caller)?;
            while own.len() >= max {
                let Some(id) = self.take_least_used(&mut own)? else {
                    break;
                };
                if let Some(session) = self.store.get(&id)? {
                    self.end(&id, &session, false)?;
                }
            }
        }
        let may_sweep = self.swept_at.is_none_or(|at| at + SWEEP_SPACING <= now);
        if may_sweep && !self.room()?.admits(new, limits) {
            self.sweep(now)?;
        }
        Ok(self.room()?.admits(new, limits))
    }

    /// Removes from `own` the session that was least recently used, of those without a stream if
    /// there are any.
    fn take_least_used(&self, own: &mut Vec<Box<str>>) -> Result<Option<Box<str>>, S::Error> {
        let mut least = None;
        for (place, id) in own.iter().enumerate() {
            let Some(session) = self.store.get(id)? else {
                continue;
            };
            let rank = (
                self.is_streaming(id, &session),
                self.used_at(id, &session),
                self.used.get(id).map(|(_, turn)| *turn),
            );
            if least.is_none_or(|(least, _)| rank < least) {
                least = Some((rank, place));
            }
        }
        Ok(least.map(|(_, place)| own.remove(place)))
    }

    /// Records the opening of a further stream.
    fn open(&mut self, id: &str, mut session: Session, now: Millis) -> Result<Reply, S::Error> {
        session.opened = session.opened.saturating_add(1);
        session.used_at = now;
        self.store.put(id, &session)?;
        Ok(Reply::Open {
            capabilities: session.new.capabilities,
            stream: session.opened,
            since: session.since,
            subscriptions: self.store.subscriptions(id)?,
        })
    }

    fn subscribe(
        &mut self,
        id: &str,
        mut session: Session,
        uri: &str,
        limits: &SessionLimits,
        now: Millis,
    ) -> Result<Reply, S::Error> {
        if self.store.is_subscribed(id, uri)? {
            self.notify_again(id, &mut session, now)?;
            return Ok(Reply::Done);
        }
        let bytes = bytes_of(uri);
        let room = self.room()?;
        if let Some(excess) = room.excess(&session, bytes, limits) {
            return Ok(Reply::Full(excess));
        }
        room.of(&session).bytes += bytes;
        session.uris += 1;
        session.uri_bytes += bytes;
        self.store.subscribe(id, uri)?;
        self.notify(id, &mut session, now)?;
        Ok(Reply::Done)
    }

    fn unsubscribe(
        &mut self,
        id: &str,
        mut session: Session,
        uri: &str,
        now: Millis,
    ) -> Result<(), S::Error> {
        if !self.store.is_subscribed(id, uri)? {
            return self.notify_again(id, &mut session, now);
        }
        let bytes = bytes_of(uri);
        let totals = self.room()?.of(&session);
        totals.bytes = totals.bytes.saturating_sub(bytes);
        session.uris = session.uris.saturating_sub(1);
        session.uri_bytes = session.uri_bytes.saturating_sub(bytes);
        self.store.unsubscribe(id, uri)?;
        self.notify(id, &mut session, now)
    }

    /// Ends a session and its stream. If `is_awaited`, the request waits until the stream is
    /// closed.
    fn end(&mut self, id: &str, session: &Session, is_awaited: bool) -> Result<(), S::Error> {
        self.release_all(id, session, is_awaited)?;
        self.forget(id, session)
    }

    fn forget(&mut self, id: &str, session: &Session) -> Result<(), S::Error> {
        let totals = self.room()?.of(session);
        totals.sessions = totals.sessions.saturating_sub(1);
        totals.bytes = totals.bytes.saturating_sub(session.uri_bytes);
        self.used.remove(id);
        self.store.remove(id)
    }

    /// Returns the session if it belongs to this principal.
    pub(super) fn owned(
        &self,
        id: &str,
        principal: Option<&str>,
    ) -> Result<Option<Session>, S::Error> {
        let session = self.store.get(id)?;
        Ok(session.filter(|session| session.new.principal.as_deref() == principal))
    }

    fn is_streaming(&self, id: &str, session: &Session) -> bool {
        session.shard.is_some() || self.local.edge(id).is_some()
    }

    fn is_over(&self, id: &str, session: &Session, now: Millis) -> bool {
        let ends_at = self.used_at(id, session) + Millis::from(session.new.idle);
        ends_at < now && !self.is_streaming(id, session)
    }

    fn used_at(&self, id: &str, session: &Session) -> Millis {
        let used = self.used.get(id).map(|(at, _)| *at);
        used.unwrap_or_default().max(session.used_at)
    }

    fn note_use(&mut self, id: &str, now: Millis) {
        self.uses += 1;
        self.used.insert(id.into(), (now, self.uses));
    }

    /// Records a use. Writes to the store only if the stored time lags too much.
    pub(super) fn touch(
        &mut self,
        id: &str,
        session: &mut Session,
        now: Millis,
    ) -> Result<(), S::Error> {
        self.note_use(id, now);
        let idle = Millis::from(session.new.idle);
        if session.used_at + Millis(idle.0 / 10) < now {
            session.used_at = now;
            self.store.put(id, session)?;
        }
        Ok(())
    }
}

/// Returns the bytes that a URI counts, including what is kept next to it.
fn bytes_of(uri: &str) -> usize {
    uri.len() + 64
}

/// Milliseconds between two sweeps that make room: each repeats all pending calls to shards.
const SWEEP_SPACING: Millis = Millis(1_000);
