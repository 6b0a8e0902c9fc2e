//! What an atomic operation is beside its kind, as a byte.

/// Stores the operand.
pub const SET: u8 = 0;
/// Adds it.
pub const ADD: u8 = 1;
/// Subtracts it.
pub const SUB: u8 = 2;
/// And.
pub const AND: u8 = 3;
/// Or.
pub const OR: u8 = 4;
/// Exclusive or.
pub const XOR: u8 = 5;
/// Not and.
pub const NAND: u8 = 6;

/// Set if the write goes on with release sequences of its own thread, as in C and in C++ before
/// C++20.
pub const CONTINUES: u8 = 0x80;

/// The orders of a compare-exchange.
#[must_use]
pub const fn orders(success: u8, failure: u8) -> u8 {
    (success & 7) | (failure & 7) << 3
}

/// Reverses [`orders`].
#[must_use]
pub const fn parse_orders(how: u8) -> (u8, u8) {
    (how & 7, how >> 3 & 7)
}
