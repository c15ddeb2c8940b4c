//! The subscriptions of one stdio channel, from request to end.

use mcp_listen::{
    capabilities::Capabilities, error::Reason, event::ServerEvent, filter::SubscriptionFilter,
    stdio::Input,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    request::body,
    wire::{
        PROMPTS, TOOLS, ack, assert_refused, cancel, channel, discovered, meta, open, publish,
        request, result, say, tools_changed, written,
    },
};

#[test]
fn nothing_precedes_the_acknowledgment() {
    let mut channel = channel();
    let number = request(&mut channel, "1", TOOLS);
    assert_eq!(written(&mut channel), [""; 0]);
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    channel.open(number, &discovered(), None);
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    assert_eq!(written(&mut channel), [ack("1", TOOLS), tools_changed("1")]);
}

#[test]
fn each_subscription_gets_a_copy_with_its_verbatim_id() {
    let mut channel = channel();
    open(&mut channel, "1", TOOLS);
    open(&mut channel, "\"1\"", TOOLS);
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    assert_eq!(
        written(&mut channel),
        [tools_changed("1"), tools_changed("\"1\"")]
    );
}

#[test]
fn subscriptions_take_turns() {
    let mut channel = channel();
    let filter = r#"{"toolsListChanged":true,"promptsListChanged":true}"#;
    open(&mut channel, "1", filter);
    open(&mut channel, "2", filter);
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    publish(&mut channel, &ServerEvent::PromptsListChanged);
    let ids = written(&mut channel)
        .into_iter()
        .map(|line| line.contains(&meta("2")));
    assert_eq!(ids.collect::<Vec<_>>(), [false, true, false, true]);
}

#[test]
fn what_is_not_polled_collapses() {
    let mut channel = channel();
    open(&mut channel, "1", TOOLS);
    for _ in 0..100_000 {
        publish(&mut channel, &ServerEvent::ToolsListChanged);
    }
    assert_eq!(written(&mut channel), [tools_changed("1")]);
}

#[test]
fn a_cancel_silently_ends_only_its_subscription() {
    let mut channel = channel();
    open(&mut channel, "1", TOOLS);
    open(&mut channel, "\"1\"", TOOLS);
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    assert_eq!(say(&mut channel, &cancel("1")), []);
    assert_eq!(channel.subscriptions(), 1);
    assert_eq!(written(&mut channel), [tools_changed("\"1\"")]);
    channel.close();
    assert_eq!(written(&mut channel), [result("\"1\"")]);
}

#[test]
fn a_cancel_silently_ends_a_pending_request() {
    let mut channel = channel();
    let waiting = request(&mut channel, "1", TOOLS);
    let opening = request(&mut channel, "2", TOOLS);
    channel.open(opening, &discovered(), None);
    for id in ["1", "2"] {
        assert_eq!(say(&mut channel, &cancel(id)), []);
    }
    channel.open(waiting, &discovered(), None);
    channel.refuse(waiting, Reason::Unavailable);
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    channel.handle_bus_closed();
    assert_eq!(written(&mut channel), [""; 0]);
    assert_eq!(channel.subscriptions(), 0);
}

#[test]
fn a_reused_id_gets_nothing_of_the_former_subscription() {
    let mut channel = channel();
    let first = open(&mut channel, "1", TOOLS);
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    say(&mut channel, &cancel("1"));
    let second = open(&mut channel, "1", TOOLS);
    assert_ne!(first, second);
    assert_eq!(written(&mut channel), [""; 0]);
}

#[test]
fn a_duplicate_id_is_refused_and_the_first_subscription_stays() {
    let mut channel = channel();
    open(&mut channel, "1", TOOLS);
    assert_refused(&mut channel, &body("1", "{}"), -32_600, "1");
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    assert_eq!(written(&mut channel), [tools_changed("1")]);
    let waiting = request(&mut channel, "2", TOOLS);
    assert_refused(&mut channel, &body("2", TOOLS), -32_600, "2");
    channel.open(waiting, &discovered(), None);
    assert_eq!(written(&mut channel), [ack("2", TOOLS)]);
}

#[test]
fn more_subscriptions_than_allowed_are_refused() {
    let mut channel = channel();
    for id in ["1", "2", "3"] {
        request(&mut channel, id, TOOLS);
    }
    assert_refused(&mut channel, &body("4", TOOLS), -32_603, "4");
    say(&mut channel, &cancel("2"));
    request(&mut channel, "4", TOOLS);
}

#[test]
fn close_sends_pending_cues_then_results() {
    let mut channel = channel();
    open(&mut channel, "1", TOOLS);
    open(&mut channel, "2", PROMPTS);
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    channel.close();
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    assert_eq!(
        written(&mut channel),
        [tools_changed("1"), result("2"), result("1")]
    );
    assert_eq!(channel.subscriptions(), 0);
    assert_refused(&mut channel, &body("3", TOOLS), -32_603, "3");
}

