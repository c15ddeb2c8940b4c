//! Follows the log of a bus, over one connection at a time.

mod call;
mod counts;
mod early_states;
mod follower;
mod interest_tracker;
mod joined_session;
mod link;
mod reported_room;
mod resume_point;
mod settling;
mod update;

use alloc::vec::Vec;

pub use call::UpstreamCall;
pub use counts::OutageCounts;
pub use follower::Follower;
pub use link::{BusCall, Timeouts};
pub use resume_point::{ResumePoint, SessionStart};
pub use update::BusFrame;

pub(crate) use interest_tracker::InterestTracker;
pub(crate) use update::{SessionFilter, Update};

use joined_session::JoinedSession;
use link::WaitLimits;

use crate::{
    clock::Millis,
    vocabulary::{
        filter::SubscriptionFilter,
        position::{Cursor, Position},
        scope::Scope,
        topic::{Index, Topic},
        uri::Uri,
    },
    wire::{self, ProtocolError},
};

/// A node's connection to the log of a bus: requests the topics that the node wants, and tracks
/// which of them the bus has confirmed, up to where every event was received, and how to recover
/// missed events.
///
/// It holds no streams: the union of their topics is an index, which is an argument of the calls
/// that need it.
#[derive(Debug)]
pub struct Upstream {
    follower: Follower,
    limits: WaitLimits,
    interest: InterestTracker,
    /// The number of refusals of the connection for lack of room in a row.
    refusals: u32,
    /// The end of the log at the last reply of the bus.
    head: Position,
    /// The number of the pending follow that states only changes, and when its reply is overdue.
    change: Option<(u64, Millis)>,
    /// The session, if this serves the stream of one.
    joined: Option<JoinedSession>,
    is_connected: bool,
    former: OutageCounts,
}

impl Upstream {
    /// Creates an upstream that follows nothing.
    pub(crate) fn new(timeouts: Timeouts) -> Self {
        let mut follower = Follower::unattached();
        let limits = timeouts.into();
        follower.set_limits(limits);
        Self {
            follower,
            limits,
            interest: InterestTracker::new(MAX_INITIAL_NAME_BYTES),
            refusals: 0,
            head: Position::default(),
            change: None,
            joined: None,
            is_connected: false,
            former: OutageCounts::default(),
        }
    }

