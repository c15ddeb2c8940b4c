//! One subscription over HTTP to a server of any revision.

use mcp_listen::{
    client::{
        CloseReason, HttpAction, HttpRequest, Listener, Loss, Refusal, RequestHandle, ServerHint,
        SubscriptionOptions, SubscriptionOutput,
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
    any::updated,
    subscription::{JSON, STREAM, watched},
};

const SESSION: &str = "content-type: application/json\nmcp-session-id: s-1";
const CAPABLE: &str = r#"{"tools":{"listChanged":true},"resources":{"subscribe":true}}"#;

/// A listener and the requests that it has sent.
pub struct Host {
    pub listener: Listener,
    pub now: u64,
}

impl Host {
    fn new(hint: ServerHint) -> Self {
        Self::of(hint, &["a"])
    }

    fn of(hint: ServerHint, uris: &[&str]) -> Self {
        let wanted = watched(uris);
        let ids = (Ids::default(), 7);
        let listener = Listener::new(wanted, SubscriptionOptions::default(), hint, ids, Millis(0));
        Self { listener, now: 0 }
    }

    /// Requests to send, and responses to close.
    pub fn transfers(&mut self) -> Vec<HttpAction> {
        std::iter::from_fn(|| self.listener.poll_action()).collect()
    }

    /// Returns the only request to send.
    pub fn request(&mut self) -> (RequestHandle, HttpRequest) {
        match self.transfers().as_slice() {
            [HttpAction::Send(call, request)] => (*call, request.clone()),
            other => panic!("{other:?}"),
        }
    }

    pub fn head(&mut self, call: RequestHandle, status: u16, fields: &str) {
        let headers = Headers::new(fields);
        self.listener
            .handle_head(call, status, &headers, Millis(self.now));
    }

    pub fn bytes(&mut self, call: RequestHandle, bytes: &[u8]) {
        self.listener.handle_bytes(call, bytes, Millis(self.now));
    }

    pub fn respond(&mut self, call: RequestHandle, status: u16, fields: &str, body: &str) {
        self.head(call, status, fields);
        self.bytes(call, body.as_bytes());
        self.end(call);
    }

    pub fn end(&mut self, call: RequestHandle) {
        self.listener.handle_end(call, Millis(self.now));
    }

    pub fn wait(&mut self) {
        let deadline = self.listener.poll_timeout().unwrap();
        self.now = deadline.0;
        self.listener.handle_timeout(deadline);
    }

    pub fn reported(&mut self) -> Vec<SubscriptionOutput> {
        std::iter::from_fn(|| self.listener.poll_output()).collect()
    }

    /// Begins a session up to the head of its stream, and returns the number of that request.
    pub fn session() -> (Self, RequestHandle) {
        Self::session_of(&["a"])
    }

    pub fn session_of(uris: &[&str]) -> (Self, RequestHandle) {
        let mut host = Self::of(ServerHint::Legacy, uris);
        let (call, _) = host.request();
        host.respond(call, 200, SESSION, &initialized(CAPABLE));
        let (call, request) = host.request();
        assert!(request.body.unwrap().contains("notifications/initialized"));
        host.head(call, 202, "");
        let (stream, request) = host.request();
        assert_eq!(request.method, "GET");
        host.head(stream, 200, STREAM);
        (host, stream)
    }

    /// Begins a session whose subscription is open.
    pub fn open() -> (Self, RequestHandle) {
        let (mut host, stream) = Self::session();
        let (call, request) = host.request();
        assert!(request.body.unwrap().contains("resources/subscribe"));
        host.respond(call, 200, JSON, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        assert_eq!(
            host.reported(),
            [SubscriptionOutput::Acknowledged(watched(&["a"]))]
        );
        (host, stream)
    }
}

fn initialized(capabilities: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-11-25","capabilities":{capabilities}}}}}"#
    )
}

fn discovered() -> &'static str {
    r#"{"jsonrpc":"2.0","id":"mcp-listen:1","result":{"supportedVersions":["2026-07-28"]}}"#
}

fn method(transfer: &HttpAction) -> &'static str {
    match transfer {
        HttpAction::Send(_, request) => request.method,
        _ => "",
    }
}

