use alloc::{boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    events::name::EventName,
    json,
    vocabulary::position::{Cursor, Position},
};

use super::WebhookSubscription;

/// Keeps the subscriptions of a deliverer.
pub trait WebhookStore {
    /// The error of a failed read or write.
    type Error;

    /// Returns all subscriptions with their ids.
    ///
    /// # Errors
    /// If the read fails; likewise for all functions below if a read or write fails.
    fn subscriptions(&self) -> Result<Vec<(Box<str>, WebhookSubscription)>, Self::Error>;

    /// Stores a subscription, replacing its previous state.
    #[expect(
        clippy::missing_errors_doc,
        reason = "the errors are those of subscriptions"
    )]
    fn put(&mut self, id: &str, subscription: &WebhookSubscription) -> Result<(), Self::Error>;

    /// Removes a subscription.
    #[expect(
        clippy::missing_errors_doc,
        reason = "the errors are those of subscriptions"
    )]
    fn remove(&mut self, id: &str) -> Result<(), Self::Error>;

    /// Returns the shared watermarks of all event types.
    #[expect(
        clippy::missing_errors_doc,
        reason = "the errors are those of subscriptions"
    )]
    fn watermarks(&self) -> Result<Vec<SharedWatermark>, Self::Error>;

    /// Stores the shared watermark of an event type, replacing its previous one.
    #[expect(
        clippy::missing_errors_doc,
        reason = "the errors are those of subscriptions"
    )]
    fn put_watermark(&mut self, watermark: &SharedWatermark) -> Result<(), Self::Error>;

    /// Removes the shared watermark of an event type.
    #[expect(
        clippy::missing_errors_doc,
        reason = "the errors are those of subscriptions"
    )]
    fn remove_watermark(&mut self, name: &str) -> Result<(), Self::Error>;
}

/// The watermark of all subscriptions to one event type that have received everything: one row,
/// however many subscriptions there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedWatermark {
    /// The type of the events.
    pub name: EventName,
    /// The epoch of the log.
    pub epoch: Box<str>,
    /// The position in the log.
    pub position: Position,
}

impl SharedWatermark {
    /// Returns the watermark as a store keeps it; [`json::from_text`] reads it.
    pub fn to_json(&self) -> String {
        json::to_text(self)
    }

    pub(super) fn cursor(&self) -> Cursor {
        Cursor {
            epoch: self.epoch.clone(),
            position: self.position,
        }
    }
}
