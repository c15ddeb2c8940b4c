//! A listen request, and its outcome.

use mcp_listen::{
    http::Headers,
    id::RequestId,
    limits::Limits,
    listen::{self, Classified, ListenOutcome},
};

pub const HEADERS: &str = "Content-Type: application/json\n\
    Accept: application/json, text/event-stream\n\
    MCP-Protocol-Version: 2026-07-28\nMcp-Method: subscriptions/listen";
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

pub fn body(id: &str, notifications: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{{META},"notifications":{notifications}}}}}"#
    )
}

/// Returns the outcome for a request whose caller needs no authentication; `None` if it is not a
/// listen.
pub fn classified(
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

/// Returns the outcome for a request that has to be a listen.
#[track_caller]
pub fn accept(headers: &str, body: impl AsRef<[u8]>) -> ListenOutcome {
    let headers = Headers::new(headers);
    let outcome = classified("POST", &headers, body.as_ref(), &Limits::default());
    outcome.expect("it is a listen")
}

#[track_caller]
pub fn assert_rejected(outcome: ListenOutcome, status: u16, code: i32, id: Option<&str>) {
    let ListenOutcome::Rejected(rejection) = outcome else {
        panic!("{outcome:?} is no rejection");
    };
    let (reason, read) = (rejection.reason, rejection.id);
    assert_eq!(
        (reason.status(), reason.json_rpc_code()),
        (status, code),
        "{reason}"
    );
    assert_eq!(read.as_ref().map(RequestId::raw), id);
}

#[track_caller]
pub fn assert_accepted(outcome: ListenOutcome, id: &str, filter: &str) {
    let ListenOutcome::Accepted(accepted) = outcome else {
        panic!("{outcome:?} is not accepted");
    };
    assert_eq!(accepted.id.raw(), id);
    assert_eq!(accepted.requested.to_json(), filter);
}
