//! A listen request, and its outcome.

use mcp_listen::{
    error::Rejection,
    http::Headers,
    id::RequestId,
    limits::Limits,
    listen::{self, Verdict},
};

pub const HEADERS: &str = "Content-Type: application/json\nAccept: application/json, text/event-stream\nMCP-Protocol-Version: 2026-07-28\nMcp-Method: subscriptions/listen";
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

pub fn body(id: &str, notifications: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{{META},"notifications":{notifications}}}}}"#
    )
}

pub fn accept(headers: &str, body: impl AsRef<[u8]>) -> Verdict {
    listen::accept(
        "POST",
        &Headers::new(headers),
        body.as_ref(),
        &Limits::default(),
    )
}

#[track_caller]
pub fn assert_rejected(verdict: Verdict, status: u16, code: i32, id: Option<&str>) {
    let Verdict::Rejected(Rejection { reason, id: read }) = verdict else {
        panic!("{verdict:?} is no rejection");
    };
    assert_eq!(
        (reason.status(), reason.json_rpc_code()),
        (status, code),
        "{reason}"
    );
    assert_eq!(read.as_ref().map(RequestId::raw), id);
}

#[track_caller]
pub fn assert_accepted(verdict: Verdict, id: &str, filter: &str) {
    let Verdict::Accepted(accepted) = verdict else {
        panic!("{verdict:?} is not accepted");
    };
    assert_eq!(accepted.id.raw(), id);
    assert_eq!(accepted.requested.to_json(), filter);
}
