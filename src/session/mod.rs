//! The sessions of clients of revision 2025-11-25 and earlier: their lifetimes, their
//! subscriptions, and where their streams are.
//!
//! [`Sessions`] runs next to the [`SessionStore`] that keeps them, in a process or in the bus
//! object. Each request is one [`Question`] and one [`Reply`], or two where the caller's rights or
//! the upstream server decide in between.

mod limits;
mod local_streams;
mod question;
mod record;
mod releases;
mod sessions;
mod store;
mod streams;

pub use limits::{Excess, SessionLimits, Totals};
pub use question::{Ask, Question, Reply};
pub use record::{NewSession, ROOT, Session};
pub use sessions::{SessionOutput, Sessions};
pub use store::SessionStore;

pub use crate::wire::Claim;
