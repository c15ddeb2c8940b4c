//! How a watch opens its next subscription: in which revision, when the network returns, and
//! whether at all.

use mcp_listen::{
    client::{
        CloseReason, HttpAction, HttpRequest, Loss, RequestHandle, ServerHint, SubscriptionOptions,
        Watch, WatchOutput, WatchState,
    },
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    http::Headers,
    id::{Ids, RequestId},
    message, sse,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    client::tools,
    subscription::{JSON, STREAM},
};

const ASKED: ServerHint = ServerHint::Discover { is_page: false };
const DISCOVERED: &str =
    r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}"#;
const NO_METHOD: &str = r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"no such method"}}"#;

/// A watch of the list of tools.
fn watching(hint: ServerHint) -> Watch {
    Watch::new(tools(), SubscriptionOptions::default(), hint, 3, Millis(0))
}

/// A watch over HTTP and its clock.
struct Host {
    watch: Watch,
    now: Millis,
}

impl Host {
    fn new(hint: ServerHint) -> Self {
        Self::of(watching(hint))
    }

    fn of(watch: Watch) -> Self {
        let now = Millis(0);
        Self { watch, now }
    }

    fn request(&mut self) -> (RequestHandle, HttpRequest) {
        match self.watch.poll_action() {
            Some(HttpAction::Send(call, request)) => (call, request),
            other => panic!("{other:?}"),
        }
    }

    /// Responds to the next request, which has to call `method`.
    fn respond(
        &mut self,
        method: &str,
        (status, fields): (u16, &str),
        body: &str,
    ) -> RequestHandle {
        let (call, request) = self.request();
        let sent = request.body.unwrap();
        assert!(
            sent.contains(&format!("\"method\":\"{method}\"")),
            "{method}: {sent}"
        );
        let headers = Headers::new(fields);
        self.watch.handle_head(call, status, &headers, self.now);
        self.watch.handle_bytes(call, body.as_bytes(), self.now);
        call
    }

    fn refuse(&mut self, method: &str, status: u16) {
        let call = self.respond(method, (status, JSON), NO_METHOD);
        self.watch.handle_end(call, self.now);
    }

    fn discovered(&mut self) {
        let call = self.respond("server/discover", (200, JSON), DISCOVERED);
        self.watch.handle_end(call, self.now);
    }

    /// Acknowledges the listen request, whose number is `id` too.
    fn listened(&mut self, id: u64, honored: &SubscriptionFilter) -> RequestHandle {
        let ack = sse::event(&message::acknowledged(&id_of(id), honored));
        let ack = String::from_utf8(ack).unwrap();
        self.respond("subscriptions/listen", (200, STREAM), &ack)
    }

    fn reported(&mut self) -> Vec<WatchOutput> {
        std::iter::from_fn(|| self.watch.poll_output(self.now)).collect()
    }

    /// Waits until the next attempt, which is then made.
    fn sleep(&mut self) {
        self.reported();
        assert_eq!(self.watch.state(), WatchState::Waiting);
        self.now = self.watch.poll_timeout().unwrap();
        self.watch.handle_timeout(self.now);
        assert_eq!(self.watch.state(), WatchState::Connecting);
    }

    /// A subscription to a server that was probed; the next one uses the revision that was found.
    fn found() -> Self {
        Self::found_by(ASKED)
    }

    fn found_by(hint: ServerHint) -> Self {
        let mut host = Self::new(hint);
        host.discovered();
        let call = host.listened(2, &tools());
        assert_eq!(host.reported(), [live(false)]);
        host.watch.handle_end(call, host.now);
        host.sleep();
        host
    }
}

fn id_of(number: u64) -> RequestId {
    RequestId::from_text(&format!("mcp-listen:{number}"))
}

fn live(is_again: bool) -> WatchOutput {
    let honored = tools();
    WatchOutput::Live { honored, is_again }
}

#[test]
fn the_revision_of_a_known_server_is_not_probed_again() {
    let mut host = Host::found();
    host.listened(3, &tools());
    let changed = WatchOutput::Changed(ServerEvent::ToolsListChanged);
    assert_eq!(host.reported(), [live(true), changed]);
}

