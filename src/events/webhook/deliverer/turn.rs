//! What a subscription does when it is its turn.

use alloc::{boxed::Box, string::String, vec::Vec};

use crate::{
    clock::Millis,
    events::{
        cursor,
        matching::Selected,
        name::EventName,
        page::{Page, PageEvent},
    },
    vocabulary::position::{Cursor, Position},
};

use super::{
    super::{Subscription, envelope, schedule::RECHECK, store::Store},
    Deliverer, MessageKind, Output, Post,
    flights::{Room, What},
    message_id,
    pages::Found,
    roster::Named,
};

/// The result of one step of a subscription.
pub(super) enum Turn {
    /// It has nothing to do, or waits.
    Done,
    /// It may have more to do.
    Again,
    /// A limit keeps it from sending.
    Blocked(Room),
}

impl<S: Store> Deliverer<S> {
    pub(super) fn turn(&mut self, id: &str, now: Millis) -> Result<Turn, S::Error> {
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
        let gap = row.progress.due_gap(now)?;
        let room = self.flights.room(&row.host, now);
        if room != Room::Free {
            return Some(Turn::Blocked(room));
        }
        let at = gap.at();
        let body = envelope::gap(&cursor::to_text(&gap.cursor()));
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
        let after = progress.cursor_at(position.previous());
        let name = &member.row.name;
        match self.pages.find(name, &after, &member.reader(id)) {
            Found::Picks(page, picks) => {
                let message = message_of(&member.row, page, picks, position);
                self.send(id, &progress.cursor_at(position), message, now)?;
                Some(Turn::Again)
            }
            found => {
                let asked = Asked::of(&found);
                self.ask(id, &after, asked, now)
            }
        }
    }

    /// Sends an occurrence, or passes it over if the subscription does not receive it after all.
    fn send(
        &mut self,
        id: &str,
        cursor: &Cursor,
        message: Option<(Box<str>, String)>,
        now: Millis,
    ) -> Option<()> {
        let progress = &mut self.roster.get_mut(id)?.row.progress;
        match message {
            None => progress.settle(cursor.position),
            Some(message) => {
                progress.start(cursor.position, now);
                let what = What::Event(cursor.clone());
                self.post(id, MessageKind::Event, what, message, now);
            }
        }
        Some(())
    }

    /// Adds what the subscription receives next.
    fn fill(&mut self, id: &str, now: Millis) -> Option<Turn> {
        let member = self.roster.get(id)?;
        let row = &member.row;
        let (room, read) = (row.progress.room(now), row.progress.read());
        if room == 0 || !self.roster.named(&row.name)?.has_more(&read) {
            return None;
        }
        let (taken, through) = match self.pages.find(&row.name, &read, &member.reader(id)) {
            Found::Picks(page, picks) => next_of(page, picks, read.position, room),
            found => {
                let asked = Asked::of(&found);
                return self.ask(id, &read, asked, now);
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
    fn ask(&mut self, id: &str, after: &Cursor, asked: Asked, now: Millis) -> Option<Turn> {
        let row = &self.roster.get(id)?.row;
        match asked {
            Asked::Log => self.read(&row.name.clone(), after, now),
            Asked::Server(at, page) => {
                if let Some(read) = self.pages.ask(id, &row.name, &at, now) {
                    self.outputs.push_back(Output::Match {
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

    fn read(&mut self, name: &EventName, after: &Cursor, now: Millis) {
        let may_read = |named: &Named| named.not_before <= now;
        let may_read = self.roster.named(name).is_some_and(may_read);
        if !may_read || self.pages.is_reading(name, after) {
            return;
        }
        if self.pages.is_full() {
            self.is_starved = true;
            return;
        }
        let groups = self.roster.groups(name);
        let (read, query) = self.pages.read(name, after, groups, now);
        self.outputs.push_back(Output::Read { read, query });
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
}

/// Whom to ask for what comes next.
enum Asked {
    Log,
    /// The functions of the server, about the page that begins here.
    Server(Cursor, String),
}

impl Asked {
    fn of(found: &Found<'_>) -> Self {
        match found {
            Found::Unjudged(page) => Self::Server(page.cursor_at(page.from), page.to_json()),
            _ => Self::Log,
        }
    }
}

/// Returns the positions of at most `room` occurrences after `read` that a subscription receives,
/// and up to where it has then read.
fn next_of(
    page: &Page,
    picks: &[Selected],
    read: Position,
    room: usize,
) -> (Vec<Position>, Position) {
    let received = picks
        .iter()
        .filter(|pick| !matches!(pick, Selected::Failed(_)));
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
    picks: &[Selected],
    position: Position,
) -> Option<(Box<str>, String)> {
    let event = |place: usize| page.events.get(place);
    let is_it =
        |pick: &&Selected| event(pick.place()).is_some_and(|event| event.position == position);
    let pick = picks.iter().find(is_it)?;
    let event: &PageEvent = event(pick.place())?;
    let data = match pick {
        Selected::Event(_) => &event.data,
        Selected::Transformed(_, data) => data,
        Selected::Failed(_) => return None,
    };
    let watermark = cursor::to_text(&row.progress.watermark());
    let body = envelope::event(&row.name, event, data, &watermark);
    Some((event.event_id.clone(), body))
}
