//! Whose turn it is, and what it does.

use alloc::{boxed::Box, collections::VecDeque, string::String, vec::Vec};

use crate::{
    clock::Millis,
    events::{
        cursor,
        matching::Pick,
        name::EventName,
        page::{Page, PageEvent},
    },
    vocabulary::position::{Mark, Position},
};

use super::{
    super::{
        Subscription, envelope,
        schedule::{PAUSE, RECHECK},
        store::Store,
    },
    Deliverer, MessageKind, Output, Post,
    flights::{GUARD, Room, What},
    message_id,
    pages::Found,
    roster::{Member, Named},
};

/// What came of the turn of a subscription.
enum Turn {
    /// It has nothing to do, or waits.
    Done,
    /// It may have more to do.
    Again,
    /// A limit keeps it from sending.
    Blocked(Room),
}

impl<S: Store> Deliverer<S> {
    /// Does what is due: gives each subscription its turn, stores what has changed, and sets the
    /// alarm before anything is sent.
    pub(super) fn advance(&mut self, now: Millis) -> Result<(), S::Error> {
        self.queue_due(now);
        let mut waiting = VecDeque::new();
        while let Some(id) = self.queue.pop_front() {
            match self.turn(&id, now)? {
                Turn::Again => self.queue.push_back(id),
                Turn::Blocked(Room::HostFull) => waiting.push_back(id),
                Turn::Blocked(_) => {
                    self.queue.push_front(id);
                    break;
                }
                Turn::Done => {
                    if let Some(member) = self.roster.get_mut(&id) {
                        member.is_queued = false;
                    }
                }
            }
        }
        waiting.append(&mut self.queue);
        self.queue = waiting;
        if self.is_idle() || self.flights.is_burst_over(now) {
            self.roster.flush()?;
        }
        self.set_alarm(now);
        self.outputs.extend(self.posts.drain(..));
        Ok(())
    }

    fn turn(&mut self, id: &str, now: Millis) -> Result<Turn, S::Error> {
        let Some(member) = self.roster.get_mut(id) else {
            return Ok(Turn::Done);
        };
        if member.row.ending.is_some() {
            return Ok(self.terminate(id, now));
        }
        if !member.row.is_live(now) {
            self.remove(id)?;
            return Ok(Turn::Done);
        }
        if member.row.drop_secrets(now) {
            self.roster.put(id)?;
        }
        Ok(self.deliver(id, now))
    }

    fn deliver(&mut self, id: &str, now: Millis) -> Turn {
        let row = self.roster.get(id).map(|member| &member.row);
        if row.is_some_and(|row| row.is_lapsed(now)) {
            self.authorize(id, now);
            return Turn::Done;
        }
        if !row.is_some_and(|row| row.may_send(now)) {
            return Turn::Done;
        }
        let turn = self.send_gap(id, now);
        let turn = turn.or_else(|| self.send_event(id, now));
        turn.or_else(|| self.fill(id, now)).unwrap_or(Turn::Done)
    }

    fn authorize(&mut self, id: &str, now: Millis) {
        let Some(member) = self.roster.get_mut(id) else {
            return;
        };
        if member.asked_at.is_some_and(|at| now < at + RECHECK) {
            return;
        }
        member.asked_at = Some(now);
        self.outputs.push_back(Output::Authorize {
            subscription: id.into(),
            principal: member.row.principal.clone(),
            name: member.row.name.clone(),
            arguments: member.row.arguments.clone(),
        });
    }

    fn terminate(&mut self, id: &str, now: Millis) -> Turn {
        let Some(row) = self.roster.get(id).map(|member| &member.row) else {
            return Turn::Done;
        };
        let Some(ending) = row.ending.as_ref().filter(|ending| ending.is_due(now)) else {
            return Turn::Done;
        };
        let room = self.flights.room(&row.host, now);
        if room != Room::Free {
            return Turn::Blocked(room);
        }
        let body = envelope::terminated(&ending.error.to_object(row.codes));
        let message = message_id(MessageKind::Terminated, id, ending.at);
        self.post(
            id,
            MessageKind::Terminated,
            What::Terminated,
            (message, body),
            now,
        );
        if let Some(member) = self.roster.get_mut(id)
            && let Some(ending) = &mut member.row.ending
        {
            ending.start();
        }
        Turn::Done
    }

    fn send_gap(&mut self, id: &str, now: Millis) -> Option<Turn> {
        let row = &self.roster.get(id)?.row;
        let (gap, mark) = row.progress.due_gap(now)?;
        let room = self.flights.room(&row.host, now);
        if room != Room::Free {
            return Some(Turn::Blocked(room));
        }
        let at = gap.at;
        let body = envelope::gap(&cursor::to_text(&mark));
        let message = message_id(MessageKind::Gap, id, at);
        self.post(id, MessageKind::Gap, What::Gap(at), (message, body), now);
        self.roster.get_mut(id)?.row.progress.start_gap();
        Some(Turn::Again)
    }

