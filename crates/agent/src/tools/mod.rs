//! The tools: one a file, each turning arguments into one intent for the warden.

mod append_file;
mod arguments;
mod context;
mod discovery;
mod edit_file;
mod exec;
mod file_access;
mod list_dir;
mod output_lines;
mod pending;
mod read_file;
mod registry;
mod schema;
mod web_fetch;
mod write_file;

pub use arguments::Arguments;
pub use context::{ToolContext, unwatched};
pub use discovery::Discovery;
pub(crate) use discovery::SearchTool;
pub use pending::{Outcome, PendingCall};
pub use registry::{Registry, Tool};
pub(crate) use schema::json_schema;
pub use schema::{Need, Parameter, Type};
pub use web_fetch::WebFetch;
