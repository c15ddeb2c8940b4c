//! The sessions of clients of revision 2025-11-25 and earlier: their lifetimes, their
//! subscriptions, and where their streams are.
//!
//! [`Sessions`] runs next to the [`Store`] that keeps them, in a process or in the bus object. Each
//! request is one [`Question`] and one [`Reply`].

mod local_streams;
mod question;
mod record;
mod releases;
mod room;
mod sessions;
mod store;
mod streams;

pub use question::{Ask, Question, Reply};
pub use record::{NewSession, ROOT, Session};
pub use room::{Excess, Limits, Totals};
pub use sessions::{Output, Sessions};
pub use store::Store;

pub use crate::wire::Claim;
