use mcp_listen::fanout::WriteBatch;

/// Packs a write batch as numbers of four bytes, little-endian, followed by the chunks. The numbers
/// are: their total length in bytes, the number of chunks, the end of each chunk, and for each
/// write the stream and the index of its chunk.
pub(crate) fn packed(batch: &WriteBatch) -> Vec<u8> {
    let head = 4 * (2 + batch.ends.len() + 2 * batch.writes.len());
    let mut bytes = Vec::with_capacity(head + batch.bytes.len());
    let mut push = |number: u32| bytes.extend_from_slice(&number.to_le_bytes());
    push(word(head));
    push(word(batch.ends.len()));
    batch.ends.iter().for_each(|end| push(word(*end)));
    for (stream, chunk) in &batch.writes {
        push(stream.slot());
        push(word(*chunk));
    }
    bytes.extend_from_slice(&batch.bytes);
    bytes
}

fn word(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
