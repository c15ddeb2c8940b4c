use alloc::vec::Vec;

use super::Term;

/// What is to be done about the shared socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseOutput<Id> {
    /// The request of this member is to call [`Lease::take`](super::Lease::take), and opens a socket where that returns a term.
    Appoint(Id),
    /// The request of this member is to close the socket, then to call [`Lease::handle_timeout_of`](super::Lease::handle_timeout_of).
    Release(Id),
    /// The request that has the socket is to call [`Lease::handle_proof`](super::Lease::handle_proof) with this term.
    Prove(Term),
    /// All requests are spent: the streams of these members are to end.
    Shed(Vec<Id>),
}
