use wasm_bindgen::prelude::*;

use mcp_listen::events::{
    cue_group,
    matching::{self, MatchRule},
};

/// Returns the groups that readers of occurrences follow, for a caller with these groups: with the
/// one for occurrences of every caller.
#[wasm_bindgen(js_name = cueGroups)]
pub fn cue_groups(groups: Vec<String>) -> Vec<String> {
    let own = groups.iter().map(String::as_str);
    let groups = core::iter::once("").chain(own).filter_map(cue_group);
    groups.map(|group| group.to_string()).collect()
}

/// Whether a payload matches the arguments of a subscription, all as JSON text; `fields` is an
/// object of JSON pointers by argument.
#[wasm_bindgen]
pub fn matches(fields: &str, arguments: &str, data: &str) -> bool {
    let expected = MatchRule::from_json(fields).and_then(|fields| fields.expected(arguments));
    expected.is_some_and(|expected| expected.is_met(data))
}

/// Whether a text is a match result, see `EventExchange.handleMatchResults`, and not that of a
/// failure.
#[wasm_bindgen(js_name = isMatchResult)]
pub fn is_match_result(text: &str) -> bool {
    matching::is_match_result(text)
}
