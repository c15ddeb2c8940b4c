//! What a line gives to its streams together.

use mcp_listen::{
    bus::{BusMessage, Interest, Mark, Position},
    clock::Millis,
    edge::Patience,
    event::ServerEvent,
    filter::SubscriptionFilter,
    line::{Line, LineOutput},
    scope::{Label, Scope},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{updated, uri};

const NOW: Millis = Millis(0);

/// What wants these URIs, and the list of tools.
fn watching(uris: &[&str]) -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: uris.iter().map(|name| uri(name)).collect(),
        ..SubscriptionFilter::default()
    }
}

/// A line with streams that want that.
fn line(streams: &[&[&str]]) -> Line {
    let filters: Vec<_> = streams.iter().map(|uris| watching(uris)).collect();
    line_of(&filters)
}

fn line_of(filters: &[SubscriptionFilter]) -> Line {
    let mut line = Line::new("line", Patience::default());
    for filter in filters {
        line.attach(&Interest::Filter(filter.clone()), NOW);
    }
    while line.poll_call(NOW).is_some() {}
    let attached = BusMessage::Attached(mark("e", 0)).to_json();
    line.handle_message(&attached, NOW).unwrap();
    told(&mut line);
    line
}

fn hear(line: &mut Line, events: impl IntoIterator<Item = (u64, ServerEvent)>) {
    for (position, event) in events {
        let message = BusMessage::Event {
            position: Position(position),
            previous: Some(Position(position - 1)),
            at: None,
            event,
        };
        line.handle_message(&message.to_json(), NOW).unwrap();
    }
}

fn mark(epoch: &str, position: u64) -> Mark {
    Mark {
        epoch: epoch.into(),
        position: Position(position),
    }
}

/// How many frames went to which streams, from one output to the next.
fn told(line: &mut Line) -> Vec<(usize, Vec<u32>)> {
    std::iter::from_fn(|| line.poll_output())
        .map(|output| match output {
            LineOutput::Send { messages, edges } => {
                (messages.len(), edges.iter().map(|edge| edge.0).collect())
            }
            LineOutput::Lose { edge, .. } | LineOutput::Refuse(edge) => (0, vec![edge.0]),
        })
        .collect()
}

fn numbered(names: &[&str]) -> Vec<(u64, ServerEvent)> {
    (1..).zip(names.iter().map(|name| updated(name))).collect()
}

#[test]
fn different_events_for_the_same_streams_go_together_and_the_same_event_does_not() {
    let mut line = line(&[&["a", "b"], &["a", "b"]]);
    hear(&mut line, numbered(&["a", "b", "a", "b"]));
    let both = vec![0, 1];
    assert_eq!(told(&mut line), [(2, both.clone()), (2, both.clone())]);
    hear(&mut line, [(5, updated("a"))]);
    assert_eq!(told(&mut line), [(1, both.clone())]);
    // What was told is over.
    hear(&mut line, [(6, updated("b"))]);
    assert_eq!(told(&mut line), [(1, both)]);
}

#[test]
fn what_goes_to_other_streams_stands_between() {
    let mut line = line(&[&["a"], &["a", "b"]]);
    hear(&mut line, numbered(&["a", "b"]));
    assert_eq!(told(&mut line), [(1, vec![0, 1]), (1, vec![1])]);
    // Now they are not where each other is, and each gets frames of its own.
    hear(&mut line, [(3, ServerEvent::ToolsListChanged)]);
    assert_eq!(told(&mut line), [(1, vec![0]), (1, vec![1])]);
    hear(&mut line, [(4, updated("a"))]);
    assert_eq!(told(&mut line), [(1, vec![0, 1])]);
}

#[test]
fn what_says_that_events_were_lost_stands_between() {
    let mut line = line(&[&["a", "b"], &["a", "b"]]);
    hear(&mut line, [(1, updated("a"))]);
    let lost = BusMessage::Attached(mark("other", 1)).to_json();
    line.handle_moved(NOW);
    while line.poll_call(NOW).is_some() {}
    line.handle_message(&lost, NOW).unwrap();
    assert_eq!(told(&mut line), [(1, vec![0, 1]), (1, vec![0, 1])]);
}

#[test]
fn together_they_are_no_more_than_one_write() {
    let names: Vec<String> = (0..200).map(|number| format!("{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut short = line(&[&names, &names]);
    hear(&mut short, numbered(&names));
    let counts: Vec<usize> = told(&mut short).iter().map(|(count, _)| *count).collect();
    assert_eq!(counts, [64, 64, 64, 8]);

    let long: Vec<String> = names
        .iter()
        .map(|name| format!("{name}{}", "x".repeat(2_000)))
        .collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    let mut line = line(&[&long, &long]);
    hear(&mut line, numbered(&long[..20]));
    let counts: Vec<usize> = told(&mut line).iter().map(|(count, _)| *count).collect();
    assert_eq!(counts, [7, 7, 6]);
}

#[test]
fn what_ends_streams_stands_alone() {
    let ann = Label::new("ann").unwrap();
    let mut line = line_of(&[SubscriptionFilter {
        scope: Scope {
            principals: vec![ann.clone()],
            ..Scope::default()
        },
        ..watching(&["a"])
    }]);
    let revoked = ServerEvent::Revoked { principal: ann };
    let events = [updated("a"), revoked, ServerEvent::ToolsListChanged];
    hear(&mut line, (1..).zip(events));
    assert_eq!(told(&mut line), vec![(1, vec![0]); 3]);
}
