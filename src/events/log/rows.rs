use alloc::{boxed::Box, string::String, vec::Vec};

use crate::{
    clock::Millis,
    events::page::PageEvent,
    json,
    vocabulary::{position::Position, scope::Name},
};

/// Keeps the rows of a log of occurrences.
pub trait EventRows {
    /// The error of a failed read or write.
    type Error;

    /// Adds an occurrence, whose position is greater than those of all others.
    ///
    /// # Errors
    /// If the write fails; likewise for all functions below if a read or write fails.
    fn append(&mut self, row: &NewRow<'_>) -> Result<(), Self::Error>;

    /// Returns the position of the occurrence of a name and a group with this
    /// [`NewRow::event_id`].
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of append")]
    fn find(
        &self,
        name: &str,
        group: Option<&str>,
        event_id: &str,
    ) -> Result<Option<Position>, Self::Error>;

    /// Passes the occurrences of a name after a position to `take`, in order, until it returns
    /// `false`.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of append")]
    fn after(
        &self,
        name: &str,
        after: Position,
        take: &mut dyn FnMut(StoredRow) -> bool,
    ) -> Result<(), Self::Error>;

    /// Returns the position of the first occurrence of a name after a position that was published
    /// at `at` or later.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of append")]
    fn since(
        &self,
        name: &str,
        after: Position,
        at: Millis,
    ) -> Result<Option<Position>, Self::Error>;

    /// Removes the oldest occurrences of a name: as few as have `bytes` together, and at most
    /// `count`.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of append")]
    fn remove_oldest(
        &mut self,
        name: &str,
        count: usize,
        bytes: u64,
    ) -> Result<Vec<Removed>, Self::Error>;

    /// Removes occurrences that were published before `at`: at most `count`, and of each name the
    /// oldest.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of append")]
    fn remove_before(&mut self, at: Millis, count: usize) -> Result<Vec<Removed>, Self::Error>;

    /// Returns the stored row of each name.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of append")]
    fn names(&self) -> Result<Vec<NameRow>, Self::Error>;

    /// Stores the row of a name, replacing its previous row.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of append")]
    fn keep_name(&mut self, row: &NameRow) -> Result<(), Self::Error>;

    /// Removes the stored row of a name.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of append")]
    fn forget_name(&mut self, name: &str) -> Result<(), Self::Error>;
}

/// An occurrence to store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewRow<'r> {
    /// Its position in the log.
    pub position: Position,
    /// When it was published, in milliseconds since 1970.
    pub at: Millis,
    /// The type of the event.
    pub name: &'r str,
    /// Its group; `None` if every caller may receive it.
    pub group: Option<&'r str>,
    /// The id that its publisher gave it, unique among the occurrences of the name and the group;
    /// `None` if its id follows from its position.
    pub event_id: Option<&'r str>,
    /// The other members as compact JSON, without braces.
    pub text: &'r str,
}

/// An occurrence that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRow {
    /// Its position in the log.
    pub position: Position,
    /// When it was published, in milliseconds since 1970.
    pub at: Millis,
    /// Its group; `None` if every caller may receive it.
    pub group: Option<Box<str>>,
    /// See [`NewRow::text`].
    pub text: String,
}

/// An occurrence that was removed from the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The type of the event.
    pub name: Box<str>,
    /// Its position in the log.
    pub position: Position,
    /// The bytes of its text.
    pub bytes: u64,
}

/// What the log keeps of a name; that of the empty name is for names that it has forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameRow {
    /// The name.
    pub name: Box<str>,
    /// Occurrences up to this position were removed.
    pub trimmed: Position,
    /// Occurrences that the log holds.
    pub count: usize,
    /// The bytes of their texts.
    pub bytes: u64,
}

impl StoredRow {
    /// Returns the occurrence; `None` if its text was not written by this crate.
    pub(super) fn into_event(self) -> Option<PageEvent> {
        let mut text = format!("{{\"position\":{},\"at\":{},", self.position.0, self.at.0);
        text.push_str(&self.text);
        text.push('}');
        let document = json::read(text.as_bytes(), MAX_DEPTH).ok()?;
        let event = PageEvent::from_node(&document.root)?;
        let group = match self.group {
            Some(group) => Some(Name::new(&group).ok()?),
            None => None,
        };
        Some(PageEvent { group, ..event })
    }
}

/// The nesting depth of a row: a payload inside an event.
const MAX_DEPTH: usize = crate::events::MAX_DEPTH + 1;