    fn send_event(&mut self, id: &str, now: Millis) -> Option<Turn> {
        let member = self.roster.get(id)?;
        let progress = &member.row.progress;
        let position = progress.due(now)?;
        let room = self.flights.room(&member.row.host, now);
        if room != Room::Free {
            return Some(Turn::Blocked(room));
        }
        let after = progress.mark_at(position.previous());
        let name = &member.row.name;
        match self.pages.find(name, &after, &member.reader(id)) {
            Found::Picks(page, picks) => {
                let message = message_of(&member.row, page, picks, position);
                self.send(id, &progress.mark_at(position), message, now)?;
                Some(Turn::Again)
            }
            found => {
                let asked = Asked::of(&found);
                self.ask(id, after, asked, now)
            }
        }
    }

    /// Sends an occurrence, or passes it over if the subscription does not receive it after all.
    fn send(
        &mut self,
        id: &str,
        mark: &Mark,
        message: Option<(Box<str>, String)>,
        now: Millis,
    ) -> Option<()> {
        let progress = &mut self.roster.get_mut(id)?.row.progress;
        match message {
            None => progress.settle(mark.position),
            Some(message) => {
                progress.start(mark.position, now);
                let what = What::Event(mark.clone());
                self.post(id, MessageKind::Event, what, message, now);
            }
        }
        Some(())
    }

    /// Adds what the subscription receives next.
    fn fill(&mut self, id: &str, now: Millis) -> Option<Turn> {
        let member = self.roster.get(id)?;
        let (row, progress) = (&member.row, &member.row.progress);
        let (room, read) = (progress.room(now), progress.read());
        let named = self.roster.named(&row.name)?;
        if room == 0 || !named.has_more(progress.epoch(), read) {
            return None;
        }
        let after = progress.mark_at(read);
        let (taken, through) = match self.pages.find(&row.name, &after, &member.reader(id)) {
            Found::Picks(page, picks) => next_of(page, picks, read, room),
            found => {
                let asked = Asked::of(&found);
                return self.ask(id, after, asked, now);
            }
        };
        let progress = &mut self.roster.get_mut(id)?.row.progress;
        for position in taken {
            progress.add(position, now);
        }
        progress.advance(through);
        Some(Turn::Again)
    }

    /// Reads the log, or asks the server which occurrences a subscription receives.
    fn ask(&mut self, id: &str, after: Mark, asked: Asked, now: Millis) -> Option<Turn> {
        let row = &self.roster.get(id)?.row;
        match asked {
            Asked::Log => self.read(&row.name.clone(), &after, now),
            Asked::Server(at, page) => {
                if let Some(read) = self.pages.ask(id, &row.name, &at, now) {
                    self.outputs.push_back(Output::Judge {
                        read,
                        name: row.name.clone(),
                        arguments: row.arguments.clone(),
                        page,
                    });
                }
            }
        }
        Some(Turn::Done)
    }

    fn read(&mut self, name: &EventName, after: &Mark, now: Millis) {
        let may_read = |named: &Named| named.not_before <= now;
        if !self.roster.named(name).is_some_and(may_read) {
            return;
        }
        let groups = self.roster.groups(name);
        match self.pages.read(name, after, groups, now) {
            Some((read, question)) => self.outputs.push_back(Output::Read { read, question }),
            None => self.is_starved = true,
        }
    }

    fn post(
        &mut self,
        id: &str,
        kind: MessageKind,
        what: What,
        (message, body): (Box<str>, String),
        now: Millis,
    ) {
        let Some(row) = self.roster.get(id).map(|member| &member.row) else {
            return;
        };
        self.posts.push(Output::Post(Post {
            post: self.flights.start((id, &row.host), what, now),
            kind,
            subscription: id.into(),
            message,
            url: row.url.clone(),
            body,
            secrets: row.signers(now),
        }));
    }

    pub(super) fn queue(&mut self, id: &str) {
        if let Some(member) = self.roster.get_mut(id)
            && !core::mem::replace(&mut member.is_queued, true)
        {
            self.queue.push_back(id.into());
        }
    }

    pub(super) fn queue_name(&mut self, name: &EventName) {
        for id in self.roster.ids(name) {
            self.queue(&id);
        }
    }

    pub(super) fn queue_all(&mut self) {
        self.queue_if(|_, _| true);
    }

    /// Gives those a turn that wait because too much was being read.
    pub(super) fn feed(&mut self) {
        if core::mem::take(&mut self.is_starved) {
            self.queue_all();
        }
    }

