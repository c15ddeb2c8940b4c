//! Following the log of a bus, over one connection after another.

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

/// One node's connection to the log of a bus: it asks the bus for what the node wants, and knows what of that the bus has
/// confirmed, up to where everything was heard, and what it takes to hear what was missed.
///
/// It holds no streams: what these want together is an index, which the calls that need it are given.
#[derive(Debug)]
pub struct Upstream {
    follower: Follower,
    patience: Patience,
    wants: Wants,
    /// How many times in a row the bus refused the connection for want of room.
    refusals: u32,
    /// Where the log ended when the bus last answered.
    head: Position,
    /// The number of the follow on its way that says only what changes, and how long it may stay unanswered.
    change: Option<(u64, Millis)>,
    /// Where it is for the stream of a session.
    claim: Option<Claim>,
    is_connected: bool,
    former: Counts,
}

impl Upstream {
    /// An upstream that follows nothing.
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

    /// How patient it is with its bus.
    pub(crate) fn set_patience(&mut self, patience: Patience) {
        self.patience = patience;
        self.follower.set_patience(patience);
    }

    /// Nobody was there, and somebody comes: who begins has no past.
    pub(crate) fn begin(&mut self) {
        if self.is_connected {
            return;
        }
        self.follow(Follower::unattached());
    }

    /// As [`Upstream::begin`], for the stream of a session, which asks for these lists.
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

    /// The stream of the session is gone.
    pub(crate) fn end_session(&mut self) {
        self.claim = None;
    }

    /// The caller of the session has other audiences from now on.
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

    /// As [`Upstream::begin`], for who has heard everything up to `since` over another connection. `random` is drawn from [0, 1).
    pub(crate) fn begin_since(&mut self, since: Mark, now: Millis, random: f64) {
        self.begin();
        self.follower.handle_parted(since, now, random);
    }

    /// These are wanted.
    pub(crate) fn want<'t>(&mut self, topics: impl IntoIterator<Item = &'t Topic>) {
        for topic in topics {
            self.wants.want(topic.followed());
        }
    }

    /// Somebody does not want these any more.
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

    /// Whether all of these come, as far as is known.
    pub(crate) fn follows<'t>(&self, topics: impl IntoIterator<Item = &'t Topic>) -> bool {
        let mut topics = topics.into_iter();
        self.is_certain() && topics.all(|topic| self.wants.is_followed(&topic.followed()))
    }

    /// What comes first to who begins now stands behind this.
    pub(crate) fn reached(&self) -> Position {
        let heard = self.follower.mark().map(|mark| mark.position);
        heard.unwrap_or_default().max(self.head)
    }

    /// A frame came from the bus.
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

    /// The session watches these, and its stream gets them beside what it asked for.
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

    /// The connection is gone, or could not be made; `random` is drawn from [0, 1). Returns whether nothing was
    /// amiss before.
    pub(crate) fn handle_lost(&mut self, now: Millis, random: f64, is_overloaded: bool) -> bool {
        let is_news = !self.follower.is_away() && !is_overloaded;
        self.part();
        self.follower.handle_lost(now, random, is_overloaded);
        is_news
    }

    /// The bus let the connection go: a shard has it from now on.
    pub(crate) fn handle_sent_on(&mut self, now: Millis, random: f64) {
        self.part();
        self.follower.handle_lost(now, random, false);
    }

    /// The connection went away with the request that held it: another one is called for.
    pub(crate) fn handle_moved(&mut self, now: Millis) {
        self.part();
        self.follower.handle_moved(now);
    }

    /// The bus has refused the connection for want of room. Returns whether it goes on refusing.
    pub(crate) fn handle_full(&mut self) -> bool {
        self.wants.room().tell(Some(0));
        self.refusals += 1;
        let goes_on = self.refusals >= MAX_REFUSALS;
        if goes_on {
            self.refusals = 0;
        }
        goes_on
    }

    /// Somebody waits: whether the bus is back is found out now.
    pub(crate) fn handle_wish(&mut self, now: Millis) {
        if self.follower.is_lost() {
            self.follower.handle_wish(now);
        }
    }

    /// More is wanted of what was followed already: what comes from now on is heard of, whenever the bus learns of it.
    pub(crate) fn handle_scope(&mut self, now: Millis) {
        self.follower.handle_scope(now);
    }

    /// The moment of [`Upstream::poll_timeout`] has come. `random` is drawn from [0, 1).
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

    /// When to call [`Upstream::handle_timeout`].
    pub(crate) fn poll_timeout(&self) -> Option<Millis> {
        let deadlines = [self.follower.poll_timeout(), self.waits_until()];
        deadlines.into_iter().flatten().min()
    }

    /// Whether there is room at the bus for these too, as far as is known. Where there is none, the bus is asked
    /// whether there is more by now.
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
        // Where nothing is wanted, nothing asks the bus but the next attach.
        let asks = wanted.is_empty() && self.wants.room().is_due();
        if asks {
            self.wants.room().handle_asked();
        }
        asks
    }

    /// Something may be missing: the bus is to be asked.
    pub(crate) fn doubt(&mut self, now: Millis) {
        self.follower.doubt(now);
    }

    /// Whether everything comes, as far as is known.
    pub(crate) fn is_certain(&self) -> bool {
        self.follower.is_certain()
    }

    /// Asks the bus for everything published before this call.
    pub(crate) fn settle(&mut self, now: Millis) {
        self.follower.settle(now);
    }

    /// Whether everything that was published before [`Upstream::settle`] has been received.
    pub(crate) fn is_settled(&self) -> bool {
        self.follower.is_settled()
    }

    /// Whether the bus was lost, and has not confirmed again yet.
    pub(crate) fn is_away(&self) -> bool {
        self.follower.is_away()
    }

    /// Up to where in the log everything was received; `None` before the bus has confirmed.
    pub(crate) fn mark(&self) -> Option<&Mark> {
        self.follower.mark()
    }

    /// From where the log has to be followed so that nothing is missed.
    pub(crate) fn resume(&self) -> Option<Mark> {
        self.follower.resume()
    }

    /// How often the bus had to be followed anew.
    pub(crate) fn counts(&self) -> Counts {
        let (former, counts) = (self.former, self.follower.counts());
        Counts {
            outages: former.outages + counts.outages,
            healed: former.healed + counts.healed,
            gaps: former.gaps + counts.gaps,
            resyncs: former.resyncs + counts.resyncs,
        }
    }

    /// Bytes that the names of all that is wanted may count, as far as is known.
    pub(crate) fn room(&self) -> usize {
        self.wants.room_bytes()
    }
}

/// Bytes that the names of what is wanted may count before the bus has told: an attach is one frame.
const FIRST_ROOM: usize = 524_288;
/// Refusals in a row for want of room after which a connection is given up.
const MAX_REFUSALS: u32 = 3;
