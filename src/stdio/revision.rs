use alloc::borrow::ToOwned;

use crate::{
    json::Node,
    message::{DISCOVER, INITIALIZE, PROTOCOL_VERSION},
    request::{check_meta, names_method, version_of},
    vocabulary::error::Reason,
};

/// The revision that a channel speaks (2026-07-28, Versioning: Compatibility).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChannelRevision {
    /// Not decided yet.
    Undecided,
    /// The client has requested this revision's capabilities, and may still choose an earlier
    /// revision.
    Probed,
    /// The client has sent a request of this revision.
    Modern,
    /// The client has begun a session of an earlier revision.
    Legacy,
}

impl ChannelRevision {
    /// Returns the revision after the client's message `root`; modern and legacy are final.
    pub(super) fn after(self, root: &Node<'_>) -> Self {
        let is_modern = version_of(root).and_then(Node::as_str) == Some(PROTOCOL_VERSION);
        match self {
            Self::Modern | Self::Legacy => self,
            _ if is_legacy_opening(root) => Self::Legacy,
            _ if !is_modern || root.get("id").is_none() => self,
            _ if names_method(root, DISCOVER) => Self::Probed,
            _ => Self::Modern,
        }
    }
}

/// Checks a request without `_meta` on a channel that speaks this revision (2026-07-28, Versioning:
/// Compatibility).
pub(super) fn check_opening(root: &Node<'_>) -> Result<(), Reason> {
    if !is_legacy_opening(root) {
        return check_meta(root);
    }
    let params = root.get("params");
    let version = params.and_then(|params| params.get("protocolVersion"));
    Err(Reason::UnsupportedVersion {
        requested: version
            .and_then(Node::as_str)
            .unwrap_or_default()
            .to_owned(),
    })
}

/// Whether this is an `initialize` request without the `_meta` of this revision.
fn is_legacy_opening(root: &Node<'_>) -> bool {
    let is_request = root.get("id").is_some() && names_method(root, INITIALIZE);
    is_request && version_of(root).is_none()
}