#[test]
fn a_refusal_in_the_known_revision_probes_again_first() {
    let mut host = Host::found();
    host.refuse("subscriptions/listen", 404);
    host.sleep();
    host.refuse("server/discover", 400);
    host.refuse("initialize", 404);
    let reported = host.reported();
    let [WatchOutput::Stopped(CloseReason::Refused(refusal))] = reported.as_slice() else {
        panic!("{reported:?}");
    };
    assert_eq!((refusal.status, refusal.code), (404, Some(-32_601)));
}

#[test]
fn a_refused_caller_or_transient_refusal_does_not_probe_again() {
    let mut host = Host::found();
    host.refuse("subscriptions/listen", 403);
    assert!(matches!(
        host.reported().as_slice(),
        [WatchOutput::Stopped(_)]
    ));
    let mut host = Host::found();
    let call = host.respond("subscriptions/listen", (503, ""), "");
    host.watch.handle_end(call, host.now);
    host.sleep();
    host.listened(4, &tools());
    assert_eq!(host.reported().first(), Some(&live(true)));
}

/// The CORS policy of a server of an earlier revision may hide its response.
#[test]
fn without_a_response_in_the_known_revision_a_page_probes_again() {
    let mut host = Host::found_by(ServerHint::Discover { is_page: true });
    let (call, _) = host.request();
    host.watch.handle_end(call, host.now);
    host.sleep();
    let call = host.respond("server/discover", (200, JSON), DISCOVERED);
    host.watch.handle_end(call, host.now);
    host.listened(5, &tools());
    assert_eq!(host.reported().first(), Some(&live(true)));
}

#[test]
fn a_stream_that_breaks_off_in_a_page_does_not_probe_again() {
    let mut host = Host::found_by(ServerHint::Discover { is_page: true });
    let call = host.listened(3, &tools());
    host.reported();
    host.watch.handle_end(call, host.now);
    host.sleep();
    host.listened(4, &tools());
    assert_eq!(host.reported().first(), Some(&live(true)));
}

#[test]
fn without_a_response_a_client_outside_a_page_does_not_probe_again() {
    let mut host = Host::found();
    let (call, _) = host.request();
    host.watch.handle_end(call, host.now);
    host.sleep();
    host.listened(4, &tools());
    assert_eq!(host.reported().first(), Some(&live(true)));
}

#[test]
fn a_given_revision_is_not_probed() {
    let mut host = Host::new(ServerHint::Modern);
    let call = host.listened(1, &tools());
    host.reported();
    host.watch.handle_end(call, host.now);
    host.sleep();
    host.refuse("subscriptions/listen", 404);
    assert!(matches!(
        host.reported().as_slice(),
        [WatchOutput::Stopped(_)]
    ));
}

#[test]
fn the_online_event_reconnects_unless_the_server_asked_to_wait() {
    let mut host = Host::new(ServerHint::Modern);
    for _ in 0..9 {
        let (call, _) = host.request();
        host.watch.handle_end(call, host.now);
        host.reported();
        host.watch.handle_online(host.now);
        assert_eq!(host.watch.state(), WatchState::Connecting);
    }
    let call = host.respond("subscriptions/listen", (503, "retry-after: 600"), "");
    host.watch.handle_end(call, host.now);
    host.reported();
    assert_eq!(host.watch.retry_after(), Some(Millis(600_000)));
    host.watch.handle_online(host.now);
    assert_eq!(host.watch.state(), WatchState::Waiting);
    assert_eq!(host.watch.poll_action(), None);
}

#[test]
fn the_online_event_does_not_open_a_second_subscription() {
    let mut host = Host::new(ServerHint::Modern);
    host.watch.handle_online(host.now);
    host.listened(1, &tools());
    host.reported();
    host.watch.handle_online(host.now);
    assert_eq!(host.watch.poll_action(), None);
    host.watch.cancel();
    host.watch.handle_online(host.now);
    assert_eq!(host.watch.state(), WatchState::Stopped);
    assert_eq!(host.watch.poll_action(), None);
}

#[test]
fn a_redirect_stops_the_watch() {
    let mut host = Host::new(ServerHint::Modern);
    let elsewhere = (307, "location: https://elsewhere.example");
    host.respond("subscriptions/listen", elsewhere, "");
    let lost = CloseReason::Lost(Loss::Redirected);
    assert_eq!(host.reported(), [WatchOutput::Stopped(lost)]);
}

