//! Starts targets, shares memory with them, turns their records into executions.
