use alloc::{string::String, vec::Vec};

/// The data of each whole event in `body`, its lines joined by line feeds; comments and other fields are passed over.
pub fn data(body: &str) -> Vec<String> {
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    body.split_inclusive("\n\n")
        .filter(|block| block.ends_with("\n\n"))
        .filter_map(data_of)
        .collect()
}

fn data_of(block: &str) -> Option<String> {
    let lines: Vec<&str> = block
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(|data| data.strip_prefix(' ').unwrap_or(data))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
