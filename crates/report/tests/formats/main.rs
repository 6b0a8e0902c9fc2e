//! All formats of one report: they agree on the findings and keep to their schemas, and names from
//! the program stay data.

mod agree;
mod sample;
mod schemas;
