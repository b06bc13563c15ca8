//! The program from the outside: the real binary, real files, real processes.
//!
//! One test program for all of it, so that it is linked once.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "tests start the program and arrange files by hand"
)]

mod architecture;
mod audit;
mod config;
mod documents;
mod exec;
mod front_door;
mod house;
mod isolation;
mod run;
mod tools;
mod walk;
