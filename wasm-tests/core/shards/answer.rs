//! The frames with which a shard confirms an attach.

pub(super) fn attached(position: u64) -> String {
    attached_before(position, position, "null")
}

/// The answer to an attach that named its mark.
pub(super) fn went_on(at: u64, head: u64) -> String {
    attached_before(at, head, &at.to_string())
}

pub(super) fn attached_before(at: u64, head: u64, since: &str) -> String {
    let mark = format!(r#""epoch":"e","position":{at}"#);
    format!(r#"{{"v":1,"type":"attached",{mark},"head":{head},"adjust":true,"since":{since}}}"#)
}
