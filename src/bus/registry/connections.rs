use alloc::vec::Vec;

use super::edge::{Attached, EdgeId};

/// All connections by their numbers, which ascend: a new one comes last.
#[derive(Debug, Default)]
pub(super) struct Connections {
    connections: Vec<(EdgeId, Connection)>,
    /// The number of removed connections, which stay in place until they are half of all.
    gone: usize,
}

/// The state of one connection.
#[derive(Debug)]
enum Connection {
    Gone,
    Connected,
    Attached(Attached),
}

impl Connections {
    /// Returns the number of connections.
    pub(super) fn len(&self) -> usize {
        self.connections.len() - self.gone
    }

    /// Adds a connection that has not attached.
    pub(super) fn insert(&mut self, edge: EdgeId) {
        let place = self.connections.partition_point(|(other, _)| *other < edge);
        self.connections
            .insert(place, (edge, Connection::Connected));
    }

    /// Removes a connection.
    pub(super) fn remove(&mut self, edge: EdgeId) {
        let Some(connection) = self.connection_mut(edge) else {
            return;
        };
        *connection = Connection::Gone;
        self.gone += 1;
        if self.gone * 2 > self.connections.len() {
            self.connections
                .retain(|(_, connection)| !matches!(connection, Connection::Gone));
            self.gone = 0;
        }
    }

    /// Attaches a connection, if it exists.
    pub(super) fn attach(&mut self, edge: EdgeId, attached: Attached) {
        if let Some(connection) = self.connection_mut(edge) {
            *connection = Connection::Attached(attached);
        }
    }

    /// Detaches a connection, which stays.
    pub(super) fn take(&mut self, edge: EdgeId) -> Option<Attached> {
        let connection = self.connection_mut(edge)?;
        match core::mem::replace(connection, Connection::Connected) {
            Connection::Attached(attached) => Some(attached),
            Connection::Connected | Connection::Gone => None,
        }
    }

    /// Whether this connection exists.
    pub(super) fn contains(&self, edge: EdgeId) -> bool {
        self.connection(edge).is_some()
    }

    /// Returns the state of a connection that has attached.
    pub(super) fn get(&self, edge: EdgeId) -> Option<&Attached> {
        match self.connection(edge)? {
            Connection::Attached(attached) => Some(attached),
            Connection::Connected | Connection::Gone => None,
        }
    }

    /// Returns the state of a connection that has attached, mutably.
    pub(super) fn get_mut(&mut self, edge: EdgeId) -> Option<&mut Attached> {
        match self.connection_mut(edge)? {
            Connection::Attached(attached) => Some(attached),
            Connection::Connected | Connection::Gone => None,
        }
    }

    /// Returns all connections in ascending order.
    pub(super) fn ids(&self) -> impl Iterator<Item = EdgeId> {
        let there = self.connections.iter();
        let there = there.filter(|(_, connection)| !matches!(connection, Connection::Gone));
        there.map(|(edge, _)| *edge)
    }

    /// Returns the attached connections in ascending order.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (EdgeId, &mut Attached)> {
        self.connections
            .iter_mut()
            .filter_map(|(edge, connection)| match connection {
                Connection::Attached(attached) => Some((*edge, attached)),
                Connection::Connected | Connection::Gone => None,
            })
    }

    fn connection(&self, edge: EdgeId) -> Option<&Connection> {
        let (_, connection) = self.connections.get(self.place(edge)?)?;
        Some(connection).filter(|connection| !matches!(connection, Connection::Gone))
    }

    fn connection_mut(&mut self, edge: EdgeId) -> Option<&mut Connection> {
        let place = self.place(edge)?;
        let (_, connection) = self.connections.get_mut(place)?;
        Some(connection).filter(|connection| !matches!(connection, Connection::Gone))
    }

    /// Returns the index of a connection: usually its distance from the first one's number.
    fn place(&self, edge: EdgeId) -> Option<usize> {
        let (first, _) = self.connections.first()?;
        let likely = edge.0.checked_sub(first.0)? as usize;
        if self
            .connections
            .get(likely)
            .is_some_and(|(id, _)| *id == edge)
        {
            return Some(likely);
        }
        let found = self.connections.binary_search_by_key(&edge, |(id, _)| *id);
        found.ok()
    }
}
