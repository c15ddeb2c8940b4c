/// Counters of outages and gaps of a bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutageCounts {
    /// The number of times that the bus was lost: its connection ended, or it did not reply.
    pub outages: u32,
    /// The number of times that the bus was lost and has confirmed again.
    pub healed: u32,
    /// The number of times that frames were missing, out of order or broken on an open connection.
    pub gaps: u32,
    /// The number of times that missed events could not be recovered.
    pub resyncs: u32,
}
