use crate::{
    bus::{BusMessage, Mark, Place, Position, ProtocolError},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    seeded::{self, Bug},
    task::TaskId,
};

use super::{
    counts::Counts,
    heard::Heard,
    link::{BusCall, Link, Patience},
    past::Past,
    settling::Settling,
};

/// Follows the log of a bus over one connection after another: knows up to where everything was heard, notices
/// what is missing, and says when to attach again.
///
/// After each `handle_*` call, and when [`Follower::poll_timeout`] says, call [`Follower::handle_timeout`]
/// and poll [`Follower::poll_call`] until it answers `None`.
#[derive(Debug)]
pub struct Follower {
    pub(super) link: Link,
    pub(super) mark: Option<Mark>,
    /// What the attach said that is on its way.
    past: Past,
    /// Up to where everything was heard when more was wanted than the bus was told.
    before: Option<Mark>,
    /// Whether an attach is answered with an interest first, and whether that has come since the last one.
    needs_interest: bool,
    has_interest: bool,
    /// Of the tasks whose state was told of before its turn, where that state stands: what comes to light before it is older.
    early: Vec<(TaskId, Position)>,
    /// The event for which the bus was last asked because nobody wants it.
    unwanted: Option<Position>,
    pub(super) settling: Settling,
    counts: Counts,
}

impl Follower {
    /// A follower whose first attach is on its way.
    pub fn new(past: Past) -> Self {
        Self::with_link(Link::opening(), past)
    }

    /// A follower that calls for its first attach like for every other one.
    pub fn unattached() -> Self {
        Self::with_link(Link::unattached(), Past::None)
    }

    /// What its first attach says that was heard before.
    pub(crate) fn resuming(self, past: Past) -> Self {
        Self { past, ..self }
    }

    fn with_link(link: Link, past: Past) -> Self {
        Self {
            link,
            mark: None,
            past,
            before: None,
            needs_interest: false,
            has_interest: false,
            early: Vec::new(),
            unwanted: None,
            settling: Settling::Over,
            counts: Counts::default(),
        }
    }

    /// Takes no attach for confirmed whose interest is missing.
    pub fn expect_interest(&mut self) {
        self.needs_interest = true;
    }

    /// How patient it is.
    pub fn set_patience(&mut self, patience: Patience) {
        self.link.set_patience(patience);
    }

    /// A frame came from the bus. `wanted` is what was asked for; `None`: everything.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame is then to be dropped.
    pub fn handle_message(
        &mut self,
        text: &str,
        wanted: Option<&SubscriptionFilter>,
        now: Millis,
    ) -> Result<Heard, ProtocolError> {
        if self.link.is_lost() {
            return Err(ProtocolError::OutOfPlace);
        }
        let message = BusMessage::from_json(text);
        let message = message.inspect_err(|error| self.handle_unreadable(*error, text, now))?;
        match message {
            BusMessage::Attached(mark) => {
                let since = self.since().map(|since| since.position);
                // The answer to an earlier attach may come twice, or late.
                if !self.link.awaits() || !BusMessage::answers(text, since) {
                    return Ok(self.handle_unasked(mark, now));
                }
                let heard = self.handle_attached(mark, now);
                if matches!(heard, Heard::Attached { .. }) {
                    self.handle_answer(BusMessage::head_in(text), now);
                }
                Ok(heard)
            }
            BusMessage::Interest { interest, is_held } => {
                self.has_interest = true;
                Ok(Heard::Interest { interest, is_held })
            }
            BusMessage::Adjusted(seq) => Ok(Heard::Adjusted(seq)),
            BusMessage::Refused(seq) => Ok(Heard::Refused(seq)),
            BusMessage::Event {
                position,
                previous,
                at,
                event,
            } => {
                let is_wanted = wanted.is_none_or(|filter| filter.accepts(&event));
                let place = Place { position, previous };
                match self.take(place, is_wanted, now) {
                    None => Err(ProtocolError::OutOfPlace),
                    Some(is_news) if is_news && self.is_latest(&event, position) => {
                        Ok(Heard::Event {
                            position,
                            at,
                            event,
                        })
                    }
                    Some(_) => Ok(Heard::Nothing),
                }
            }
        }
    }

