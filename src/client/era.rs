//! Which revision a server speaks: what the answer to `server/discover` says of it (2026-07-28,
//! Versioning: Backward Compatibility with Initialization-Based Versions).
//!
//! Nothing here looks at what a server calls itself.

use alloc::{borrow::ToOwned, boxed::Box, string::String, vec::Vec};

use crate::{
    json::{self, Node},
    legacy,
    message::{self, DISCOVER, PROTOCOL_VERSION},
    vocabulary::id::RequestId,
};

use super::http::{
    answer::{Media, RpcError, is_success, messages},
    request::HttpRequest,
};

/// What a client speaks, the latest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions<'a> {
    /// Revisions whose requests name them: 2026-07-28 and later.
    pub modern: &'a [&'a str],
    /// Revisions of sessions: 2025-11-25 and earlier.
    pub legacy: &'a [&'a str],
}

/// How a server is spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Era {
    /// With requests of this version, each on its own.
    Modern(Box<str>),
    /// With `initialize`, in a session.
    Legacy,
}

/// What an answer says of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It speaks a revision of the client.
    Settled(Era),
    /// Its requests name their version, but another: ask again with this one.
    Retry(Box<str>),
    /// It speaks none of the client's revisions, but these, as it says.
    NoCommonVersion(Vec<String>),
    /// Nothing: the request failed for a reason that has nothing to do with revisions.
    Unknown,
}

/// The request over HTTP that asks whether a server speaks `version`; over stdio, its body is the line.
/// `client_info` is compact JSON.
pub fn probe(id: &RequestId, version: &str, client_info: Option<&str>) -> HttpRequest {
    let body = message::probe_request(id, version, client_info);
    HttpRequest::modern(version, DISCOVER, body)
}

/// What the answer over HTTP says, where `tried` are the versions asked with, the last one last
/// (2026-07-28, Streamable HTTP: Backward Compatibility).
///
/// A failure of the server or of its gate, and a refused caller, are no sign of an era. What is
/// wrong with a request of this revision can only be said by a server that knows it. Every other
/// refusal comes from one that does not.
pub fn of_response(
    (status, media): (u16, Media),
    body: &[u8],
    tried: &[&str],
    spoken: Versions<'_>,
) -> Verdict {
    let is_refusal = (400..500).contains(&status) && !is_passing(status);
    if !is_success(status) && !is_refusal {
        return Verdict::Unknown;
    }
    let messages = messages(body).filter(|_| media != Media::Other);
    let mut verdicts = messages.filter_map(|message| {
        let of_result = is_success(status).then(|| of_result(&message, tried, spoken));
        of_result
            .flatten()
            .or_else(|| of_error(&message, Some(status), tried, spoken))
    });
    verdicts.next().unwrap_or(Verdict::Settled(Era::Legacy))
}

/// What it says that no answer came at all. To a page it may be a server of an earlier revision,
/// whose CORS does not know the header fields of this one, so it is asked with `initialize`.
pub fn of_no_response(is_page: bool) -> Verdict {
    if is_page {
        Verdict::Settled(Era::Legacy)
    } else {
        Verdict::Unknown
    }
}

/// What the answer over stdio says; `None`: there was none in time, or the server has ended
/// (2026-07-28, stdio: Backward Compatibility).
pub fn of_line(answer: Option<&[u8]>, tried: &[&str], spoken: Versions<'_>) -> Verdict {
    answer
        .and_then(|line| {
            of_result(line, tried, spoken).or_else(|| of_error(line, None, tried, spoken))
        })
        .unwrap_or(Verdict::Settled(Era::Legacy))
}

impl Versions<'static> {
    /// What this crate speaks.
    pub const OURS: Self = Self {
        modern: &[PROTOCOL_VERSION],
        legacy: &legacy::VERSIONS,
    };
}

/// Whether a refusal is the caller's, or of the moment, and so no sign of an era.
pub(super) fn is_passing(status: u16) -> bool {
    matches!(status, 401 | 403 | 408 | 429 | 500..)
}

/// Only the result of `server/discover` names versions.
fn of_result(message: &[u8], tried: &[&str], spoken: Versions<'_>) -> Option<Verdict> {
    let document = json::read(message, MAX_DEPTH).ok()?;
    let versions = document.root.get("result")?.get("supportedVersions")?;
    let supported: Vec<String> = versions
        .as_array()?
        .iter()
        .filter_map(|version| Node::as_str(version).map(str::to_owned))
        .collect();
    let asked = tried.last().copied().unwrap_or_default();
    if supported.iter().any(|version| version == asked) {
        return Some(Verdict::Settled(Era::Modern(asked.into())));
    }
    Some(negotiate(supported, tried, spoken))
}

/// The errors that only a server of this revision knows; a method that is not found is one of them
/// where its status says so too, which no session did.
fn of_error(
    message: &[u8],
    status: Option<u16>,
    tried: &[&str],
    spoken: Versions<'_>,
) -> Option<Verdict> {
    let error = RpcError::read(message)?;
    let asked = tried.last().copied().unwrap_or_default();
    match error.code {
        UNSUPPORTED_VERSION => Some(negotiate(error.supported, tried, spoken)),
        HEADER_MISMATCH | MISSING_CAPABILITY => Some(Verdict::Settled(Era::Modern(asked.into()))),
        METHOD_NOT_FOUND if status == Some(404) => {
            Some(Verdict::Settled(Era::Modern(asked.into())))
        }
        _ => None,
    }
}

/// The client takes the latest version that both sides have (2026-07-28, Versioning: Protocol
/// Version Negotiation). A server that refuses a version and names it may be two, of which one is
/// being replaced: it is asked once more.
fn negotiate(supported: Vec<String>, tried: &[&str], spoken: Versions<'_>) -> Verdict {
    let is_supported = |version: &&&str| supported.iter().any(|known| known == *version);
    let times = |version: &&&str| tried.iter().filter(|other| *other == *version).count();
    let mut worth_trying = spoken
        .modern
        .iter()
        .filter(|version| times(version) < MOST_TRIES);
    if let Some(version) = worth_trying.find(is_supported) {
        return Verdict::Retry((*version).into());
    }
    if spoken.legacy.iter().any(|version| is_supported(&version)) {
        return Verdict::Settled(Era::Legacy);
    }
    Verdict::NoCommonVersion(supported)
}

const MOST_TRIES: usize = 2;
const HEADER_MISMATCH: i32 = -32_020;
const MISSING_CAPABILITY: i32 = -32_021;
const UNSUPPORTED_VERSION: i32 = -32_022;
const METHOD_NOT_FOUND: i32 = -32_601;
/// The capabilities of a server may nest deeper than a request.
const MAX_DEPTH: usize = 128;
