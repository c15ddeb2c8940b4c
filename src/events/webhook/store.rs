use alloc::{boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    events::name::EventName,
    json,
    vocabulary::position::{Cursor, Position},
};

use super::Subscription;

/// Keeps the subscriptions of a deliverer.
pub trait Store {
    /// The error of a failed read or write.
    type Error;

    /// Returns all subscriptions with their ids.
    ///
    /// # Errors
    /// If the read fails; likewise for all functions below if a read or write fails.
    fn subscriptions(&self) -> Result<Vec<(Box<str>, Subscription)>, Self::Error>;

    /// Stores a subscription, replacing its former state.
    #[expect(clippy::missing_errors_doc, reason = "as of subscriptions")]
    fn put(&mut self, id: &str, subscription: &Subscription) -> Result<(), Self::Error>;

    /// Removes a subscription.
    #[expect(clippy::missing_errors_doc, reason = "as of subscriptions")]
    fn remove(&mut self, id: &str) -> Result<(), Self::Error>;

    /// Returns the levels of all names.
    #[expect(clippy::missing_errors_doc, reason = "as of subscriptions")]
    fn levels(&self) -> Result<Vec<Level>, Self::Error>;

    /// Stores the level of a name, replacing its former one.
    #[expect(clippy::missing_errors_doc, reason = "as of subscriptions")]
    fn put_level(&mut self, level: &Level) -> Result<(), Self::Error>;

    /// Removes the level of a name.
    #[expect(clippy::missing_errors_doc, reason = "as of subscriptions")]
    fn remove_level(&mut self, name: &str) -> Result<(), Self::Error>;
}

/// Up to where the subscriptions to one name that have nothing left to do are delivered: one row,
/// however many they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// The type of the events.
    pub name: EventName,
    /// The epoch of the log.
    pub epoch: Box<str>,
    /// The position in the log.
    pub position: Position,
}

impl Level {
    /// Returns the level as a store keeps it; [`json::from_text`] reads it.
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
