//! Prediction from traces, against searches and by hand. One program, so that it is built once and its long tests run side by side.

mod generated;
mod malformed;
mod model;
mod scale;
mod values;
