use mcp_listen::events::{
    matching::{MatchResult, MatchRule},
    webhook::MatchRules,
};

use super::subscriber::name;

/// A function of the server matches the occurrences of the second event type.
pub(super) fn match_rules() -> MatchRules {
    [(name(1), MatchRule::Host)].into_iter().collect()
}

/// Whether that function matches the occurrence at a position.
pub(super) fn is_matched(position: u64) -> bool {
    !position.is_multiple_of(3)
}

/// Returns the results for a page.
pub(super) fn match_page(page: &str) -> Vec<MatchResult> {
    let ids = page.split("\"evt_e_").skip(1);
    let positions = ids.map(|rest| rest.split('"').next().unwrap().parse().unwrap());
    positions
        .map(|position| {
            if is_matched(position) {
                MatchResult::Matched
            } else {
                MatchResult::NotMatched
            }
        })
        .collect()
}
