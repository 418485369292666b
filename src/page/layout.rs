//! Places the nodes of a graph: columns from left to right by dependency, wrapped into bands like lines of text.

use super::nodes::Nodes;

/// Width and height of a node, and the space between columns, nodes and bands; in pixels.
pub(super) const WIDTH: usize = 160;
pub(super) const HEIGHT: usize = 48;
const COLUMN_GAP: usize = 24;
const ROW_GAP: usize = 14;
/// Height of the place where an edge passes a column.
const PASSAGE: usize = 12;
const BAND_GAP: usize = 34;
const MARGIN: usize = 8;
/// Height of the name of a phase.
const CAPTION: usize = 20;
/// Columns of a band.
const COLUMNS: usize = 6;
/// Sweeps that order the nodes of a column by their neighbours.
const SWEEPS: usize = 4;

/// The place of every node, and the way of every edge.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// The left upper corner of each node.
    pub(super) nodes: Vec<(usize, usize)>,
    pub(super) edges: Vec<Way>,
    /// The name of a phase with the place where it begins.
    pub(super) captions: Vec<(usize, usize, String)>,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// The way of an edge.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) to: usize,
    /// From the right side of a node to the left side of another, over the places between them.
    pub(super) points: Vec<(usize, usize)>,
    /// The height of the space below the band that it leaves, for an edge to another band.
    pub(super) channel: Option<usize>,
}

/// What takes a place in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Node(usize),
    /// The edge of this number passes.
    Edge(usize),
}

/// Places a graph.
pub(super) fn layout(graph: &Nodes) -> Layout {
    if graph.nodes.is_empty() {
        return Layout::default();
    }
    let layers = layers(graph);
    let places = bands(graph, &layers);
    let mut columns = columns(graph, &layers, &places);
    untangle(graph, &layers, &mut columns);
    placed(graph, &layers, &places, &columns)
}

/// Returns the column of each node if there were only one band: the longest way from a node without dependencies.
fn layers(graph: &Nodes) -> Vec<usize> {
    let mut layers = vec![0; graph.nodes.len()];
    for (from, to) in &graph.edges {
        // Edges are sorted by their beginning, and lead to later nodes.
        layers[*to] = layers[*to].max(layers[*from] + 1);
    }
    layers
}

/// The band and the column in it of each layer, and the phases that begin there.
struct Places {
    of_layer: Vec<(usize, usize)>,
    captions: Vec<(usize, String)>,
}

/// Wraps the layers. A phase that fits into a band is not wrapped.
fn bands(graph: &Nodes, layers: &[usize]) -> Places {
    let count = layers.iter().max().map_or(0, |last| last + 1);
    let phases = phases(graph, layers, count);
    let starts: Vec<usize> = phases.iter().map(|(layer, _)| *layer).collect();
    let (mut band, mut column) = (0, 0);
    let mut of_layer = Vec::with_capacity(count);
    for layer in 0..count {
        let rest = starts.iter().find(|start| **start > layer).copied().unwrap_or(count) - layer;
        let breaks = starts.contains(&layer) && rest.min(COLUMNS) > COLUMNS - column;
        if column == COLUMNS || (breaks && column > 0) {
            (band, column) = (band + 1, 0);
        }
        of_layer.push((band, column));
        column += 1;
    }
    Places { of_layer, captions: phases }
}

/// Returns the layer at which each phase begins; nothing if phases overlap.
fn phases(graph: &Nodes, layers: &[usize], count: usize) -> Vec<(usize, String)> {
    let mut of_layer: Vec<Option<&str>> = vec![None; count];
    for (node, layer) in graph.nodes.iter().zip(layers) {
        let Some(group) = node.group.as_deref() else { return Vec::new() };
        if of_layer[*layer].is_some_and(|known| known != group) {
            return Vec::new();
        }
        of_layer[*layer] = Some(group);
    }
    let mut phases: Vec<(usize, String)> = Vec::new();
    for (layer, group) in of_layer.into_iter().enumerate() {
        let group = group.unwrap_or_default();
        if phases.last().is_some_and(|(_, last)| last == group) {
            continue;
        }
        if phases.iter().any(|(_, known)| known == group) {
            return Vec::new();
        }
        phases.push((layer, group.to_owned()));
    }
    if phases.len() < 2 { Vec::new() } else { phases }
}

fn columns(graph: &Nodes, layers: &[usize], places: &Places) -> Vec<Vec<Item>> {
    let mut columns: Vec<Vec<Item>> = vec![Vec::new(); places.of_layer.len()];
    for (node, layer) in layers.iter().enumerate() {
        columns[*layer].push(Item::Node(node));
    }
    for (edge, (from, to)) in graph.edges.iter().enumerate() {
        if places.of_layer[layers[*from]].0 == places.of_layer[layers[*to]].0 {
            for column in &mut columns[layers[*from] + 1..layers[*to]] {
                column.push(Item::Edge(edge));
            }
        }
    }
    columns
}

