//! The sessions of clients of 2025-11-25 and earlier: how long they live, what each watches, and where its stream is.
//!
//! [`Sessions`] runs beside the [`Store`] that keeps them, in a process or in the bus object: a request is one [`Question`], and
//! one [`Reply`].

mod here;
mod question;
mod record;
mod releases;
mod room;
mod sessions;
mod store;
mod streams;

pub use question::{Ask, Excess, Question, Reply};
pub use record::{NewSession, ROOT, Session};
pub use room::{Limits, Totals};
pub use sessions::{Output, Sessions};
pub use store::Store;

pub use crate::wire::Claim;
