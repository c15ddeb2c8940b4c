//! The parameters of a listen request, each checked with a specific refusal.

use crate::{
    json::Node,
    message::META_CLIENT_CAPABILITIES,
    vocabulary::{
        capabilities,
        error::Reason,
        filter::{FilterError, SubscriptionFilter},
        limits::Limits,
        name::NameError,
        task,
    },
};

/// Reads the filter in `params.notifications` (2026-07-28, Subscriptions: Notification Filter).
pub(super) fn filter_of(root: &Node<'_>, limits: &Limits) -> Result<SubscriptionFilter, Reason> {
    let node = root
        .get("params")
        .and_then(|params| params.get("notifications"));
    let node = node.ok_or(Reason::InvalidParams(
        "params.notifications must be an object",
    ))?;
    SubscriptionFilter::from_node(node, limits).map_err(|error| match error {
        FilterError::NotAnObject => Reason::InvalidParams("params.notifications must be an object"),
        FilterError::NotAFlag(_) => {
            Reason::InvalidParams("A flag of the filter must be true or false")
        }
        FilterError::NotUris => {
            Reason::InvalidParams("resourceSubscriptions must be an array of strings")
        }
        FilterError::Uri(NameError::TooLong) => Reason::LimitExceeded {
            what: "A resource URI is too long",
            limit: limits.uri_bytes,
        },
        FilterError::Uri(_) => {
            Reason::InvalidParams("A resource URI must not be empty or hold control characters")
        }
        FilterError::TooManyUris => Reason::LimitExceeded {
            what: "Too many resource URIs",
            limit: limits.uris,
        },
        FilterError::NotTaskIds => Reason::InvalidParams("taskIds must be an array of strings"),
        FilterError::TaskId(NameError::TooLong) => Reason::LimitExceeded {
            what: "A task id is too long",
            limit: limits.task_id_bytes,
        },
        FilterError::TaskId(_) => {
            Reason::InvalidParams("A task id must not be empty or hold control characters")
        }
        FilterError::TooManyTaskIds => Reason::LimitExceeded {
            what: "Too many task ids",
            limit: limits.task_ids,
        },
    })
}

/// Checks that the client has declared the extensions whose notifications it requests (SEP-2663,
/// Task Status Notifications).
pub(super) fn check_extensions(
    root: &Node<'_>,
    requested: &SubscriptionFilter,
) -> Result<(), Reason> {
    let meta = root.get("params").and_then(|params| params.get("_meta"));
    let declared = meta.and_then(|meta| meta.get(META_CLIENT_CAPABILITIES));
    if requested.task_ids.is_empty() || declared.is_some_and(capabilities::declare_tasks) {
        return Ok(());
    }
    Err(Reason::MissingExtension(task::EXTENSION))
}
