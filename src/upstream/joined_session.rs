use crate::{vocabulary::filter::SubscriptionFilter, wire};

/// The session whose stream the upstream serves. The upstream does not request the session's
/// subscriptions: the bus knows them and sends them.
#[derive(Debug)]
pub(super) struct JoinedSession {
    /// The claim that identifies the stream to the bus.
    pub(super) session: wire::Claim,
    /// The filter that is requested in addition to the subscriptions.
    pub(super) asked: SubscriptionFilter,
    /// The filter of what the bus sends, as it last reported.
    pub(super) sent: SubscriptionFilter,
}
