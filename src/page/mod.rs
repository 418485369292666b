//! A run as a picture: one HTML page, Markdown with a Mermaid graph, lines of a terminal. Pure functions from what `ops` reports; they
//! decide nothing, read nothing and print nothing.
//!
//! - `nodes`: the steps as a graph, folded by phase where there are too many; `layout`: where each node is.
//! - `timeline`: the attempts in a lane per agent, on an axis whose long pauses are shortened.
//! - `html`: the page, from `sections` (its parts), `picture` (its drawings) and `policy` (what a browser may do with it); `index`: the
//!   page with all runs of a project. Text is escaped by construction (maud), and cleaned as for a terminal.
//! - `markdown`: for a pull request or an issue; `junit`: for a CI service.
//! - `lines`: for a terminal; `view`: the screen of `show --watch`, which is drawn again and again.

mod html;
mod index;
mod junit;
mod layout;
mod lines;
mod markdown;
mod nodes;
mod picture;
mod policy;
mod sections;
mod timeline;
mod view;

pub(crate) use html::page;
pub(crate) use index::index;
pub(crate) use junit::junit;
pub(crate) use lines::{Ink, Line, lines};
pub(crate) use markdown::markdown;
pub(crate) use view::{Scene, View, Wish, keys};
