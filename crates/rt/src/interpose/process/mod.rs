//! What belongs to the process as a whole: its end, signals, mappings and child processes, time,
//! random bytes, and `syscall()`.

pub mod children;
mod clones;
pub mod counter;
pub mod couriers;
pub mod crash;
pub mod end;
pub mod exit_handlers;
pub mod failure;
pub mod handlers;
pub mod kernel_state;
pub mod pending_signals;
pub mod random_bytes;
pub mod settings;
pub mod shared_state;
pub mod signal_masks;
pub mod sigwait;
mod system_call;
pub mod time;
pub mod timers;
