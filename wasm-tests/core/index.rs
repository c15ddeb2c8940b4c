use mcp_listen::{
    bus::EdgeId,
    event::ServerEvent,
    filter::SubscriptionFilter,
    scope::{Name, Scope},
    topic::{Index, Topic},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const TOOLS: ServerEvent = ServerEvent::ToolsListChanged;

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// Returns the topics of a caller and its groups, with the list of tools.
fn wants(principal: &str, groups: &[&str], disconnects: bool) -> Vec<Topic> {
    let filter = SubscriptionFilter {
        tools_list_changed: true,
        scope: Scope {
            groups: groups.iter().map(|text| name(text)).collect(),
            principals: vec![name(principal)],
            disconnects,
        },
        ..SubscriptionFilter::default()
    };
    filter.topics()
}

#[test]
fn matching_edges_are_listed_once_in_ascending_order() {
    let mut index = Index::default();
    let mut enter = |edges: &[u32], topics: &[Topic]| {
        for edge in edges {
            for topic in topics {
                index.insert(EdgeId(*edge), topic.clone());
            }
        }
    };
    enter(&[5, 3], &[Topic::Everything]);
    enter(&[9, 1], &wants("ann", &["acme"], false));
    enter(&[10, 11, 12, 13, 14, 15], &wants("ben", &[], false));
    enter(&[4], &wants("ann", &[], true));
    let matching = |event| index.matching(&event).into_iter().map(|edge| edge.0);
    let acme = ServerEvent::ForGroup {
        group: name("acme"),
        event: Box::new(TOOLS),
    };
    assert!(matching(acme).eq([1, 3, 5, 9]));
    let principal = name("ann");
    assert!(matching(ServerEvent::Disconnect { principal }).eq([1, 3, 4, 5, 9]));
    assert!(matching(TOOLS).eq([1, 3, 4, 5, 9].into_iter().chain(10..16)));
}

#[test]
fn an_event_of_a_group_matches_those_of_the_group_that_want_it_whatever_their_numbers() {
    let event = ServerEvent::ForGroup {
        group: name("acme"),
        event: Box::new(TOOLS),
    };
    let tools = Topic::of(&TOOLS);
    let group = Topic::of_group(&event).unwrap();
    for sizes in [
        (1_u32, 400_u32),
        (400, 1),
        (10, 400),
        (90, 100),
        (100, 90),
        (100, 100),
    ] {
        let mut index = Index::default();
        let of_event: Vec<u32> = (0..sizes.0).map(|id| id * 3).collect();
        let of_group: Vec<u32> = (0..sizes.1).map(|id| id * 2).collect();
        for id in &of_event {
            index.insert(*id, tools.clone());
        }
        for id in &of_group {
            index.insert(*id, group.clone());
        }
        let both: Vec<u32> = of_event
            .into_iter()
            .filter(|id| of_group.contains(id))
            .collect();
        assert_eq!(index.matching(&event), both, "{sizes:?}");
    }
}
