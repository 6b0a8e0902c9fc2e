//! All formats of one run: they agree on the findings, keep to their schemas, and names from the
//! program stay data.

mod agree;
mod sample;
mod schemas;