const ASK: ServerHint = ServerHint::Discover { is_page: false };
pub const TOOLS: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

#[test]
fn a_server_is_probed_before_the_listen() {
    let mut host = Host::new(ASK);
    let (call, request) = host.request();
    assert!(request.body.unwrap().contains("server/discover"));
    assert_eq!(host.listener.version(), None);
    host.respond(call, 200, JSON, discovered());
    let (call, request) = host.request();
    assert!(request.body.unwrap().contains("subscriptions/listen"));
    assert_eq!(host.listener.version(), Some("2026-07-28"));
    host.head(call, 200, STREAM);
    let id = RequestId::from_text("mcp-listen:2");
    assert_eq!(host.listener.id(), Some(&id));
    let honored = watched(&["a"]);
    host.bytes(call, &sse::event(&message::acknowledged(&id, &honored)));
    assert_eq!(host.reported(), [SubscriptionOutput::Acknowledged(honored)]);
}

#[test]
fn a_server_without_discover_gets_a_session() {
    let mut host = Host::new(ASK);
    let (call, _) = host.request();
    host.respond(call, 400, JSON, "{}");
    let (_, request) = host.request();
    assert!(request.body.unwrap().contains("\"initialize\""));
}

#[test]
fn a_transient_refusal_ends_with_retry_after() {
    let mut host = Host::new(ASK);
    let (call, _) = host.request();
    host.respond(call, 503, "retry-after: 4", "");
    assert!(host.listener.is_ended());
    assert_eq!(host.listener.retry_after(), Some(Millis(4_000)));
    let refusal = Refusal {
        status: 503,
        code: None,
        text: String::new(),
    };
    assert_eq!(
        host.reported(),
        [SubscriptionOutput::Ended(CloseReason::Refused(refusal))]
    );
}

#[test]
fn no_response_is_a_loss_but_in_a_page_leads_to_a_session() {
    let mut host = Host::new(ASK);
    let (call, _) = host.request();
    host.end(call);
    assert_eq!(
        host.reported(),
        [SubscriptionOutput::Ended(CloseReason::Lost(
            Loss::Disconnected
        ))]
    );
    let mut page = Host::new(ServerHint::Discover { is_page: true });
    let (call, _) = page.request();
    page.end(call);
    assert!(page.request().1.body.unwrap().contains("\"initialize\""));
}

#[test]
fn probes_are_bounded_in_time_and_bytes() {
    let mut host = Host::new(ASK);
    host.wait();
    assert_eq!(
        host.reported(),
        [SubscriptionOutput::Ended(CloseReason::Lost(
            Loss::NotAcknowledged
        ))]
    );
    let mut host = Host::new(ASK);
    let (call, _) = host.request();
    host.head(call, 200, JSON);
    host.bytes(call, &vec![b' '; (1 << 20) + 1]);
    assert_eq!(
        host.reported(),
        [SubscriptionOutput::Ended(CloseReason::Lost(
            Loss::ResponseTooLarge
        ))]
    );
}

/// Browsers report 0 for a redirect that was not followed.
#[test]
fn a_redirect_ends_the_subscription_in_any_state() {
    for status in [0, 301, 302, 303, 307, 308] {
        for hint in [ASK, ServerHint::Modern, ServerHint::Legacy] {
            let mut host = Host::new(hint);
            let (call, _) = host.request();
            host.head(call, status, "location: https://evil.example/");
            assert_eq!(
                host.reported(),
                [SubscriptionOutput::Ended(CloseReason::Lost(
                    Loss::Redirected
                ))]
            );
            assert!(host.listener.is_ended());
        }
        let (mut host, stream) = Host::open();
        host.end(stream);
        host.wait();
        let (call, _) = host.request();
        host.head(call, status, "");
        assert_eq!(
            host.reported(),
            [SubscriptionOutput::Ended(CloseReason::Lost(
                Loss::Redirected
            ))]
        );
    }
    let mut host = Host::new(ServerHint::Modern);
    let (call, _) = host.request();
    host.respond(call, 304, "", "");
    assert!(!matches!(
        host.reported()[..],
        [SubscriptionOutput::Ended(CloseReason::Lost(
            Loss::Redirected
        ))]
    ));
}