/// Orders each column by the average place of its neighbours, forwards and back.
fn untangle(graph: &Nodes, layers: &[usize], columns: &mut [Vec<Item>]) {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
    let mut after = before.clone();
    for (edge, (from, to)) in graph.edges.iter().enumerate() {
        before[*to].push(edge);
        after[*from].push(edge);
    }
    for sweep in 0..SWEEPS {
        let is_forward = sweep % 2 == 0;
        for step in 1..columns.len() {
            let at = if is_forward { step } else { columns.len() - 1 - step };
            let beside = if is_forward { at - 1 } else { at + 1 };
            let place = |edge: usize| {
                let (from, to) = graph.edges[edge];
                let end = if is_forward { from } else { to };
                let item = if layers[end] == beside { Item::Node(end) } else { Item::Edge(edge) };
                columns[beside].iter().position(|other| *other == item)
            };
            let key = |item: &Item, own: usize| {
                let edges = match item {
                    Item::Node(node) if is_forward => before[*node].clone(),
                    Item::Node(node) => after[*node].clone(),
                    Item::Edge(edge) => vec![*edge],
                };
                let places: Vec<usize> = edges.into_iter().filter_map(place).collect();
                // In thousandths, so that no fraction is lost.
                if places.is_empty() { own * 1_000 } else { places.iter().sum::<usize>() * 1_000 / places.len() }
            };
            let mut keyed: Vec<(usize, usize, Item)> =
                columns[at].iter().enumerate().map(|(own, item)| (key(item, own), own, *item)).collect();
            keyed.sort_by_key(|(key, own, _)| (*key, *own));
            columns[at] = keyed.into_iter().map(|(_, _, item)| item).collect();
        }
    }
}

const fn height_of(item: Item) -> usize {
    match item {
        Item::Node(_) => HEIGHT,
        Item::Edge(_) => PASSAGE,
    }
}

fn height_of_column(column: &[Item]) -> usize {
    column.iter().map(|item| height_of(*item) + ROW_GAP).sum::<usize>().saturating_sub(ROW_GAP)
}

fn placed(graph: &Nodes, layers: &[usize], places: &Places, columns: &[Vec<Item>]) -> Layout {
    let bands = places.of_layer.last().map_or(0, |(band, _)| band + 1);
    let mut heights = vec![0; bands];
    for (column, (band, _)) in columns.iter().zip(&places.of_layer) {
        heights[*band] = height_of_column(column).max(heights[*band]);
    }
    let caption = if places.captions.is_empty() { 0 } else { CAPTION };
    let mut tops = Vec::with_capacity(bands);
    let mut top = MARGIN;
    for height in &heights {
        tops.push(top + caption);
        top += caption + height + BAND_GAP;
    }
    let left = |column: usize| MARGIN + column * (WIDTH + COLUMN_GAP);
    let mut layout =
        Layout { nodes: vec![(0, 0); graph.nodes.len()], height: top + MARGIN - BAND_GAP, ..Layout::default() };
    let mut passages: Vec<Vec<(usize, usize)>> = vec![Vec::new(); graph.edges.len()];
    for (column, (band, at)) in columns.iter().zip(&places.of_layer) {
        let x = left(*at);
        layout.width = layout.width.max(x + WIDTH + MARGIN + COLUMN_GAP / 2);
        let mut y = tops[*band] + (heights[*band] - height_of_column(column)) / 2;
        for item in column {
            match item {
                Item::Node(node) => layout.nodes[*node] = (x, y),
                Item::Edge(edge) => {
                    passages[*edge].extend([(x, y + PASSAGE / 2), (x + WIDTH, y + PASSAGE / 2)]);
                }
            }
            y += height_of(*item) + ROW_GAP;
        }
    }
    for (layer, name) in &places.captions {
        let (band, column) = places.of_layer[*layer];
        layout.captions.push((left(column), tops[band] - 8, name.clone()));
    }
    for (edge, (from, to)) in graph.edges.iter().enumerate() {
        let ((x, y), (to_x, to_y)) = (layout.nodes[*from], layout.nodes[*to]);
        let mut points = vec![(x + WIDTH, y + HEIGHT / 2)];
        points.append(&mut passages[edge]);
        points.push((to_x, to_y + HEIGHT / 2));
        let (band, other) = (places.of_layer[layers[*from]].0, places.of_layer[layers[*to]].0);
        let channel = (band != other).then(|| tops[band] + heights[band] + BAND_GAP / 2);
        layout.edges.push(Way { to: *to, points, channel });
    }
    layout
}
