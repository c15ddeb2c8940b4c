use alloc::vec::Vec;

/// Splits bytes into lines; buffers no line longer than a limit.
#[derive(Debug)]
pub struct Lines {
    bytes: Vec<u8>,
    /// The start of the next line.
    start: usize,
    /// The bytes before this offset have been searched for a line feed.
    searched: usize,
    max_bytes: usize,
    /// Whether the current line is too long, and its rest is skipped.
    is_skipping: bool,
}

/// One line of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Line {
    /// The line as received, with its line feed.
    Whole(Vec<u8>),
    /// A line longer than allowed; its bytes are dropped, and reading continues after its line
    /// feed.
    TooLong,
}

impl Lines {
    /// Creates a splitter for lines of at most `max_bytes` bytes, without the line feed.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            searched: 0,
            max_bytes,
            is_skipping: false,
        }
    }

    /// Handles more bytes; poll until no line is left.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next line, or `None` until more bytes arrive.
    pub fn poll_line(&mut self) -> Option<Line> {
        loop {
            let unseen = self.bytes.get(self.searched..).unwrap_or_default();
            let Some(length) = unseen.iter().position(|byte| *byte == b'\n') else {
                return self.poll_overflow();
            };
            self.searched += length + 1;
            let line = self.bytes.get(self.start..self.searched);
            let line = line.unwrap_or_default();
            let item = if line.len() - 1 > self.max_bytes {
                Line::TooLong
            } else {
                Line::Whole(line.to_vec())
            };
            self.start = self.searched;
            if !core::mem::take(&mut self.is_skipping) {
                return Some(item);
            }
        }
    }

    /// Handles the end of the bytes. Returns the rest, a last line without a line feed.
    pub fn finish(&mut self) -> Vec<u8> {
        let rest = self.bytes.split_off(self.start);
        self.forget();
        if self.is_skipping { Vec::new() } else { rest }
    }

    /// Drops the buffer if the line that it is part of is too long. Returns [`Line::TooLong`] once
    /// per line.
    fn poll_overflow(&mut self) -> Option<Line> {
        self.searched = self.bytes.len();
        let is_over = self.is_skipping || self.searched - self.start > self.max_bytes;
        if is_over {
            self.forget();
        }
        let is_news = is_over && !self.is_skipping;
        self.is_skipping |= is_over;
        is_news.then_some(Line::TooLong)
    }

    fn forget(&mut self) {
        self.bytes.clear();
        self.start = 0;
        self.searched = 0;
    }
}
