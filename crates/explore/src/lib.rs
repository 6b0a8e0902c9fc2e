//! Search strategies over an abstract target.
