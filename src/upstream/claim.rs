use crate::{vocabulary::filter::SubscriptionFilter, wire};

/// The session whose stream an upstream is for. What it watches is not asked for: the bus knows, and tells.
#[derive(Debug)]
pub(super) struct Claim {
    /// What the bus knows it by.
    pub(super) session: wire::Claim,
    /// What is asked for beside that.
    pub(super) asked: SubscriptionFilter,
    /// What the bus sends, as it told last.
    pub(super) sent: SubscriptionFilter,
}
