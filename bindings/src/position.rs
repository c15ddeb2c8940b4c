use mcp_listen::position::Position;

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positions are whole numbers below 2^53, and the cast saturates"
)]
pub(crate) fn position(at: f64) -> Position {
    Position(at as u64)
}

#[expect(clippy::cast_precision_loss, reason = "positions stay below 2^53")]
pub(crate) fn number(position: Position) -> f64 {
    position.0 as f64
}
