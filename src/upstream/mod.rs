//! Follows the log of a bus, over one connection at a time.

mod call;
mod claim;
mod counts;
mod follower;
mod heard;
mod link;
mod news;
mod past;
mod settling;
mod told_room;
mod wants;

use alloc::vec::Vec;

pub use call::UpstreamCall;
pub use counts::Counts;
pub use follower::Follower;
pub use heard::Heard;
pub use link::{BusCall, Patience};
pub use past::Past;

pub(crate) use news::{News, Watching};
pub(crate) use wants::Wants;

use claim::Claim;

use crate::{
    clock::Millis,
    vocabulary::{
        filter::SubscriptionFilter,
        position::{Mark, Position},
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
    patience: Patience,
    wants: Wants,
    /// The number of refusals of the connection for lack of room in a row.
    refusals: u32,
    /// The end of the log at the last reply of the bus.
    head: Position,
    /// The number of the pending follow that states only changes, and when its reply is overdue.
    change: Option<(u64, Millis)>,
    /// The session, if this serves the stream of one.
    claim: Option<Claim>,
    is_connected: bool,
    former: Counts,
}

impl Upstream {
    /// Creates an upstream that follows nothing.
    pub(crate) fn new(patience: Patience) -> Self {
        let mut follower = Follower::unattached();
        follower.set_patience(patience);
        Self {
            follower,
            patience,
            wants: Wants::new(FIRST_ROOM),
            refusals: 0,
            head: Position::default(),
            change: None,
            claim: None,
            is_connected: false,
            former: Counts::default(),
        }
    }

    /// Sets the timeouts for the bus.
    pub(crate) fn set_patience(&mut self, patience: Patience) {
        self.patience = patience;
        self.follower.set_patience(patience);
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
        past: Past,
        lists: &SubscriptionFilter,
    ) {
        self.follow(Follower::unattached().resuming(past));
        self.follower.expect_watch();
        self.claim = Some(Claim {
            session,
            asked: lists.clone(),
            sent: lists.clone(),
        });
    }

    fn follow(&mut self, follower: Follower) {
        self.former = self.counts();
        self.follower = follower;
        self.follower.set_patience(self.patience);
    }

    /// Handles the end of the session's stream.
    pub(crate) fn end_session(&mut self) {
        self.claim = None;
    }

    /// Changes the groups of the session's caller.
    pub(crate) fn scope_session(&mut self, scope: &Scope) {
        if let Some(claim) = &mut self.claim {
            claim.asked.scope = scope.clone();
            claim.sent.scope = scope.clone();
        }
    }

    /// Whether there is nothing to follow.
    pub(crate) fn is_idle<Id: Copy + Ord>(&self, wanted: &Index<Id>) -> bool {
        wanted.is_empty() && self.claim.is_none()
    }

    /// As [`Upstream::begin`], for a stream that has received every event up to `since` over
    /// another connection. `random` is drawn from [0, 1).
    pub(crate) fn begin_since(&mut self, since: Mark, now: Millis, random: f64) {
        self.begin();
        self.follower.handle_parted(since, now, random);
    }

    /// Adds topics that a stream wants.
    pub(crate) fn want<'t>(&mut self, topics: impl IntoIterator<Item = &'t Topic>) {
        for topic in topics {
            self.wants.want(topic.followed());
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
                self.wants.release(topic);
            }
        }
    }

    /// Whether the events of all these topics are received, as far as is known.
    pub(crate) fn follows<'t>(&self, topics: impl IntoIterator<Item = &'t Topic>) -> bool {
        let mut topics = topics.into_iter();
        self.is_certain() && topics.all(|topic| self.wants.is_followed(&topic.followed()))
    }

    /// Returns the position after which a stream that begins now receives events.
    pub(crate) fn reached(&self) -> Position {
        let heard = self.follower.mark().map(|mark| mark.position);
        heard.unwrap_or_default().max(self.head)
    }

    /// Handles a frame of the bus.
    pub(crate) fn handle_message<Id: Copy + Ord>(
        &mut self,
        text: &str,
        now: Millis,
        wanted: &Index<Id>,
    ) -> Result<News, ProtocolError> {
        let sent = self.claim.as_ref().map(|claim| &claim.sent);
        let heard = self.follower.handle_message(text, sent, now)?;
        Ok(match heard {
            Heard::Nothing => News::Nothing,
            Heard::Attached {
                is_whole,
                head,
                room,
                watched,
            } => {
                self.wants.room().tell(room);
                self.head = head;
                self.refusals = 0;
                self.confirm(wanted);
                let watched = watched.and_then(|(uris, is_held)| self.watch(uris, is_held));
                News::Confirmed { is_whole, watched }
            }
            Heard::Followed { seq, head, room } => {
                self.wants.room().tell(room);
                self.head = self.head.max(head);
                if !self.awaits(seq) {
                    return Ok(News::Nothing);
                }
                self.confirm(wanted);
                News::Confirmed {
                    is_whole: true,
                    watched: None,
                }
            }
            Heard::Refused { seq, room } => {
                self.wants.room().tell(room);
                if !self.awaits(seq) {
                    return Ok(News::Nothing);
                }
                News::Refused(self.refuse(wanted))
            }
            Heard::Events { at, events } => {
                if self.claim.is_none() {
                    for (_, event) in &events {
                        self.wants
                            .handle_event(event, |topic| wanted.contains(topic));
                    }
                }
                News::Events { at, events }
            }
            Heard::Watched(uris, is_held) => {
                let watching = self.watch(uris, is_held);
                News::Watched(watching.ok_or(ProtocolError::OutOfPlace)?)
            }
        })
    }

    /// Sets the subscriptions of the session, which its stream receives in addition to the
    /// requested lists.
    fn watch(&mut self, uris: Vec<Uri>, is_held: bool) -> Option<Watching> {
        let claim = self.claim.as_mut()?;
        claim.sent = SubscriptionFilter {
            resource_subscriptions: uris,
            ..claim.asked.clone()
        };
        Some(Watching {
            filter: claim.sent.clone(),
            is_held,
        })
    }

    /// Handles a connection that was lost or could not be opened; `random` is drawn from [0, 1).
    /// Returns `false` if the bus was already away or is overloaded.
    pub(crate) fn handle_lost(&mut self, now: Millis, random: f64, is_overloaded: bool) -> bool {
        let is_news = !self.follower.is_away() && !is_overloaded;
        self.part();
        self.follower.handle_lost(now, random, is_overloaded);
        is_news
    }

    /// Handles a move: a shard serves the connection from now on.
    pub(crate) fn handle_sent_on(&mut self, now: Millis, random: f64) {
        self.part();
        self.follower.handle_lost(now, random, false);
    }

    /// Handles the end of the connection together with the request that owned it: calls for another
    /// one.
    pub(crate) fn handle_moved(&mut self, now: Millis) {
        self.part();
        self.follower.handle_moved(now);
    }

    /// Handles a refusal of the connection for lack of room. Returns whether the refusals continue.
    pub(crate) fn handle_full(&mut self) -> bool {
        self.wants.room().tell(Some(0));
        self.refusals += 1;
        let goes_on = self.refusals >= MAX_REFUSALS;
        if goes_on {
            self.refusals = 0;
        }
        goes_on
    }

    /// Tries to reach a lost bus at once, because a stream waits for it.
    pub(crate) fn handle_wish(&mut self, now: Millis) {
        if self.follower.is_lost() {
            self.follower.handle_wish(now);
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
            self.follower.handle_question(now);
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
        let new = new.map(Topic::followed_names).sum();
        if self.wants.admits(wanted.names(), new, now) {
            return true;
        }
        // Without topics, only the next attach asks the bus.
        let asks = wanted.is_empty() && self.wants.room().is_due();
        if asks {
            self.wants.room().handle_asked();
        }
        asks
    }

    /// Records that events may be missing, so that the bus is asked.
    pub(crate) fn doubt(&mut self, now: Millis) {
        self.follower.doubt(now);
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

    /// Returns the mark up to which every event was received; `None` before the bus has confirmed.
    pub(crate) fn mark(&self) -> Option<&Mark> {
        self.follower.mark()
    }

    /// Returns the mark from which to follow the log without a gap.
    pub(crate) fn resume(&self) -> Option<Mark> {
        self.follower.resume()
    }

    /// Returns the counters of outages and gaps.
    pub(crate) fn counts(&self) -> Counts {
        let (former, counts) = (self.former, self.follower.counts());
        Counts {
            outages: former.outages + counts.outages,
            healed: former.healed + counts.healed,
            gaps: former.gaps + counts.gaps,
            resyncs: former.resyncs + counts.resyncs,
        }
    }
}

/// Maximum bytes of names before the bus has reported its room: an attach is one frame.
const FIRST_ROOM: usize = 524_288;
/// Number of refusals in a row for lack of room after which a connection is given up.
const MAX_REFUSALS: u32 = 3;