#[test]
fn an_id_is_free_once_its_result_is_written() {
    let mut channel = channel();
    let nothing = SubscriptionFilter::default();
    for _ in 0..2 {
        let number = request(&mut channel, "1", TOOLS);
        channel.open(number, &discovered(), Some(&nothing));
        assert_eq!(channel.poll_line(), Some(ack("1", "{}") + "\n"));
        assert_eq!(channel.poll_line(), Some(result("1") + "\n"));
    }
}

#[test]
fn close_refuses_pending_requests() {
    let mut channel = channel();
    request(&mut channel, "1", TOOLS);
    request(&mut channel, "2", TOOLS);
    channel.close();
    let responses = written(&mut channel);
    assert_eq!(responses.len(), 2);
    assert!(
        responses.iter().all(|response| response.contains("-32603")),
        "{responses:?}"
    );
    assert_eq!(channel.subscriptions(), 0);
}

#[test]
fn the_end_of_the_input_silently_ends_everything() {
    let mut channel = channel();
    open(&mut channel, "1", TOOLS);
    request(&mut channel, "2", TOOLS);
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    say(&mut channel, &body("3", "null"));
    channel.handle_bytes(b"unfinished");
    assert_eq!(channel.handle_end(), b"unfinished");
    assert_eq!(written(&mut channel), [""; 0]);
    assert_eq!(channel.subscriptions(), 0);
}

#[test]
fn a_closed_bus_cancels_acknowledged_subscriptions_and_refuses_pending_ones() {
    let mut channel = channel();
    open(&mut channel, "1", TOOLS);
    request(&mut channel, "2", TOOLS);
    let unwritten = request(&mut channel, "3", TOOLS);
    channel.open(unwritten, &discovered(), None);
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    channel.handle_bus_closed();
    let responses = written(&mut channel);
    assert_eq!(responses[0], cancel("1"));
    assert!(responses[1].starts_with(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603"#));
    assert!(responses[2].starts_with(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603"#));
    assert_eq!(responses.len(), 3);
}

#[test]
fn an_empty_honored_filter_is_acknowledged_and_ends() {
    let mut channel = channel();
    let number = request(&mut channel, "1", TOOLS);
    let nothing = SubscriptionFilter::default();
    channel.open(number, &discovered(), Some(&nothing));
    assert_eq!(written(&mut channel), [ack("1", "{}"), result("1")]);
    assert_eq!(channel.subscriptions(), 0);
}

#[test]
fn a_gap_cues_everything_that_each_subscription_honors() {
    let mut channel = channel();
    open(&mut channel, "1", TOOLS);
    open(&mut channel, "2", PROMPTS);
    channel.handle_gap();
    let prompts = tools_changed("2").replace("tools", "prompts");
    assert_eq!(written(&mut channel), [tools_changed("1"), prompts]);
}

#[test]
fn a_gap_cancels_a_subscription_to_tasks_since_their_states_may_be_lost() {
    let mut channel = channel();
    let filter = r#"{"toolsListChanged":true,"taskIds":["t"]}"#;
    let with_tasks = r#"apabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let body = body("1", filter).replace(r#"apabilities":{}"#, with_tasks);
    let [Input::Listen { handle, .. }] = say(&mut channel, &body)[..] else {
        panic!("no listen request");
    };
    channel.open(handle, &discovered(), None);
    assert_eq!(written(&mut channel), [ack("1", filter)]);
    channel.handle_gap();
    assert_eq!(written(&mut channel), [cancel("1")]);
    assert_eq!(channel.subscriptions(), 0);
}

#[test]
fn a_possible_loss_is_cued_before_the_result() {
    let mut channel = channel();
    open(&mut channel, "1", TOOLS);
    channel.handle_loss_at_close();
    channel.close();
    assert_eq!(written(&mut channel), [tools_changed("1"), result("1")]);
}

#[test]
fn what_a_subscription_honors_is_known_before_it_opens_and_until_it_ends() {
    let mut channel = channel();
    let number = request(
        &mut channel,
        "1",
        r#"{"toolsListChanged":true,"promptsListChanged":true}"#,
    );
    let tools = SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    };
    let honored = channel.honored(number, Capabilities::ALL, Some(&tools));
    assert_eq!(honored, Some(tools));
    let none = channel.honored(number, Capabilities::default(), None);
    assert_eq!(none, Some(SubscriptionFilter::default()));
    assert!(channel.holds(number));
    say(&mut channel, &cancel("1"));
    assert!(!channel.holds(number));
    assert_eq!(channel.honored(number, Capabilities::ALL, None), None);
}
