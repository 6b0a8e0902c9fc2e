//! The searches on programs in memory, against brute force and each other. All are one test
//! program, so that it is built once and its long tests run in parallel.

mod common;
mod defects;
mod dfs;
mod dpor;
mod driver;
mod durable;
mod estimate;
mod generated;
mod holes;
mod optimal;
mod pool;
mod preemptions;
mod pruning;
mod races;
mod sampling;
mod stateful;