    /// Sets the timeouts for the bus.
    pub(crate) fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.limits = timeouts.into();
        self.follower.set_limits(self.limits);
    }

    /// Starts to follow the bus for the first stream, without a past.
    pub(crate) fn begin(&mut self) {
        if self.is_connected {
            return;
        }
        self.follow(Follower::unattached());
    }

    /// As [`Upstream::begin`], for the stream of a session with these lists.
    pub(crate) fn begin_session(
        &mut self,
        session: wire::Claim,
        past: ResumePoint,
        lists: &SubscriptionFilter,
    ) {
        self.follow(Follower::unattached().resuming(past));
        self.follower.expect_session();
        self.joined = Some(JoinedSession {
            session,
            asked: lists.clone(),
            sent: lists.clone(),
        });
    }

    fn follow(&mut self, follower: Follower) {
        self.former = self.counts();
        self.follower = follower;
        self.follower.set_limits(self.limits);
    }

    /// Handles the end of the session's stream.
    pub(crate) fn end_session(&mut self) {
        self.joined = None;
    }

    /// Changes the groups of the session's caller.
    pub(crate) fn scope_session(&mut self, scope: &Scope) {
        if let Some(joined) = &mut self.joined {
            joined.asked.scope = scope.clone();
            joined.sent.scope = scope.clone();
        }
    }

    /// Whether there is nothing to follow.
    pub(crate) fn is_idle<Id: Copy + Ord>(&self, wanted: &Index<Id>) -> bool {
        wanted.is_empty() && self.joined.is_none()
    }

    /// As [`Upstream::begin`], for a stream that has received every event up to `since` over
    /// another connection. `random` is drawn from [0, 1).
    pub(crate) fn begin_since(&mut self, since: Cursor, now: Millis, random: f64) {
        self.begin();
        self.follower.resume_from(since, now, random);
    }

    /// Adds topics that a stream wants.
    pub(crate) fn want<'t>(&mut self, topics: impl IntoIterator<Item = &'t Topic>) {
        for topic in topics {
            self.interest.want(topic.followed());
        }
    }

    /// Removes topics that a stream no longer wants.
    pub(crate) fn release<'t, Id: Copy + Ord>(
        &mut self,
        topics: impl IntoIterator<Item = &'t Topic>,
        wanted: &Index<Id>,
    ) {
        for topic in topics {
            let topic = topic.followed();
            if !wanted.contains(&topic) {
                self.interest.release(topic);
            }
        }
    }

    /// Whether the events of all these topics are received, as far as is known.
    pub(crate) fn follows<'t>(&self, topics: impl IntoIterator<Item = &'t Topic>) -> bool {
        let mut topics = topics.into_iter();
        self.is_certain() && topics.all(|topic| self.interest.is_followed(&topic.followed()))
    }

    /// Returns the position after which a stream that begins now receives events.
    pub(crate) fn reached(&self) -> Position {
        let frame = self.follower.cursor().map(|cursor| cursor.position);
        frame.unwrap_or_default().max(self.head)
    }

    /// Handles a frame of the bus.
    pub(crate) fn handle_message<Id: Copy + Ord>(
        &mut self,
        text: &str,
        now: Millis,
        wanted: &Index<Id>,
    ) -> Result<Update, ProtocolError> {
        let sent = self.joined.as_ref().map(|joined| &joined.sent);
        let frame = self.follower.handle_message(text, sent, now)?;
        Ok(match frame {
            BusFrame::Nothing => Update::Nothing,
            BusFrame::Attached {
                is_whole,
                head,
                room,
                interest,
            } => {
                self.interest.room().set(room);
                self.head = head;
                self.refusals = 0;
                self.confirm(wanted);
                let filter =
                    interest.and_then(|(uris, is_paused)| self.set_interest(uris, is_paused));
                Update::Confirmed { is_whole, filter }
            }
            BusFrame::Followed { seq, head, room } => {
                self.interest.room().set(room);
                self.head = self.head.max(head);
                if !self.awaits(seq) {
                    return Ok(Update::Nothing);
                }
                self.confirm(wanted);
                Update::Confirmed {
                    is_whole: true,
                    filter: None,
                }
            }
            BusFrame::Refused { seq, room } => {
                self.interest.room().set(room);
                if !self.awaits(seq) {
                    return Ok(Update::Nothing);
                }
                Update::Refused(self.refuse(wanted))
            }
            BusFrame::Events { at, events } => {
                if self.joined.is_none() {
                    for (_, event) in &events {
                        self.interest
                            .handle_event(event, |topic| wanted.contains(topic));
                    }
                }
                Update::Events { at, events }
            }
            BusFrame::SessionInterest(uris, is_paused) => {
                let filter = self.set_interest(uris, is_paused);
                Update::SessionInterest(filter.ok_or(ProtocolError::OutOfPlace)?)
            }
        })
    }

    /// Sets the subscriptions of the session, which its stream receives in addition to the
    /// requested lists.
    fn set_interest(&mut self, uris: Vec<Uri>, is_paused: bool) -> Option<SessionFilter> {
        let joined = self.joined.as_mut()?;
        joined.sent = SubscriptionFilter {
            resource_subscriptions: uris,
            ..joined.asked.clone()
        };
        Some(SessionFilter {
            filter: joined.sent.clone(),
            is_paused,
        })
    }

    /// Handles a connection that was lost or could not be opened; `random` is drawn from [0, 1).
    /// Returns `false` if the bus was already unavailable or is overloaded.
    pub(crate) fn handle_lost(&mut self, now: Millis, random: f64, is_overloaded: bool) -> bool {
        let is_news = !self.follower.is_away() && !is_overloaded;
        self.handle_disconnected();
        self.follower.handle_lost(now, random, is_overloaded);
        is_news
    }

    /// Handles a move: a shard serves the connection from now on.
    pub(crate) fn handle_redirected(&mut self, now: Millis, random: f64) {
        self.handle_disconnected();
        self.follower.handle_lost(now, random, false);
    }

    /// Handles the end of the connection together with the request that owned it: calls for another
    /// one.
    pub(crate) fn handle_moved(&mut self, now: Millis) {
        self.handle_disconnected();
        self.follower.handle_moved(now);
    }

    /// Handles a refusal of the connection for lack of room. Returns whether the refusals continue.
    pub(crate) fn handle_full(&mut self) -> bool {
        self.interest.room().set(Some(0));
        self.refusals += 1;
        let goes_on = self.refusals >= MAX_REFUSALS;
        if goes_on {
            self.refusals = 0;
        }
        goes_on
    }

    /// Tries to reach a lost bus at once, because a stream waits for it.
    pub(crate) fn retry_now(&mut self, now: Millis) {
        if self.follower.is_lost() {
            self.follower.retry_now(now);
        }
    }

    /// Handles more topics of a stream that is already open: it receives their events from now on,
    /// even if the bus learns of them later.
    pub(crate) fn handle_scope(&mut self, now: Millis) {
        self.follower.handle_scope(now);
    }

    /// Handles the timeouts that are due. `random` is drawn from [0, 1).
    pub(crate) fn handle_timeout<Id: Copy + Ord>(
        &mut self,
        now: Millis,
        random: f64,
        wanted: &Index<Id>,
    ) {
        if self.waits_until().is_some_and(|until| until <= now) {
            self.undo(wanted);
            self.follower.request_probe(now);
        }
        self.follower.handle_timeout(now, random);
    }

    /// Returns when to call [`Upstream::handle_timeout`].
    pub(crate) fn poll_timeout(&self) -> Option<Millis> {
        let deadlines = [self.follower.poll_timeout(), self.waits_until()];
        deadlines.into_iter().flatten().min()
    }

    /// Whether the bus has room for these topics too, as far as is known. If it has none, the bus
    /// is asked whether there is more by now.
    pub(crate) fn has_room_for<'t, Id: Copy + Ord>(
        &mut self,
        topics: impl IntoIterator<Item = &'t Topic>,
        now: Millis,
        wanted: &Index<Id>,
    ) -> bool {
        let new = topics.into_iter().filter(|topic| !wanted.contains(topic));
        let new = new.map(Topic::followed_name_bytes).sum();
        if self.interest.admits(wanted.name_bytes(), new, now) {
            return true;
        }
        // Without topics, only the next attach asks the bus.
        let asks = wanted.is_empty() && self.interest.room().is_due();
        if asks {
            self.interest.room().handle_asked();
        }
        asks
    }

    /// Records that events may be missing, so that the bus is asked.
    pub(crate) fn report_gap(&mut self, now: Millis) {
        self.follower.report_gap(now);
    }

    /// Whether every event is received, as far as is known.
    pub(crate) fn is_certain(&self) -> bool {
        self.follower.is_certain()
    }

    /// Requests from the bus everything published before this call.
    pub(crate) fn settle(&mut self, now: Millis) {
        self.follower.settle(now);
    }

    /// Whether everything published before [`Upstream::settle`] was received.
    pub(crate) fn is_settled(&self) -> bool {
        self.follower.is_settled()
    }

    /// Whether the bus was lost and has not confirmed since.
    pub(crate) fn is_away(&self) -> bool {
        self.follower.is_away()
    }

    /// Returns the cursor up to which every event was received; `None` before the bus has
    /// confirmed.
    pub(crate) fn cursor(&self) -> Option<&Cursor> {
        self.follower.cursor()
    }

    /// Returns the cursor from which to follow the log without a gap.
    pub(crate) fn resume(&self) -> Option<Cursor> {
        self.follower.resume()
    }

    /// Returns the counters of outages and gaps.
    pub(crate) fn counts(&self) -> OutageCounts {
        let (former, counts) = (self.former, self.follower.counts());
        OutageCounts {
            outages: former.outages + counts.outages,
            healed: former.healed + counts.healed,
            gaps: former.gaps + counts.gaps,
            resyncs: former.resyncs + counts.resyncs,
        }
    }
}

/// Maximum bytes of names before the bus has reported its room: an attach is one frame.
const MAX_INITIAL_NAME_BYTES: usize = 524_288;
/// Number of refusals in a row for lack of room after which a connection is given up.
const MAX_REFUSALS: u32 = 3;
