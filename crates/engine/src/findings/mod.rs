//! From a defect of an execution to a finding: a short schedule that shows it, run again to confirm
//! it, and told in the words of the source.
//!
//! [`collect`] drives the rest: [`closure`] picks the events that a finding needs, [`order`] puts
//! them in an order with few preemptions, [`witness`] runs them by [`confirm`], [`fewer`] looks for
//! another execution where that leaves many preemptions, [`builder`] and [`message`] put the
//! result into words. [`seen`] says which defects show at all. [`behind`] and [`groups`] tell which
//! findings follow from others, [`orders`] whether memory orders matter that are not seen.

pub mod behind;
pub mod builder;
pub mod closure;
pub mod collect;
pub mod confirm;
pub mod fewer;
pub mod groups;
pub mod message;
pub mod order;
pub mod orders;
pub mod seen;
pub mod witness;
