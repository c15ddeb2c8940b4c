//! What clients send: filters, requests, header fields.

use mcp_listen::{
    capabilities::Capabilities,
    event::ServerEvent,
    filter::SubscriptionFilter,
    front::Policy,
    json,
    limits::Limits,
    listen::{self, Headers, Verdict},
    message,
};

/// A filter that is read is written as it reads, and honoring never adds to it.
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

/// Whoever asks gets a verdict; what is refused is told in JSON, and the id is the one that was written.
pub fn request(bytes: &[u8]) {
    let limits = Limits::default();
    for headers in HEADERS {
        match listen::accept("POST", &Headers::new(headers), bytes, &limits) {
            Verdict::Accepted(accepted) => {
                let text = std::str::from_utf8(bytes).unwrap();
                assert!(text.contains(accepted.id.raw()), "the id is another one");
            }
            Verdict::Rejected(rejection) => {
                assert!((400..600).contains(&rejection.reason.status()));
                let told = message::error(&rejection);
                // With the id as it was written, which may be an integer that no double holds.
                assert!(json::read(told.as_bytes(), 8).is_ok(), "it is no JSON");
            }
            Verdict::NotOurs => {}
        }
    }
}

/// Any method, URL and header fields get a screening, the same one each time.
pub fn front(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.splitn(3, '\n');
    let (method, url) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    let headers = Headers::new(lines.next().unwrap_or(""));
    for hosts in [None, Some("mcp.example\nlocalhost"), Some("*")] {
        let policy = Policy::new("https://app.example", hosts).unwrap();
        let screening = policy.screen(method, url, &headers);
        assert_eq!(screening, policy.screen(method, url, &headers));
    }
    drop(listen::claim(method, &headers, b"{}", &Limits::default()));
}

const HEADERS: [&str; 3] = [
    "Content-Type: application/json\nAccept: application/json, text/event-stream\nMCP-Protocol-Version: 2026-07-28\nMcp-Method: subscriptions/listen",
    "Content-Type: application/json\nAccept: text/event-stream",
    "",
];
