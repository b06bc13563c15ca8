//! The table at the end: what was measured.

use std::fmt;

#[derive(Debug)]
struct Row {
    what: String,
    measured: String,
}

/// Every row so far.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// A figure.
    pub(crate) fn told(&mut self, what: &str, measured: &dyn fmt::Display) {
        self.rows.push(Row { what: what.to_owned(), measured: measured.to_string() });
    }

    /// A figure that could not be had.
    pub(crate) fn skipped(&mut self, what: &str, why: &str) {
        self.told(what, &format_args!("skipped: {why}"));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.what.chars().count()).max().unwrap_or_default();
        write!(f, "median [p10 … p90]; instance and peer take turns")?;
        for row in &self.rows {
            write!(f, "\n{:width$}  {}", row.what, row.measured)?;
        }
        Ok(())
    }
}