    /// The connection is gone, or could not be made. `random` is drawn from [0, 1).
    pub fn handle_lost(&mut self, now: Millis, random: f64, is_overloaded: bool) {
        let is_news = self.mark.is_some() && !self.link.is_away();
        self.counts.outages += u32::from(is_news);
        self.link.handle_lost(now, random, is_overloaded);
    }

    /// The connection went away with whoever held it: another one is called for at once.
    pub fn handle_moved(&mut self, now: Millis) {
        self.link.handle_moved(now);
    }

    /// Its connection was another follower's, which has heard everything up to `since` and serves it
    /// no longer: an attach of its own is called for within two seconds. `random` is drawn from [0, 1).
    pub fn handle_parted(&mut self, since: Mark, now: Millis, random: f64) {
        self.mark = Some(since);
        self.before = None;
        self.past = Past::None;
        self.early.clear();
        self.link.handle_parted(now, random);
    }

    /// The bus is to be asked at once; where it is lost, another attempt to reach it is made at once.
    pub fn handle_wish(&mut self, now: Millis) {
        self.link.handle_wish(now);
    }

    /// More is wanted: the next attach says it, and has replayed what comes from now on.
    pub fn handle_scope(&mut self, now: Millis) {
        if self.before.is_none() {
            self.before.clone_from(&self.mark);
        }
        self.link.handle_doubt(now);
    }

    /// The bus is to be asked soon whether nothing was missed.
    pub fn handle_question(&mut self, now: Millis) {
        self.link.handle_doubt(now);
    }

    /// The moment of [`Follower::poll_timeout`] has come. `random` is drawn from [0, 1).
    pub fn handle_timeout(&mut self, now: Millis, random: f64) {
        let may_verify = self.may_verify();
        self.link.handle_timeout(now, random, may_verify);
    }

    /// What is to be done about the bus, or `None` until something is handled again. An attach
    /// says [`Follower::since`].
    pub fn poll_call(&mut self, now: Millis) -> Option<BusCall> {
        let call = self.link.poll_call(now)?;
        self.has_interest = false;
        if call == BusCall::Attach {
            self.settling.handle_connecting();
        }
        if call != BusCall::Leave
            && let Some(mark) = &self.mark
        {
            let mark = self.resume().unwrap_or_else(|| mark.clone());
            self.before = None;
            // A log without an epoch is none that could be replayed.
            self.past = if mark.epoch.is_empty() {
                Past::Unknown
            } else {
                Past::Since(mark)
            };
        }
        Some(call)
    }

