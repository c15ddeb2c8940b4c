use mcp_listen::clock::Millis;

/// Converts a time of the host; NaN and negative numbers become zero.
pub(crate) fn millis(now: f64) -> Millis {
    Millis::from_f64(now)
}

pub(crate) fn time(at: Millis) -> f64 {
    at.as_f64()
}
