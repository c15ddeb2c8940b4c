//! One step of a subscription: ending, authorizing, sending or reading.

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
    super::{WebhookSubscription, envelope, schedule::AUTHORIZE_RETRY, store::WebhookStore},
    Deliverer, DelivererOutput, MessageKind, Post,
    in_flight::{Content, Limit},
    message_id,
    pages::{Lookup, MAX_MATCHES},
    subscriptions::SubscribedType,
};

/// The result of a step.
pub(super) enum StepResult {
    /// The subscription has nothing more to do, or waits.
    Done,
    /// The subscription may have more to do.
    More,
    /// A limit keeps the subscription from sending, from reading, or from being matched.
    Blocked(Limit),
}

impl<S: WebhookStore> Deliverer<S> {
    pub(super) fn step(&mut self, id: &str, now: Millis) -> Result<StepResult, S::Error> {
        let Some(entry) = self.subscriptions.get_mut(id) else {
            return Ok(StepResult::Done);
        };
        entry.turn = None;
        if entry.row.ending.is_some() {
            return Ok(self.send_terminated(id, now));
        }
        if !entry.row.is_live(now) {
            self.remove(id)?;
            return Ok(StepResult::Done);
        }
        if entry.row.drop_secrets(now) {
            self.subscriptions.put(id)?;
        }
        Ok(self.deliver(id, now))
    }

    fn deliver(&mut self, id: &str, now: Millis) -> StepResult {
        let entry = self.subscriptions.get(id);
        if entry.is_some_and(|entry| entry.row.needs_authorization(now)) {
            self.authorize(id, now);
            return StepResult::Done;
        }
        if !entry.is_some_and(|entry| entry.row.may_send(now) && entry.send_after <= now) {
            return StepResult::Done;
        }
        let result = self.send_gap(id, now);
        let result = result.or_else(|| self.send_event(id, now));
        result
            .or_else(|| self.take_next(id, now))
            .unwrap_or(StepResult::Done)
    }

    fn authorize(&mut self, id: &str, now: Millis) {
        let Some(entry) = self.subscriptions.get_mut(id) else {
            return;
        };
        let asked_at = entry.authorization_asked_at;
        if asked_at.is_some_and(|at| now < at + AUTHORIZE_RETRY) {
            return;
        }
        entry.authorization_asked_at = Some(now);
        self.outputs.push_back(DelivererOutput::Authorize {
            subscription: id.into(),
            principal: entry.row.principal.clone(),
            groups: entry.row.groups.clone(),
            name: entry.row.name.clone(),
            arguments: entry.row.arguments.clone(),
        });
    }

    fn send_terminated(&mut self, id: &str, now: Millis) -> StepResult {
        let Some(entry) = self.subscriptions.get(id) else {
            return StepResult::Done;
        };
        let row = &entry.row;
        let Some(ending) = row.ending.as_ref().filter(|ending| ending.is_due(now)) else {
            return StepResult::Done;
        };
        if let Err(limit) = self.in_flight.check_room(&entry.route(), now) {
            return StepResult::Blocked(limit);
        }
        let body = envelope::terminated(&ending.error.to_object(row.codes));
        let message = message_id(MessageKind::Terminated, id, ending.at);
        self.post(
            id,
            MessageKind::Terminated,
            Content::Terminated,
            (message, body),
            now,
        );
        if let Some(entry) = self.subscriptions.get_mut(id)
            && let Some(ending) = &mut entry.row.ending
        {
            ending.start();
        }
        StepResult::Done
    }

    fn send_gap(&mut self, id: &str, now: Millis) -> Option<StepResult> {
        let entry = self.subscriptions.get(id)?;
        let gap = entry.row.progress.due_gap(now)?;
        if let Err(limit) = self.in_flight.check_room(&entry.route(), now) {
            return Some(StepResult::Blocked(limit));
        }
        let at = gap.at();
        let body = envelope::gap(&cursor::to_text(&gap.cursor()));
        let message = message_id(MessageKind::Gap, id, at);
        self.post(id, MessageKind::Gap, Content::Gap(at), (message, body), now);
        self.subscriptions.get_mut(id)?.row.progress.start_gap();
        Some(StepResult::More)
    }

    fn send_event(&mut self, id: &str, now: Millis) -> Option<StepResult> {
        let entry = self.subscriptions.get(id)?;
        let progress = &entry.row.progress;
        let position = progress.due(now)?;
        if let Err(limit) = self.in_flight.check_room(&entry.route(), now) {
            return Some(StepResult::Blocked(limit));
        }
        let after = progress.cursor_at(position.previous());
        let name = &entry.row.name;
        match self.pages.find(name, &after, &entry.reader(id)) {
            Lookup::Selected(page, selected) => {
                let message = message_of(&entry.row, page, selected, position);
                self.send_or_skip(id, &progress.cursor_at(position), message, now)?;
                Some(StepResult::More)
            }
            Lookup::Missing => self.request(id, &after, Source::Log, now),
            Lookup::Unmatched => self.request(id, &after, Source::Server, now),
        }
    }

    /// Sends an occurrence, or skips it if the subscription does not receive it after all.
    fn send_or_skip(
        &mut self,
        id: &str,
        cursor: &Cursor,
        message: Option<(Box<str>, String)>,
        now: Millis,
    ) -> Option<()> {
        let progress = &mut self.subscriptions.get_mut(id)?.row.progress;
        match message {
            None => progress.settle(cursor.position),
            Some(message) => {
                progress.start(cursor.position, now);
                let content = Content::Event(cursor.clone());
                self.post(id, MessageKind::Event, content, message, now);
            }
        }
        Some(())
    }

