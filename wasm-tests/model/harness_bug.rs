use std::cell::Cell;

/// A bug around the core that can be planted, like those of [`mcp_listen::planted`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HarnessBug {
    /// A hibernating bus forgets what it sent last.
    ForgetsLastSent,
    /// An event is sent before it is on disk.
    SendsBeforeWriting,
    /// The bus keeps edges that left.
    KeepsEdges,
    /// `busProbeIntervalMs` has no effect.
    NeverProbes,
}

pub(crate) fn has(bug: HarnessBug) -> bool {
    PLANTED.get() == Some(bug)
}

/// Plants a bug in this thread, in place of any other.
#[cfg(feature = "planted")]
pub(crate) fn plant(bug: Option<HarnessBug>) {
    PLANTED.set(bug);
}

std::thread_local! {
    static PLANTED: Cell<Option<HarnessBug>> = const { Cell::new(None) };
}
