//! Finds out which revision a server speaks from its response to `server/discover` (2026-07-28,
//! Versioning: Backward Compatibility with Initialization-Based Versions).
//!
//! The name that a server gives itself has no influence.

use alloc::{borrow::ToOwned, boxed::Box, string::String, vec::Vec};

use crate::{
    json::{self, Node},
    legacy,
    message::{self, DISCOVER, PROTOCOL_VERSION},
    sse,
    vocabulary::id::RequestId,
};

use super::http::{
    request::HttpRequest,
    response::{Media, RpcError, is_success},
};

/// The revisions that a client speaks, the latest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions<'a> {
    /// Revisions that each request names: 2026-07-28 and later.
    pub modern: &'a [&'a str],
    /// Revisions with sessions: 2025-11-25 and earlier.
    pub legacy: &'a [&'a str],
}

/// How to talk to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Revision {
    /// With self-contained requests of this version.
    Modern(Box<str>),
    /// With `initialize`, in a session.
    Legacy,
}

/// What a response reveals about the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RevisionOutcome {
    /// The server speaks a revision of the client.
    Settled(Revision),
    /// The server expects requests to name a version, but a different one: ask again with this one.
    Retry(Box<str>),
    /// The server speaks none of the client's revisions; these are the ones that it names.
    NoCommonVersion(Vec<String>),
    /// Nothing: the request failed for a reason unrelated to revisions.
    Unknown,
}

/// Returns the HTTP request that asks a server whether it speaks `version`; over stdio, its body is
/// the line to send. `client_info` is compact JSON.
pub fn probe(id: &RequestId, version: &str, client_info: Option<&str>) -> HttpRequest {
    let body = message::probe_request(id, version, client_info);
    HttpRequest::modern(version, DISCOVER, body)
}

/// Evaluates the response over HTTP. `tried` holds the versions asked for so far, the latest
/// attempt last (2026-07-28, Streamable HTTP: Backward Compatibility).
///
/// A failure of the server or of its gateway, and a refused caller, say nothing about the revision.
/// Only a server that knows this revision can report what is wrong with a request of it. Every
/// other refusal comes from a server that does not.
pub fn of_response(
    (status, media): (u16, Media),
    body: &[u8],
    tried: &[&str],
    spoken: Versions<'_>,
) -> RevisionOutcome {
    let is_refusal = (400..500).contains(&status) && !is_transient(status);
    if !is_success(status) && !is_refusal {
        return RevisionOutcome::Unknown;
    }
    let messages = sse::messages(body);
    let mut messages = messages.iter().filter(|_| media != Media::Other);
    let outcome = messages.find_map(|message| {
        let of_result = is_success(status).then(|| of_result(message, tried, spoken));
        of_result
            .flatten()
            .or_else(|| of_error(message, Some(status), tried, spoken))
    });
    outcome.unwrap_or(RevisionOutcome::Settled(Revision::Legacy))
}

/// Evaluates the absence of any response. In a page, the server may be one of an earlier revision
/// whose CORS policy does not allow the header fields of this one, so the client tries
/// `initialize`.
pub fn of_no_response(is_page: bool) -> RevisionOutcome {
    if is_page {
        RevisionOutcome::Settled(Revision::Legacy)
    } else {
        RevisionOutcome::Unknown
    }
}

/// Evaluates the response over stdio; `None` if none came in time, or the server has exited
/// (2026-07-28, stdio: Backward Compatibility).
pub fn of_line(response: Option<&[u8]>, tried: &[&str], spoken: Versions<'_>) -> RevisionOutcome {
    response
        .and_then(|line| {
            of_result(line, tried, spoken).or_else(|| of_error(line, None, tried, spoken))
        })
        .unwrap_or(RevisionOutcome::Settled(Revision::Legacy))
}

impl Versions<'static> {
    /// The revisions that this crate speaks.
    pub const OURS: Self = Self {
        modern: &[PROTOCOL_VERSION],
        legacy: &legacy::VERSIONS,
    };
}

/// Whether a refusal concerns the caller, or is transient, and so says nothing about the revision.
pub(super) fn is_transient(status: u16) -> bool {
    matches!(status, 401 | 403 | 408 | 429 | 500..)
}

/// Only the result of `server/discover` lists versions.
fn of_result(message: &[u8], tried: &[&str], spoken: Versions<'_>) -> Option<RevisionOutcome> {
    let document = json::read(message, json::MAX_PEER_DEPTH).ok()?;
    let versions = document.root.get("result")?.get("supportedVersions")?;
    let supported: Vec<String> = versions
        .as_array()?
        .iter()
        .filter_map(|version| Node::as_str(version).map(str::to_owned))
        .collect();
    let asked = tried.last().copied().unwrap_or_default();
    if supported.iter().any(|version| version == asked) {
        return Some(RevisionOutcome::Settled(Revision::Modern(asked.into())));
    }
    Some(negotiate(supported, tried, spoken))
}

/// Evaluates the errors that only a server of this revision sends. Method-not-found is one of them
/// if the HTTP status is 404 too, which no server with sessions sends.
fn of_error(
    message: &[u8],
    status: Option<u16>,
    tried: &[&str],
    spoken: Versions<'_>,
) -> Option<RevisionOutcome> {
    let error = RpcError::read(message)?;
    let asked = tried.last().copied().unwrap_or_default();
    match error.code {
        UNSUPPORTED_VERSION => Some(negotiate(error.supported, tried, spoken)),
        HEADER_MISMATCH | MISSING_CAPABILITY => {
            Some(RevisionOutcome::Settled(Revision::Modern(asked.into())))
        }
        METHOD_NOT_FOUND if status == Some(404) => {
            Some(RevisionOutcome::Settled(Revision::Modern(asked.into())))
        }
        _ => None,
    }
}

/// Chooses the latest version that both sides speak (2026-07-28, Versioning: Protocol Version
/// Negotiation). A server that refuses a version although it lists it may be two servers during a
/// deployment, so the client asks once more.
fn negotiate(supported: Vec<String>, tried: &[&str], spoken: Versions<'_>) -> RevisionOutcome {
    let is_supported = |version: &&&str| supported.iter().any(|known| known == *version);
    let times = |version: &&&str| tried.iter().filter(|other| *other == *version).count();
    let mut worth_trying = spoken
        .modern
        .iter()
        .filter(|version| times(version) < MAX_TRIES);
    if let Some(version) = worth_trying.find(is_supported) {
        return RevisionOutcome::Retry((*version).into());
    }
    if spoken.legacy.iter().any(|version| is_supported(&version)) {
        return RevisionOutcome::Settled(Revision::Legacy);
    }
    RevisionOutcome::NoCommonVersion(supported)
}

/// Maximum number of probes with the same version.
const MAX_TRIES: usize = 2;
const HEADER_MISMATCH: i32 = -32_020;
const MISSING_CAPABILITY: i32 = -32_021;
const UNSUPPORTED_VERSION: i32 = -32_022;
const METHOD_NOT_FOUND: i32 = -32_601;
