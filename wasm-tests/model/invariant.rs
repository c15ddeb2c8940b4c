/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Which promise.
    pub(crate) promise: &'static str,
    /// How.
    pub(crate) how: String,
}

impl Violation {
    pub(crate) fn new(promise: &'static str, how: String) -> Self {
        Self { promise, how }
    }

    /// The same, with whom it was broken to.
    pub(crate) fn of_client(mut self, at: usize) -> Self {
        self.how = format!("client {at}: {}", self.how);
        self
    }
}

/// Holds a promise: breaks off where it does not hold.
pub(crate) fn hold(
    promise: &'static str,
    holds: bool,
    how: impl FnOnce() -> String,
) -> Result<(), Violation> {
    if holds {
        Ok(())
    } else {
        Err(Violation::new(promise, how()))
    }
}