    /// When to call [`Follower::handle_timeout`]; `None`: not until something is handled.
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.link.poll_timeout(self.may_verify())
    }

    /// The mark that the attach says which is on its way.
    pub fn since(&self) -> Option<&Mark> {
        match &self.past {
            Past::Since(mark) => Some(mark),
            Past::None | Past::Unknown => None,
        }
    }

    /// Where the log has to be followed from so that nothing is missed: the mark, or an earlier one
    /// while the bus has not confirmed what was wanted since. `None` before the first mark.
    pub fn resume(&self) -> Option<Mark> {
        let mark = self.mark.as_ref()?;
        let earlier = [self.before.as_ref(), self.since()].into_iter().flatten();
        let earlier = earlier.filter(|earlier| earlier.epoch == mark.epoch);
        let resume = earlier.chain([mark]).min_by_key(|mark| mark.position);
        resume.cloned()
    }

    /// Up to where everything was heard; `None` until the first attach is confirmed.
    pub fn mark(&self) -> Option<&Mark> {
        self.mark.as_ref()
    }

    /// Whether there is no connection.
    pub fn is_lost(&self) -> bool {
        self.link.is_lost()
    }

    /// Whether the first attach is still on its way.
    pub fn is_opening(&self) -> bool {
        self.link.is_opening()
    }

    /// Whether everything comes, as far as is known.
    pub fn is_certain(&self) -> bool {
        self.link.is_certain()
    }

    /// Whether the bus was lost, and has not confirmed again yet.
    pub fn is_away(&self) -> bool {
        self.link.is_away()
    }

    /// How often the bus had to be followed anew.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// A bus that goes on from what was asked says just that mark.
    fn handle_attached(&mut self, mark: Mark, now: Millis) -> Heard {
        if self.needs_interest && !self.has_interest {
            self.counts.gaps += 1;
            return Heard::Nothing;
        }
        let is_whole = match std::mem::replace(&mut self.past, Past::None) {
            Past::None => true,
            Past::Since(since) => since == mark || seeded::has(Bug::TakesAnyMarkForWhole),
            Past::Unknown => false,
        };
        self.counts.resyncs += u32::from(!is_whole);
        self.counts.healed += u32::from(self.link.handle_attached(now));
        if self.mark.as_ref().map(|former| &former.epoch) != Some(&mark.epoch) {
            self.early.clear();
        }
        self.mark = Some(mark);
        Heard::Attached { is_whole }
    }

    /// Handles an `attached` that answers no attach. One of another epoch says that events were lost.
    fn handle_unasked(&mut self, mark: Mark, now: Millis) -> Heard {
        let Some(known) = &self.mark else {
            self.doubt(now);
            return Heard::Nothing;
        };
        if known.epoch == mark.epoch {
            if known.position < mark.position {
                self.doubt(now);
            }
            return Heard::Nothing;
        }
        self.counts.resyncs += 1;
        self.early.clear();
        self.before = None;
        self.mark = Some(mark);
        Heard::Attached { is_whole: false }
    }

    /// Takes an event in at its place; the answer is whether it is to be told of, and `None` before
    /// any attach was confirmed.
    fn take(&mut self, place: Place, is_wanted: bool, now: Millis) -> Option<bool> {
        let Some(mark) = &mut self.mark else {
            self.doubt(now);
            return None;
        };
        let previous = place.previous;
        let Some(previous) = previous.filter(|_| !seeded::has(Bug::IgnoresPrevious)) else {
            // What is in doubt is asked for from before the doubt.
            if self.link.is_certain() {
                mark.position = place.position;
            }
            return Some(true);
        };
        if place.position <= mark.position {
            return Some(false);
        }
        if previous != mark.position {
            if seeded::has(Bug::MovesTheMarkOverAGap) {
                mark.position = place.position;
            }
            // Once the bus is asked, its answer goes back to the mark: what comes before that is no news.
            if self.link.is_attached() {
                self.doubt(now);
            }
            return Some(true);
        }
        // A bus sends what it was asked for: a change of that must have been missed. Once it has answered, it means it.
        let is_meant = self.unwanted == Some(place.position) && self.link.is_certain();
        if !is_wanted && !is_meant {
            self.unwanted = Some(place.position);
            self.doubt(now);
            return Some(false);
        }
        mark.position = place.position;
        self.link.handle_certain(now);
        Some(true)
    }

    /// Whether no later state of its task was told of. A frame that was overtaken may come after the answer to what the
    /// bus was asked, where it stands as if it were a part of that.
    fn is_latest(&mut self, event: &ServerEvent, position: Position) -> bool {
        let reached = self.mark.as_ref().map(|mark| mark.position);
        if let ServerEvent::TaskStatus { task } = event.change() {
            let is_told = |(id, told): &(TaskId, Position)| id == task.id() && position < *told;
            if self.early.iter().any(is_told) && !seeded::has(Bug::TellsWhatWasOvertaken) {
                return false;
            }
            self.early.retain(|(id, _)| id != task.id());
            self.early.push((task.id().clone(), position));
        }
        self.early.retain(|(_, told)| Some(*told) > reached);
        true
    }

    /// What of a frame can be told that cannot be read: an event of a kind that is not known has its place,
    /// a message of a newer bus is none for us, and anything else may have been an event.
    fn handle_unreadable(&mut self, error: ProtocolError, text: &str, now: Millis) {
        match (error, Place::in_frame(text)) {
            (ProtocolError::Event(_), Some(place)) => {
                self.take(place, true, now);
            }
            (ProtocolError::UnknownVersion | ProtocolError::UnknownType, _) => {}
            _ => self.doubt(now),
        }
    }

    /// Something may be missing: the bus is to be asked.
    pub(crate) fn doubt(&mut self, now: Millis) {
        self.counts.gaps += u32::from(self.link.handle_doubt(now));
    }

    /// A log without an epoch has nothing to ask for.
    pub(super) fn may_verify(&self) -> bool {
        self.mark
            .as_ref()
            .is_some_and(|mark| !mark.epoch.is_empty())
    }
}
