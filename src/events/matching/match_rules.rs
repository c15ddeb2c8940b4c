use crate::{events::name::EventName, sorted::Map};

use super::{Expected, MatchRule};

/// The rules of several event types, by name. A type without a rule delivers every occurrence to
/// every subscription.
#[derive(Clone, Debug, Default)]
pub struct MatchRules(Map<EventName, MatchRule>);

impl MatchRules {
    /// Returns what a subscription requires of payloads.
    pub(crate) fn expected(&self, name: &EventName, arguments: &str) -> Expected {
        let expected = match self.0.get(name) {
            Some(rule) => rule.expected(arguments),
            None => Some(Expected::Everything),
        };
        expected.unwrap_or_else(|| Expected::Host(arguments.into()))
    }
}

impl FromIterator<(EventName, MatchRule)> for MatchRules {
    fn from_iter<I: IntoIterator<Item = (EventName, MatchRule)>>(rules: I) -> Self {
        Self(rules.into_iter().collect())
    }
}
