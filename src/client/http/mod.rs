//! One HTTP request of a client, and its response.

pub(crate) mod answer;
pub(crate) mod message_tap;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod request_queue;
