//! What is published, asked for and named: events, topics and filters, and the texts and numbers
//! that they are made of.

pub mod capabilities;
pub mod error;
pub mod event;
pub mod filter;
pub mod id;
pub mod limits;
pub mod name;
pub mod position;
pub mod scope;
pub mod task;
pub mod topic;
pub mod uri;
