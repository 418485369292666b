//! The table of changes at the end of a story, in the four orders of columns that were seen (2.7).

use super::field::cells;
use super::field::is_separator;
use super::status::fold;

/// Is the table of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChangeLog {
    pub(crate) columns: Vec<Column>,
    pub(crate) entries: Vec<Entry>,
    /// Where the last row ends in the text, its line end included.
    pub(crate) end: usize,
}

/// Says what a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    Date,
    Version,
    Description,
    Author,
    Other,
}

/// Is one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) date: String,
    pub(crate) version: String,
    pub(crate) description: String,
    pub(crate) author: String,
    pub(crate) line: u32,
}

/// Reads the columns of a head, when it is the head of such a table.
pub(super) fn columns(row: &str) -> Option<Vec<Column>> {
    let columns: Vec<Column> = cells(row).map(column).collect();
    let has = |column| columns.contains(&column);
    (has(Column::Date) && has(Column::Description)).then_some(columns)
}

fn column(cell: &str) -> Column {
    match fold(cell).as_str() {
        "date" | "data" | "fecha" => Column::Date,
        "version" | "versao" | "ver" => Column::Version,
        "description" | "descricao" | "descripcion" | "change" | "changes" | "mudanca" | "alteracao" | "cambio" => {
            Column::Description
        }
        "author" | "autor" | "agent" | "agente" | "by" => Column::Author,
        _ => Column::Other,
    }
}

impl ChangeLog {
    /// Takes in one more row; separators say nothing.
    pub(super) fn push(&mut self, row: &str, line: u32, end: usize) {
        self.end = end;
        if is_separator(row) {
            return;
        }
        let mut entry = Entry { line, ..Entry::default() };
        for (column, cell) in self.columns.iter().zip(cells(row)) {
            let place = match column {
                Column::Date => &mut entry.date,
                Column::Version => &mut entry.version,
                Column::Description => &mut entry.description,
                Column::Author => &mut entry.author,
                Column::Other => continue,
            };
            cell.clone_into(place);
        }
        self.entries.push(entry);
    }
}
