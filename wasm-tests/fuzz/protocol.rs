//! Input from clients: filters, requests, header fields.

use std::sync::Arc;

use mcp_listen::{
    capabilities::Capabilities,
    clock::Millis,
    event::ServerEvent,
    exchange::{Exchange, LegacyMode, Service, SessionRules, Step},
    filter::SubscriptionFilter,
    http::{Headers, Policy},
    json,
    limits::Limits,
    listen::{self, Classified, ListenOutcome, StreamKind},
    message,
    session::{Excess, Reply},
};

use crate::host_step::{SESSION_LIMITS, carry_out};

/// A filter is written as it was read, and honoring never adds to it.
pub fn filter(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let limits = Limits::default();
    if let Ok(filter) = SubscriptionFilter::from_json(text, &limits) {
        let again = SubscriptionFilter::from_json(&filter.to_json(), &limits);
        assert_eq!(again.as_ref(), Ok(&filter), "it is written as another one");
        let honored = filter.honored(Capabilities::ALL, None);
        assert_eq!(honored, filter, "something is not honored");
        assert!(
            filter
                .honored(Capabilities::ALL, Some(&honored))
                .is_subset_of(&filter)
        );
        assert!(
            filter
                .subjects()
                .iter()
                .all(|subject| filter.accepts(subject))
        );
    }
    if let Ok(event) = ServerEvent::from_json(text) {
        let again = ServerEvent::from_json(&event.to_json());
        assert_eq!(again.as_ref(), Ok(&event), "it is written as another one");
    }
}

/// Any request gets an outcome; a rejection is valid JSON, with the verbatim id.
pub fn request(bytes: &[u8]) {
    let limits = Limits::default();
    for headers in HEADERS {
        match classified("POST", &Headers::new(headers), bytes, &limits) {
            Some(ListenOutcome::Accepted(accepted)) => {
                let text = std::str::from_utf8(bytes).unwrap();
                assert!(text.contains(accepted.id.raw()), "the id is another one");
            }
            Some(ListenOutcome::Rejected(rejection)) => {
                assert!((400..600).contains(&rejection.reason.status()));
                let reported = message::error(&rejection);
                // With the verbatim id, which may be an integer beyond a double.
                assert!(json::read(reported.as_bytes(), 8).is_ok(), "it is no JSON");
            }
            _ => {}
        }
    }
}

/// Returns the outcome for a request whose caller needs no authentication; `None` if it is no
/// listen.
fn classified(
    method: &str,
    headers: &Headers<'_>,
    body: &[u8],
    limits: &Limits,
) -> Option<ListenOutcome> {
    match listen::classify(method, headers, body, limits) {
        Classified::Unread => Some(listen::validate(headers, body, limits)),
        Classified::Read(outcome) => Some(outcome),
        Classified::Rejected(rejection) => Some(ListenOutcome::Rejected(rejection)),
        _ => None,
    }
}

/// Any request, with valid or arbitrary header fields, is decided after each step was requested at
/// most once; an opened listen is also valid when checked alone.
pub fn exchange(bytes: &[u8]) {
    let (head, body) = bytes.split_at(bytes.len() / 2);
    let head = String::from_utf8_lossy(head);
    for (headers, body) in HEADERS
        .iter()
        .map(|headers| (*headers, bytes))
        .chain([(&*head, body)])
    {
        for earlier in [LegacyMode::Stateless, WITH_SESSIONS, LegacyMode::Reject] {
            let service = Service::new(Policy::default(), Limits::default(), earlier);
            for service in [service.clone(), service.without_streams()] {
                decided(Arc::new(service), headers, body);
            }
        }
    }
}

const WITH_SESSIONS: LegacyMode = LegacyMode::Sessions(SessionRules {
    limits: SESSION_LIMITS,
    authorizes: true,
});

/// Returns one of the replies, selected by the bytes.
fn reply(by: usize) -> Reply {
    let text = || "1-e".into();
    [
        Reply::Unknown,
        Reply::Done,
        Reply::Done,
        Reply::Done,
        Reply::UpstreamId(None),
        Reply::UpstreamId(Some(text())),
        Reply::ForwardFirst(text()),
        Reply::NotOffered,
        Reply::Full(Excess::Uris(1)),
        Reply::Taken,
        Reply::Open {
            capabilities: "{}".into(),
            stream: 1,
            since: text(),
            subscriptions: Vec::new(),
        },
    ][by % 11]
        .clone()
}

fn decided(service: Arc<Service>, headers: &str, body: &[u8]) {
    let method = ["POST", "GET", "DELETE"][body.len() % 3];
    let mut exchange = Exchange::new(service, method, "http://localhost/mcp", headers, true);
    let mut asked = Vec::new();
    loop {
        let step = exchange.poll();
        assert_eq!(exchange.poll(), step, "it is another one each time");
        match &step {
            Step::Body { .. } | Step::Caller | Step::Session | Step::Admit | Step::Discover => {
                carry_out(&mut exchange, &step, body, None);
            }
            Step::Ask(_) => exchange.handle_reply(reply(body.len() / 3 + asked.len())),
            Step::Authorize { .. } => exchange.handle_permit(None),
            Step::Send { .. } => {
                exchange.handle_status([200, 202, 404, 405, 500][body.len() % 5]);
            }
            Step::Respond(response) => {
                let reported = response.body.as_deref();
                assert!(reported.is_none_or(|reported| json::read(reported.as_bytes(), 8).is_ok()));
                break;
            }
            Step::Open => {
                let opened = exchange.open(Millis::default(), Millis::default());
                let (stream, _) = opened.expect("a stream that is to be opened");
                if let StreamKind::Listen(id) = stream.kind() {
                    let headers = Headers::new(headers);
                    let outcome = classified(method, &headers, body, &Limits::default());
                    let Some(ListenOutcome::Accepted(accepted)) = outcome else {
                        panic!("{outcome:?}");
                    };
                    assert_eq!((id, stream.honored()), (&accepted.id, &accepted.requested));
                }
                break;
            }
            _ => break,
        }
        assert!(!asked.contains(&step), "it is asked twice");
        asked.push(step);
    }
}

/// Any method, URL and header fields get a screening, always the same one.
pub fn screen(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.splitn(3, '\n');
    let (method, url) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    let headers = Headers::new(lines.next().unwrap_or(""));
    for hosts in [None, Some("mcp.example\nlocalhost"), Some("*")] {
        let policy = Policy::new("https://app.example", hosts).unwrap();
        let screening = policy.screen(method, url, &headers);
        assert_eq!(screening, policy.screen(method, url, &headers));
    }
    drop(listen::classify(
        method,
        &headers,
        b"{}",
        &Limits::default(),
    ));
}

const HEADERS: [&str; 3] = [
    "Content-Type: application/json\nAccept: application/json, text/event-stream\n\
     MCP-Protocol-Version: 2026-07-28\nMcp-Method: subscriptions/listen",
    "Content-Type: application/json\nAccept: text/event-stream",
    "",
];
