use alloc::{boxed::Box, vec::Vec};

use crate::{
    events::{
        MAX_DEPTH,
        page::{Page, PageEvent},
    },
    json::{self, Document},
    vocabulary::scope::Name,
};

use super::{Expected, MatchResult};

/// Something of a page that a subscription receives, by the place of the occurrence in the page.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Selected {
    /// The occurrence.
    Event(usize),
    /// The occurrence with another payload.
    Transformed(usize, Box<str>),
    /// The server could not decide about the occurrence.
    Failed(usize),
}

impl Selected {
    /// Returns the place of the occurrence in its page.
    pub(crate) fn place(&self) -> usize {
        match self {
            Self::Event(place) | Self::Transformed(place, _) | Self::Failed(place) => *place,
        }
    }
}

/// The payloads of a page, each parsed at most once.
pub(crate) struct Payloads<'p>(Vec<Option<Document<'p>>>);

impl<'p> Payloads<'p> {
    /// Parses the payloads if one of the subscriptions compares values.
    pub(crate) fn new<'e>(
        page: &'p Page,
        mut expected: impl Iterator<Item = &'e Expected>,
    ) -> Self {
        let is_needed = expected.any(|expected| matches!(expected, Expected::Values(_)));
        let events = page.events.iter().filter(|_| is_needed);
        Self(events.map(read).collect())
    }

    fn meet(&self, place: usize, expected: &Expected) -> bool {
        let document = self.0.get(place).and_then(Option::as_ref);
        document.is_some_and(|document| expected.is_met_by(&document.root))
    }
}

fn read(event: &PageEvent) -> Option<Document<'_>> {
    json::read(event.data.as_bytes(), MAX_DEPTH).ok()
}

/// Returns what of a page a subscription of these groups receives. `results` are those of the
/// server for its arguments, one for each occurrence of the page; a missing one is a failure.
pub(crate) fn select(
    page: &Page,
    payloads: &Payloads<'_>,
    (expected, groups): (&Expected, &[Name]),
    results: &[MatchResult],
) -> Vec<Selected> {
    let events = page.events.iter().enumerate();
    let own = events.filter(|(_, event)| {
        let group = event.group.as_ref();
        group.is_none_or(|group| groups.contains(group))
    });
    let selected = own.filter_map(|(place, _)| match expected {
        Expected::Everything => Some(Selected::Event(place)),
        Expected::Values(_) => payloads
            .meet(place, expected)
            .then_some(Selected::Event(place)),
        Expected::Host(_) => match results.get(place) {
            Some(MatchResult::Matched) => Some(Selected::Event(place)),
            Some(MatchResult::NotMatched) => None,
            Some(MatchResult::Transformed(data)) => {
                Some(Selected::Transformed(place, data.clone()))
            }
            Some(MatchResult::Failed) | None => Some(Selected::Failed(place)),
        },
    });
    selected.collect()
}
