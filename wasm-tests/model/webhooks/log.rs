use mcp_listen::{
    clock::Millis,
    events::{
        EventName, cursor,
        page::{LogQuery, Page, PageEvent},
    },
    position::{Cursor, Position},
    scope::Name,
};

/// The log of the bus, which keeps everything.
#[derive(Debug, Default)]
pub(super) struct Log(Vec<Occurrence>);

#[derive(Debug)]
pub(super) struct Occurrence {
    pub(super) name: EventName,
    pub(super) group: Option<Name>,
}

impl Log {
    /// Adds an occurrence. Returns its position.
    pub(super) fn append(&mut self, name: EventName, group: Option<Name>) -> u64 {
        self.0.push(Occurrence { name, group });
        self.0.len() as u64
    }

    pub(super) fn head(&self) -> Cursor {
        Cursor {
            epoch: "e".into(),
            position: Position(self.0.len() as u64),
        }
    }

    /// Returns the occurrences after one position and up to another.
    pub(super) fn between(&self, after: u64, to: u64) -> impl Iterator<Item = (u64, &Occurrence)> {
        let range = usize::try_from(after).unwrap()..usize::try_from(to.max(after)).unwrap();
        (after + 1..).zip(&self.0[range])
    }

    pub(super) fn page(&self, query: &LogQuery) -> Page {
        let head = self.head();
        let mut page = Page::at_end(&head);
        let Some(cursor) = &query.cursor else {
            return page;
        };
        let mark = cursor::from_text(cursor).expect("a cursor of this log");
        assert_eq!(mark.epoch, head.epoch);
        page.from = mark.position;
        let mut rest = self.between(mark.position.0, head.position.0);
        for (position, one) in rest.by_ref() {
            let may_have = query.may_have(one.group.as_deref());
            if one.name != query.name || !may_have {
                continue;
            }
            if page.events.len() == query.max_events {
                page.more = true;
                break;
            }
            page.events.push(event(position, one));
        }
        let last = page.events.last().map(|event| event.position);
        page.through = last.filter(|_| page.more).unwrap_or(head.position);
        page
    }
}

fn event(position: u64, one: &Occurrence) -> PageEvent {
    PageEvent {
        position: Position(position),
        at: Millis(0),
        group: one.group.clone(),
        event_id: format!("evt_e_{position}").into(),
        timestamp: "2026-11-25T08:00:00Z".into(),
        data: "{}".into(),
    }
}
