use crate::{events::name::EventName, sorted::Map};

use super::{Expected, Match};

/// How the arguments of subscriptions narrow what they receive, by name. For a name that is left
/// out they do not.
#[derive(Clone, Debug, Default)]
pub struct Matches(Map<EventName, Match>);

impl Matches {
    /// Returns what a subscription requires of payloads.
    pub(crate) fn expected(&self, name: &EventName, arguments: &str) -> Expected {
        let expected = match self.0.get(name) {
            Some(matching) => matching.expected(arguments),
            None => Some(Expected::Everything),
        };
        expected.unwrap_or_else(|| Expected::Host(arguments.into()))
    }
}

impl FromIterator<(EventName, Match)> for Matches {
    fn from_iter<I: IntoIterator<Item = (EventName, Match)>>(matches: I) -> Self {
        Self(matches.into_iter().collect())
    }
}
