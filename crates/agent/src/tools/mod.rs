//! The tools: one a file, each turning arguments into one intent.
//!
//! Invariant: a tool has no power of its own.

mod append_file;
mod arguments;
mod asked;
mod edit_file;
mod exec;
mod failure;
mod file;
mod lines;
mod list_dir;
mod read_file;
mod registry;
mod schema;
mod visit;
mod web_fetch;
mod write_file;

pub use arguments::Arguments;
pub use asked::{Asked, Outcome};
pub use registry::{Hiding, Registry, Tool, schema_of, schema_of_parameters};
pub use schema::{Need, Parameter, Type};
pub use visit::{Visit, unwatched};
pub use web_fetch::WebFetch;
