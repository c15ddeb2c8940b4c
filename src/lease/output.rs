use alloc::vec::Vec;

use super::Term;

/// An output about the shared socket.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseOutput<Id> {
    /// The request of this member calls [`Lease::take`](super::Lease::take), and opens a socket if
    /// that returns a term.
    Appoint(Id),
    /// The request of this member closes the socket, then calls
    /// [`Lease::handle_timeout_of`](super::Lease::handle_timeout_of).
    Release(Id),
    /// The request that owns the socket calls [`Lease::handle_proof`](super::Lease::handle_proof)
    /// with this term.
    Prove(Term),
    /// No fresh request can continue: the streams of these members end.
    End(Vec<Id>),
}
