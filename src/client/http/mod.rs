//! One HTTP request of a client, and its response.

pub(crate) mod buffered_response;
pub(crate) mod message_tap;
pub(crate) mod request;
pub(crate) mod request_queue;
pub(crate) mod response;