#[test]
fn once_does_not_reopen() {
    let mut host = Host::of(watching(ServerHint::Modern).once());
    let call = host.listened(1, &tools());
    host.reported();
    host.watch.handle_end(call, host.now);
    let lost = CloseReason::Lost(Loss::Disconnected);
    assert_eq!(host.reported(), [WatchOutput::Stopped(lost)]);
    assert_eq!(host.watch.poll_timeout(), None);
    host.watch.handle_online(host.now);
    assert_eq!(host.watch.poll_action(), None);
}

#[test]
fn without_repeats_a_reopening_reports_no_changes() {
    let mut host = Host::of(watching(ServerHint::Modern).without_repeats());
    let call = host.listened(1, &tools());
    host.reported();
    host.watch.handle_end(call, host.now);
    host.sleep();
    host.listened(2, &tools());
    assert_eq!(host.reported(), [live(true)]);
}

/// A watch on a channel that has sent its first message, which is returned.
fn joined(watch: &mut Watch, hint: ServerHint, minted: u64, now: Millis) -> String {
    assert!(watch.poll_join());
    assert!(!watch.poll_join(), "asked once");
    watch.handle_joined(hint, Ids::after(minted), now);
    assert!(!watch.poll_join());
    message_of(watch).unwrap()
}

fn message_of(watch: &mut Watch) -> Option<String> {
    match watch.poll_action()? {
        HttpAction::Send(_, request) => request.body,
        _ => None,
    }
}

fn on_channel() -> Watch {
    Watch::on_channel(tools(), SubscriptionOptions::default(), 3)
}

fn say(watch: &mut Watch, message: &str) -> bool {
    watch.handle_message(message.as_bytes(), Millis(0))
}

/// Advances the time to the next attempt, and returns it.
fn until_next(watch: &mut Watch, now: Millis) -> Millis {
    let Some(WatchOutput::Waiting { until, .. }) = watch.poll_output(now) else {
        panic!("{watch:?}");
    };
    assert!(!watch.poll_join(), "not before its time");
    watch.handle_timeout(until);
    until
}

#[test]
fn a_channel_is_joined_again_for_each_subscription() {
    let mut watch = on_channel();
    assert_eq!(watch.state(), WatchState::Connecting);
    let asked = joined(&mut watch, ASKED, 0, Millis(0));
    assert!(asked.contains("server/discover"));
    let response = r#"{"id":"mcp-listen:1","result":{"supportedVersions":["2026-07-28"]}}"#;
    assert!(say(&mut watch, response));
    assert!(message_of(&mut watch).unwrap().contains("\"mcp-listen:2\""));
    assert!(say(&mut watch, &message::acknowledged(&id_of(2), &tools())));
    assert_eq!(watch.poll_output(Millis(0)), Some(live(false)));
    watch.handle_exit();
    assert!(watch.is_ended());
    let now = until_next(&mut watch, Millis(0));
    let again = joined(&mut watch, ASKED, 10_000, now);
    assert!(again.contains("subscriptions/listen") && again.contains("\"mcp-listen:10001\""));
}

#[test]
fn a_missing_channel_is_tried_again() {
    let mut watch = on_channel();
    assert!(watch.poll_join());
    watch.handle_exit();
    let now = until_next(&mut watch, Millis(0));
    let sent = joined(&mut watch, ServerHint::Modern, 0, now);
    assert!(sent.contains("subscriptions/listen"));
}

#[test]
fn a_stopped_watch_joins_no_channel() {
    let mut watch = on_channel();
    watch.cancel();
    assert!(!watch.poll_join());
    let mut watch = on_channel();
    assert!(watch.poll_join());
    watch.cancel();
    watch.handle_joined(ServerHint::Modern, Ids::default(), Millis(0));
    assert_eq!(watch.poll_action(), None);
    assert_eq!(watch.state(), WatchState::Stopped);
    watch.handle_exit();
    assert_eq!(watch.poll_output(Millis(0)), None);
}

#[test]
fn pending_messages_of_an_old_channel_are_not_sent_on_the_next() {
    let mut watch = on_channel();
    joined(&mut watch, ServerHint::Legacy, 0, Millis(0));
    let response = r#"{"id":"mcp-listen:1","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}}}}"#;
    say(&mut watch, response);
    assert_eq!(watch.poll_output(Millis(0)), Some(live(false)));
    watch.handle_exit();
    let now = until_next(&mut watch, Millis(0));
    assert!(joined(&mut watch, ASKED, 0, now).contains("\"initialize\""));
}
