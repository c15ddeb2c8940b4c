use crate::vocabulary::{
    event::ServerEvent,
    position::{Cursor, Position},
};

/// Reads the log of published events. The host appends to it.
pub trait Log {
    /// The error of a failed read.
    type Error;

    /// Returns the end of the log.
    fn cursor(&self) -> Cursor;

    /// Returns the position after which the log holds every event.
    fn floor(&self) -> Position;

    /// Passes each event after a position to `take`, in order.
    ///
    /// # Errors
    /// If the read fails.
    fn after(
        &self,
        position: Position,
        take: &mut dyn FnMut(Position, &ServerEvent),
    ) -> Result<(), Self::Error>;

    /// Passes the events at these positions, which ascend, to `take`.
    ///
    /// # Errors
    /// If the read fails.
    fn at(
        &self,
        positions: &[Position],
        take: &mut dyn FnMut(Position, &ServerEvent),
    ) -> Result<(), Self::Error>;
}
