use wasm_bindgen::prelude::*;

use mcp_listen::{
    events::{cue_group, matching::MatchRule},
    json,
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
    let read = |text| json::read(text, json::MAX_PEER_DEPTH).ok();
    let expected = read(fields.as_bytes())
        .and_then(|fields| MatchRule::from_node(&fields.root))
        .and_then(|fields| fields.expected(arguments));
    let data = read(data.as_bytes());
    expected.is_some_and(|expected| data.is_some_and(|data| expected.is_met(&data.root)))
}
