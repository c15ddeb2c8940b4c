use alloc::{string::String, vec::Vec};

use crate::{
    events::{
        error::{CodeSet, EventError},
        matching::Selected,
        name::EventName,
        page::Page,
    },
    sse,
    vocabulary::id::RequestId,
};

use super::message;

/// The frames of one page, which differ only in the ids of subscriptions: the rest of each is
/// encoded once.
#[derive(Debug, Default)]
pub(super) struct Frames {
    events: Vec<Option<(String, String)>>,
}

impl Frames {
    /// Appends the frames of what a subscription receives. Failures in a row are reported once.
    pub(super) fn push(
        &mut self,
        bytes: &mut Vec<u8>,
        id: &RequestId,
        (name, page): (&EventName, &Page),
        selected: &[Selected],
    ) {
        let mut has_failed = false;
        for item in selected {
            match item {
                Selected::Event(place) => {
                    if let Some(around) = self.event(name, page, *place) {
                        sse::push_around(bytes, id.raw(), around);
                    }
                }
                Selected::Transformed(place, data) => {
                    if let Some(around) = around(name, page, *place, Some(data)) {
                        sse::push_around(bytes, id.raw(), &around);
                    }
                }
                Selected::Failed(_) if has_failed => {}
                Selected::Failed(_) => sse::push_around(bytes, id.raw(), &failure()),
            }
            has_failed = matches!(item, Selected::Failed(_));
        }
    }

    fn event(&mut self, name: &EventName, page: &Page, place: usize) -> Option<&(String, String)> {
        if place >= self.events.len() {
            self.events.resize(place + 1, None);
        }
        let known = self.events.get_mut(place)?;
        if known.is_none() {
            *known = around(name, page, place, None);
        }
        known.as_ref()
    }
}

fn around(
    name: &EventName,
    page: &Page,
    place: usize,
    changed: Option<&str>,
) -> Option<(String, String)> {
    let event = page.events.get(place)?;
    let cursor = page.cursor_at(event.position);
    let data = changed.unwrap_or(&event.data);
    Some(message::around_event(name, event, data, &cursor))
}

/// Both sets of numbers have the same one for this.
fn failure() -> (String, String) {
    let error = EventError::Internal("match".into());
    message::around_error(&error.to_object(CodeSet::Sep))
}
