use mcp_listen::clock::Millis;

/// The host's clock as the core takes it; what is no time counts as zero.
pub(crate) fn millis(now: f64) -> Millis {
    Millis::from_f64(now)
}

pub(crate) fn time(at: Millis) -> f64 {
    at.as_f64()
}
