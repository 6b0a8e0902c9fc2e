//! Tests of prediction against searches and against results by hand. They are one program, so that
//! it is built once and the long tests run in parallel.

mod generated;
mod malformed;
mod model;
mod scale;
mod values;
