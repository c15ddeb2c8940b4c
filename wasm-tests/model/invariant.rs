/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The promise.
    pub(crate) promise: &'static str,
    /// How it was broken.
    pub(crate) how: String,
}

impl Violation {
    pub(crate) fn new(promise: &'static str, how: String) -> Self {
        Self { promise, how }
    }

    /// Adds who it was broken to.
    pub(crate) fn of_client(mut self, at: usize) -> Self {
        self.how = format!("client {at}: {}", self.how);
        self
    }
}

/// Checks a promise: returns an error if it does not hold.
pub(crate) fn ensure(
    promise: &'static str,
    is_kept: bool,
    how: impl FnOnce() -> String,
) -> Result<(), Violation> {
    if is_kept {
        Ok(())
    } else {
        Err(Violation::new(promise, how()))
    }
}
