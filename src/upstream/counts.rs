/// How often a bus had to be followed anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The bus was lost.
    pub outages: u32,
    /// The bus was lost, and has confirmed again.
    pub healed: u32,
    /// Frames were missing, out of order or broken on a connection that stayed open.
    pub gaps: u32,
    /// Nobody could tell what was missed.
    pub resyncs: u32,
}
