//! What the bus, the server and the endpoints do.

use mcp_listen::{
    clock::Millis,
    events::{
        matching::{MatchField, MatchResult, MatchRule},
        page::{LogQuery, Page},
        webhook::{Authorization, EndpointResponse, MatchRules, Outcome},
    },
    scope::Name,
};

use super::{
    super::rig::{echo, failure, named, response},
    client::{CHANGED, CHANGED_DATA, GROUPS, NAMES, OF_HOST, UNMATCHABLE, data_of},
};

/// What a deliverer requests of the bus or of the server.
pub(super) enum Request {
    /// `page` is the reply of the bus if that is under way.
    Read {
        read: u32,
        query: LogQuery,
        page: Option<Page>,
    },
    Match {
        read: u32,
        arguments: Box<str>,
        page: String,
    },
    Authorize(usize),
}

/// What bus or server reply to a request.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    Succeed,
    Fail,
    /// The subscriber has these groups now; a success for other requests.
    Regroup(Vec<usize>),
    /// The subscriber may receive nothing more; a success for other requests.
    Deny,
}

/// What an endpoint does with a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reaction {
    Accept,
    Status(u16),
    /// Responds with 429 and a `Retry-After` of these milliseconds.
    Wait(u64),
    Refuse,
    /// The host cannot send the message.
    Unsent,
}

impl Reply {
    pub(super) fn authorization(&self) -> Authorization {
        match self {
            Self::Succeed => Authorization::Allowed(None),
            Self::Fail => Authorization::Unknown,
            Self::Regroup(groups) => Authorization::Allowed(Some(labels(groups))),
            Self::Deny => Authorization::Denied,
        }
    }
}

impl Reaction {
    pub(super) fn outcome(self) -> Outcome {
        match self {
            Self::Accept => echo(r#"{"challenge":"challenge"}"#),
            Self::Status(status) => response(status),
            Self::Wait(millis) => Outcome::Response(EndpointResponse {
                status: 429,
                retry_after_ms: Some(Millis(millis)),
                body: "".into(),
            }),
            Self::Refuse => failure(),
            Self::Unsent => Outcome::Unsent,
        }
    }

    /// Whether the endpoint has a message, or does not want it.
    pub(super) fn is_final(self) -> bool {
        match self {
            Self::Accept => true,
            Self::Status(status) => matches!(status, 200..=299 | 410 | 413),
            Self::Wait(_) | Self::Refuse | Self::Unsent => false,
        }
    }
}

/// Returns the rules of the server.
pub(super) fn match_rules() -> MatchRules {
    let field = MatchField {
        argument: "v".into(),
        pointer: "/v".into(),
    };
    let rules = [
        (named(NAMES[1]), MatchRule::Fields(vec![field])),
        (named(NAMES[OF_HOST]), MatchRule::Host),
    ];
    rules.into_iter().collect()
}

/// Has the function of the server match the occurrences of a page.
pub(super) fn results_of(arguments: &str, page: &str) -> Vec<MatchResult> {
    let page = Page::from_json(page).expect("a page");
    let events = page.events.iter();
    events
        .map(|event| matched(arguments, &event.data))
        .collect()
}

fn matched(arguments: &str, data: &str) -> MatchResult {
    if data == data_of(UNMATCHABLE) {
        MatchResult::Failed
    } else if data != arguments {
        MatchResult::NotMatched
    } else if data == data_of(CHANGED) {
        MatchResult::Transformed(CHANGED_DATA.into())
    } else {
        MatchResult::Matched
    }
}

pub(super) fn labels(groups: &[usize]) -> Vec<Name> {
    let groups = groups.iter();
    groups
        .map(|group| Name::new(GROUPS[*group]).unwrap())
        .collect()
}