    fn queue_due(&mut self, now: Millis) {
        self.queue_if(|member, named| timeout(member, named, now).is_some_and(|at| at <= now));
    }

    fn queue_if(&mut self, is_one: impl Fn(&Member, Option<&Named>) -> bool) {
        let members = self.roster.iter().filter(|(_, member)| !member.is_queued);
        let ones = members.filter(|(_, one)| is_one(one, self.roster.named(&one.row.name)));
        let ids: Vec<Box<str>> = ones.map(|(id, _)| id.into()).collect();
        for id in ids {
            self.queue(&id);
        }
    }

    /// Sets the alarm to when something is due, or when what is under way is overdue. An earlier
    /// alarm stays while something is under way.
    fn set_alarm(&mut self, now: Millis) {
        let is_busy = !self.flights.is_empty() || !self.pages.is_idle();
        let is_late = self.guard.is_none_or(|at| at < now + MARGIN);
        self.guard = match self.guard {
            _ if !is_busy => None,
            _ if is_late => Some(now + GUARD),
            guard => guard,
        };
        let next = self.next_due(now);
        let is_earlier = next.is_some_and(|next| self.alarm.is_none_or(|alarm| next < alarm));
        if is_earlier || (!is_busy && next != self.alarm) {
            self.alarm = next;
            self.outputs.push_back(Output::SetAlarm(next));
        }
    }

    fn next_due(&self, now: Millis) -> Option<Millis> {
        let members = self
            .roster
            .iter()
            .filter_map(|(_, member)| timeout(member, self.roster.named(&member.row.name), now));
        let rest = !self.queue.is_empty() && self.flights.is_burst_over(now);
        let later = members.chain(self.guard).filter(|at| *at > now);
        let former = self.alarm.filter(|_| self.is_unchecked);
        later.chain(rest.then_some(now)).chain(former).min()
    }
}

/// Whom to ask for what comes next.
enum Asked {
    Log,
    /// The functions of the server, about the page that begins here.
    Server(Mark, String),
}

impl Asked {
    fn of(found: &Found<'_>) -> Self {
        match found {
            Found::Unjudged(page) => Self::Server(page.mark_at(page.from), page.to_json()),
            _ => Self::Log,
        }
    }
}

/// Returns the positions of at most `room` occurrences after `read` that a subscription receives,
/// and up to where it has then read.
fn next_of(page: &Page, picks: &[Pick], read: Position, room: usize) -> (Vec<Position>, Position) {
    let received = picks.iter().filter(|pick| !matches!(pick, Pick::Failed(_)));
    let positions = received.filter_map(|pick| Some(page.events.get(pick.place())?.position));
    let mut rest = positions.filter(|position| *position > read);
    let taken: Vec<Position> = rest.by_ref().take(room).collect();
    let next = rest.next().map(Position::previous);
    (taken, next.unwrap_or(page.through))
}

/// Returns id and body of the message about an occurrence.
fn message_of(
    row: &Subscription,
    page: &Page,
    picks: &[Pick],
    position: Position,
) -> Option<(Box<str>, String)> {
    let event = |place: usize| page.events.get(place);
    let is_it = |pick: &&Pick| event(pick.place()).is_some_and(|event| event.position == position);
    let pick = picks.iter().find(is_it)?;
    let event: &PageEvent = event(pick.place())?;
    let data = match pick {
        Pick::Event(_) => &event.data,
        Pick::Changed(_, data) => data,
        Pick::Failed(_) => return None,
    };
    let watermark = cursor::to_text(&row.progress.watermark());
    let body = envelope::event(&row.name, event, data, &watermark);
    Some((event.event_id.clone(), body))
}

/// Returns when a subscription has something to do.
fn timeout(member: &Member, named: Option<&Named>, now: Millis) -> Option<Millis> {
    let row = &member.row;
    if let Some(ending) = &row.ending {
        return ending.timeout();
    }
    let messages = if row.is_lapsed(now) {
        Some(member.asked_at.map_or(now, |at| at + RECHECK))
    } else {
        let progress = &row.progress;
        let has_more = named.is_some_and(|one| one.has_more(progress.epoch(), progress.read()));
        let more = has_more.then_some(now).filter(|_| progress.room(now) > 0);
        let due = progress.timeout().into_iter().chain(more).min();
        let not_before = named.map_or(Millis(0), |named| named.not_before);
        due.map(|due| due.max(row.granted_at + PAUSE).max(not_before))
    };
    messages.into_iter().chain(row.timeout(now)).min()
}

/// The guard is set again if it is nearer than this.
const MARGIN: Millis = Millis(11_000);