#[test]
fn a_session_is_open_once_every_subscribe_has_its_response() {
    let (mut host, stream) = Host::session();
    host.bytes(stream, &sse::event(TOOLS));
    assert_eq!(
        host.reported(),
        [],
        "nothing comes before the acknowledgment"
    );
    let (call, _) = host.request();
    host.respond(call, 200, JSON, r#"{"id":1,"error":{"code":-32602}}"#);
    let lists = SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    };
    let changed = SubscriptionOutput::Changed(ServerEvent::ToolsListChanged);
    assert_eq!(
        host.reported(),
        [SubscriptionOutput::Acknowledged(lists), changed]
    );
}

#[test]
fn a_session_resumes_from_its_last_event() {
    let (mut host, stream) = Host::open();
    host.bytes(
        stream,
        format!("retry: 700\nid: e-9\ndata: {TOOLS}\n\n").as_bytes(),
    );
    host.end(stream);
    assert_eq!(host.listener.poll_timeout(), Some(Millis(700)));
    host.wait();
    let (again, request) = host.request();
    let from = request
        .headers
        .iter()
        .find(|(name, _)| *name == "Last-Event-ID");
    assert_eq!(from.unwrap().1, "e-9");
    host.head(again, 200, STREAM);
    let changed = SubscriptionOutput::Changed(ServerEvent::ToolsListChanged);
    assert_eq!(
        host.reported(),
        [changed],
        "with event ids nothing is repeated"
    );
}

#[test]
fn without_event_ids_a_reopened_stream_reports_everything() {
    let (mut host, stream) = Host::open();
    host.end(stream);
    host.wait();
    let (again, _) = host.request();
    host.head(again, 200, STREAM);
    let changes = [ServerEvent::ToolsListChanged, updated("a")];
    assert_eq!(host.reported(), changes.map(SubscriptionOutput::Changed));
}

#[test]
fn an_ended_or_unreachable_session_is_a_loss() {
    let (mut host, stream) = Host::open();
    host.end(stream);
    host.wait();
    let (again, _) = host.request();
    host.head(again, 404, "");
    assert_eq!(
        host.reported(),
        [SubscriptionOutput::Ended(CloseReason::Lost(
            Loss::Disconnected
        ))]
    );
    let (mut host, mut stream) = Host::open();
    for _ in 0..5 {
        host.end(stream);
        host.wait();
        stream = host.request().0;
    }
    assert_eq!(host.reported(), []);
    host.end(stream);
    assert_eq!(
        host.reported(),
        [SubscriptionOutput::Ended(CloseReason::Lost(
            Loss::Disconnected
        ))]
    );
}

#[test]
fn leaving_ends_the_session() {
    let (mut host, _) = Host::open();
    host.listener.cancel();
    assert!(host.listener.is_ended());
    assert_eq!(host.request().1.method, "DELETE");
    assert_eq!(host.reported(), []);
    let mut host = Host::new(ASK);
    host.listener.cancel();
    assert_eq!(host.transfers(), []);
}

#[test]
fn an_empty_session_is_ended_once() {
    let mut host = Host::new(ServerHint::Legacy);
    let (call, _) = host.request();
    host.respond(call, 200, SESSION, &initialized("{}"));
    let honored = SubscriptionFilter::default();
    let reported = [
        SubscriptionOutput::Acknowledged(honored),
        SubscriptionOutput::Ended(CloseReason::Graceful),
    ];
    assert_eq!(host.reported(), reported);
    assert!(host.listener.is_ended());
    host.listener.cancel();
    let methods: Vec<_> = host.transfers().iter().map(method).collect();
    assert_eq!(methods, ["POST", "DELETE"]);
}

#[test]
fn a_session_without_a_stream_has_no_subscriptions() {
    let mut host = Host::new(ServerHint::Legacy);
    let (call, _) = host.request();
    host.respond(call, 200, SESSION, &initialized(CAPABLE));
    let (call, _) = host.request();
    host.head(call, 202, "");
    let (stream, _) = host.request();
    host.head(stream, 405, "");
    let refusal = Refusal {
        status: 405,
        code: Some(-32_601),
        text: String::new(),
    };
    assert_eq!(
        host.reported(),
        [SubscriptionOutput::Ended(CloseReason::Refused(refusal))]
    );
}