    /// Takes the next occurrences that the subscription receives from a page.
    fn take_next(&mut self, id: &str, now: Millis) -> Option<StepResult> {
        let entry = self.subscriptions.get(id)?;
        let row = &entry.row;
        let (room, read) = (row.progress.room(now), row.progress.read());
        if room == 0 || !self.subscriptions.event_type(&row.name)?.has_more(&read) {
            return None;
        }
        let (taken, through) = match self.pages.find(&row.name, &read, &entry.reader(id)) {
            Lookup::Selected(page, selected) => next_of(page, selected, read.position, room),
            Lookup::Missing => return self.request(id, &read, Source::Log, now),
            Lookup::Unmatched => return self.request(id, &read, Source::Server, now),
        };
        let progress = &mut self.subscriptions.get_mut(id)?.row.progress;
        for position in taken {
            progress.add(position, now);
        }
        progress.advance(through);
        Some(StepResult::More)
    }

    /// Requests what is missing: a page of the log, or its match results for a subscription.
    fn request(
        &mut self,
        id: &str,
        after: &Cursor,
        source: Source,
        now: Millis,
    ) -> Option<StepResult> {
        let entry = self.subscriptions.get(id)?;
        let row = &entry.row;
        if entry.expected.for_host().is_some() {
            if self.pages.matching().any(|matching| *matching == *id) {
                return Some(StepResult::Done);
            }
            // A page that is read would wait for its match, and might be removed meanwhile.
            if let Err(limit) = self.check_matches(&row.principal) {
                return Some(StepResult::Blocked(limit));
            }
        }
        match source {
            Source::Log => return Some(self.read(&row.name.clone(), after, now)),
            Source::Server if entry.matches.until() > now => {}
            Source::Server => {
                let (read, page) = self.pages.begin_match(id, &row.name, after, now)?;
                self.outputs.push_back(DelivererOutput::Match {
                    read,
                    name: row.name.clone(),
                    arguments: row.arguments.clone(),
                    page,
                });
            }
        }
        Some(StepResult::Done)
    }

    /// Checks that the server may match another page for a subscriber. As for messages, more places
    /// have to be free than the subscriber has.
    fn check_matches(&self, principal: &str) -> Result<(), Limit> {
        let free = MAX_MATCHES.saturating_sub(self.pages.matching().count());
        let entries = self
            .pages
            .matching()
            .filter_map(|id| self.subscriptions.get(id));
        let own = entries.filter(|entry| *entry.row.principal == *principal);
        match own.count() {
            own if own < free => Ok(()),
            0 => Err(Limit::Matches),
            _ => Err(Limit::CallerMatches(principal.into())),
        }
    }

    fn read(&mut self, name: &EventName, after: &Cursor, now: Millis) -> StepResult {
        let may_read = |event_type: &SubscribedType| event_type.reads.until() <= now;
        let may_read = self.subscriptions.event_type(name).is_some_and(may_read);
        if !may_read || self.pages.is_reading(name, after) {
            return StepResult::Done;
        }
        if self.pages.is_full() {
            return StepResult::Blocked(Limit::Other);
        }
        let groups = self.subscriptions.groups(name);
        let (read, query) = self.pages.read(name, after, groups, now);
        self.outputs
            .push_back(DelivererOutput::Read { read, query });
        StepResult::Done
    }

    fn post(
        &mut self,
        id: &str,
        kind: MessageKind,
        content: Content,
        (message, body): (Box<str>, String),
        now: Millis,
    ) {
        let Some(entry) = self.subscriptions.get(id) else {
            return;
        };
        let row = &entry.row;
        self.posts.push(DelivererOutput::Post(Post {
            post: self.in_flight.start((id, entry.route()), content, now),
            kind,
            subscription: id.into(),
            message,
            url: row.url.clone(),
            body,
            secrets: row.signing_secrets(now),
        }));
    }
}

/// Where to find out what comes next.
#[derive(Clone, Copy)]
enum Source {
    /// The log.
    Log,
    /// The functions of the server, which match a page.
    Server,
}

/// Returns the positions of at most `room` occurrences after `read` that a subscription receives,
/// and up to where it has then read.
fn next_of(
    page: &Page,
    selected: &[Selected],
    read: Position,
    room: usize,
) -> (Vec<Position>, Position) {
    let received = selected
        .iter()
        .filter(|selected| !matches!(selected, Selected::Failed(_)));
    let positions =
        received.filter_map(|selected| Some(page.events.get(selected.place())?.position));
    let mut rest = positions.filter(|position| *position > read);
    let taken: Vec<Position> = rest.by_ref().take(room).collect();
    let next = rest.next().map(Position::previous);
    (taken, next.unwrap_or(page.through))
}

/// Returns id and body of the message about an occurrence.
fn message_of(
    row: &WebhookSubscription,
    page: &Page,
    selected: &[Selected],
    position: Position,
) -> Option<(Box<str>, String)> {
    let (event, selected): (&PageEvent, &Selected) = selected.iter().find_map(|selected| {
        let event = page.events.get(selected.place())?;
        (event.position == position).then_some((event, selected))
    })?;
    let data = match selected {
        Selected::Event(_) => &event.data,
        Selected::Transformed(_, data) => data,
        Selected::Failed(_) => return None,
    };
    let watermark = cursor::to_text(&row.progress.watermark());
    let body = envelope::event(&row.name, event, data, &watermark);
    Some((event.event_id.clone(), body))
}
