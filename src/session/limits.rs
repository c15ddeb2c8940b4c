use serde::{Deserialize, Serialize};

use crate::json;

use super::record::{NewSession, Session};

/// Limits of sessions; each is the largest accepted value. A URI counts as its bytes plus 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionLimits {
    /// Maximum number of sessions of all callers.
    pub sessions: usize,
    /// Maximum number of sessions of callers without a name.
    pub unnamed_sessions: usize,
    /// Maximum number of sessions of one caller with a name, or of one address.
    pub sessions_per_principal: usize,
    /// Maximum number of subscriptions of one session.
    pub uris: usize,
    /// Maximum bytes of the URIs of one session.
    pub session_uri_bytes: usize,
    /// Maximum bytes of the URIs of all sessions.
    pub bus_uri_bytes: usize,
    /// Maximum bytes of the URIs of sessions of callers without a name.
    pub unnamed_uri_bytes: usize,
}

/// The limit that one more resource would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Excess {
    /// The number of resources, with the limit.
    Uris(usize),
    /// The bytes of their URIs, with the limit.
    Bytes(usize),
}

/// Totals of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// The number of sessions.
    pub sessions: usize,
    /// The bytes of the URIs that they are subscribed to.
    pub bytes: usize,
}

/// The totals of a store: sessions of callers with a name, and of callers without.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StoreTotals {
    pub(super) named: Totals,
    pub(super) unnamed: Totals,
}

impl SessionLimits {
    /// Reads the text form; `None` if it is invalid.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }
}

impl StoreTotals {
    pub(super) fn all(&self) -> Totals {
        Totals {
            sessions: self.named.sessions + self.unnamed.sessions,
            bytes: self.named.bytes + self.unnamed.bytes,
        }
    }

    pub(super) fn of(&mut self, session: &Session) -> &mut Totals {
        if session.is_named() {
            &mut self.named
        } else {
            &mut self.unnamed
        }
    }

    /// Whether one more session may begin.
    pub(super) fn admits(&self, new: &NewSession, limits: &SessionLimits) -> bool {
        let is_named = new.principal.is_some();
        self.all().sessions < limits.sessions
            && (is_named || self.unnamed.sessions < limits.unnamed_sessions)
    }

    /// Returns the limit that a session would exceed with a further subscription of `bytes` bytes.
    pub(super) fn excess(
        &self,
        session: &Session,
        bytes: usize,
        limits: &SessionLimits,
    ) -> Option<Excess> {
        if session.uris >= limits.uris {
            return Some(Excess::Uris(limits.uris));
        }
        let of_unnamed = (!session.is_named()).then_some(&self.unnamed);
        let checks = [
            (session.uri_bytes, limits.session_uri_bytes),
            (self.all().bytes, limits.bus_uri_bytes),
            (
                of_unnamed.map_or(0, |unnamed| unnamed.bytes),
                of_unnamed.map_or(usize::MAX, |_| limits.unnamed_uri_bytes),
            ),
        ];
        let exceeded = checks
            .into_iter()
            .find(|(held, max)| held.saturating_add(bytes) > *max);
        exceeded.map(|(_, max)| Excess::Bytes(max))
    }
}
