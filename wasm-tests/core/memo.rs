use mcp_listen::{
    clock::Millis,
    edge::memo,
    event::ServerEvent,
    filter::SubscriptionFilter,
    id::RequestId,
    listen::{Output, ServerStream, Stamp},
    message,
    scope::{Label, Scope},
    uri::Uri,
};
use proptest::collection::hash_set;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{any_filter, check};

const SPANS: (Millis, Millis) = (Millis(15_000), Millis(0));

fn stream(id: &str, honored: SubscriptionFilter) -> ServerStream {
    let id = RequestId::from_raw(id, 256).unwrap();
    ServerStream::new(id, honored, Millis(15_000), Millis(0))
}

fn messages(stream: &mut ServerStream) -> Vec<Output> {
    std::iter::from_fn(|| stream.poll_output(Millis(0))).collect()
}

#[test]
fn a_memo_holds_the_id_as_it_was_written_the_filter_with_its_scope_and_the_name_of_the_server() {
    check(
        &(any_filter(), hash_set("[a-z]{1,9}", 0..3)),
        |(filter, audiences)| {
            let audiences = audiences.iter().map(|name| Label::new(name).unwrap());
            let scope = Scope {
                audiences: audiences.collect(),
                ..Scope::default()
            };
            let filter = SubscriptionFilter { scope, ..filter };
            for id in [
                "1",
                "\"1\"",
                "0",
                "\"\"",
                "12345678901234567890",
                "\"\\u00e9\\\"\"",
            ] {
                let info = Some(r#"{"name":"s","version":"1"}"#.into());
                let former = stream(id, filter.clone()).with_server_info(info);
                let text = memo::of(&former).unwrap();
                let recalled = memo::recalled(&text, true, SPANS, Millis(0)).unwrap();
                assert_eq!(recalled.stamp(), former.stamp());
                assert_eq!(recalled.honored(), former.honored());
                assert_eq!(memo::of(&recalled), Some(text));
            }
        },
    );
}

#[test]
fn a_recalled_stream_says_again_only_what_was_not_said() {
    let filter = SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    };
    let memo = memo::of(&stream("1", filter.clone())).unwrap();
    let id = RequestId::from_raw("1", 256).unwrap();
    let cue = Output::Message(message::notification(&id, &ServerEvent::ToolsListChanged));
    let acknowledged = Output::Message(message::acknowledged(&id, &filter));
    let mut told = memo::recalled(&memo, true, SPANS, Millis(0)).unwrap();
    told.handle_loss();
    assert_eq!(messages(&mut told), std::slice::from_ref(&cue));
    let mut untold = memo::recalled(&memo, false, SPANS, Millis(0)).unwrap();
    untold.handle_loss();
    assert_eq!(messages(&mut untold), [acknowledged, cue]);
}

#[test]
fn a_recalled_stream_asks_before_it_tells_even_when_the_clock_has_just_begun() {
    let uri = Uri::new("a:b", 256).unwrap();
    let filter = SubscriptionFilter {
        resource_subscriptions: vec![uri],
        ..SubscriptionFilter::default()
    };
    let memo = memo::of(&stream("1", filter.clone())).unwrap();
    let spans = (Millis(0), Millis(3_600_000));
    let mut stream = memo::recalled(&memo, true, spans, Millis(0)).unwrap();
    stream.handle_loss();
    assert_eq!(messages(&mut stream), []);
    assert!(stream.poll_question().is_some());
    stream.handle_granted(&filter, Millis(0));
    assert_eq!(messages(&mut stream).len(), 1);
}

#[test]
fn the_stream_of_a_session_has_no_memo_and_other_texts_are_none() {
    let session = ServerStream::with_stamp(
        Stamp::None,
        SubscriptionFilter::default(),
        Millis(0),
        Millis(0),
    );
    assert_eq!(memo::of(&session), None);
    for text in [
        "",
        "{}",
        r#"{"id":1}"#,
        r#"{"id":null,"honored":{}}"#,
        r#"{"id":1,"honored":"everything"}"#,
    ] {
        assert!(
            memo::recalled(text, true, SPANS, Millis(0)).is_none(),
            "{text}"
        );
    }
}
