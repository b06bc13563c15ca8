//! The table at the end: what was promised, what was measured.
//!
//! Invariant: a row without a goal is never called OK.

use std::fmt;

/// How a figure stands to its goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Met,
    Missed,
    Told,
    Skipped,
}

impl Standing {
    fn word(self) -> &'static str {
        match self {
            Self::Met => "OK",
            Self::Missed => "MISS",
            Self::Told => "",
            Self::Skipped => "SKIPPED",
        }
    }
}

#[derive(Debug)]
struct Row {
    what: String,
    measured: String,
    goal: String,
    standing: Standing,
}

/// Every row so far.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// A figure with a goal: at most `most`.
    pub(crate) fn goal(
        &mut self,
        what: &str,
        measured: &dyn fmt::Display,
        value: f64,
        most: f64,
        goal: &str,
    ) {
        let standing = if value <= most { Standing::Met } else { Standing::Missed };
        self.row(what, measured, goal, standing);
    }

    /// A figure that nobody promised anything about.
    pub(crate) fn told(&mut self, what: &str, measured: &dyn fmt::Display) {
        self.row(what, measured, "", Standing::Told);
    }

    /// A figure that could not be had.
    pub(crate) fn skipped(&mut self, what: &str, why: &str) {
        self.row(what, &why, "", Standing::Skipped);
    }

    fn row(&mut self, what: &str, measured: &dyn fmt::Display, goal: &str, standing: Standing) {
        let (what, measured, goal) = (what.to_owned(), measured.to_string(), goal.to_owned());
        self.rows.push(Row { what, measured, goal, standing });
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: fn(&Row) -> &str| {
            self.rows.iter().map(|row| column(row).chars().count()).max().unwrap_or_default()
        };
        let (what, measured, goal) =
            (width(|row| &row.what), width(|row| &row.measured), width(|row| &row.goal));
        writeln!(f, "median [p10 … p90]; instance and peer take turns")?;
        for row in &self.rows {
            let line = format!(
                "{:what$}  {:measured$}  {:goal$}  {}",
                row.what,
                row.measured,
                row.goal,
                row.standing.word()
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        let missed = self.rows.iter().filter(|row| row.standing == Standing::Missed).count();
        write!(f, "{missed} goals missed")
    }
}
