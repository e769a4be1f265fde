//! The structure tree of a document, which screen readers follow (PDF/UA-1, ISO 14289-1).

use krilla::tagging::{Identifier, Node as Child, TagGroup, TagKind, TagTree};

/// An element of the structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct NodeId(usize);

#[derive(Debug)]
struct Node {
    kind: TagKind,
    parts: Vec<Part>,
    /// The title of the entry in the outline that leads to this element.
    outline: Option<String>,
}

#[derive(Debug)]
enum Part {
    Node(NodeId),
    Content(Identifier),
}

/// Elements in reading order.
#[derive(Debug, Default)]
pub(super) struct Tags {
    nodes: Vec<Node>,
    top: Vec<NodeId>,
}

impl Tags {
    /// Adds an element at the end of another, or of the document.
    pub(super) fn add(&mut self, parent: Option<NodeId>, kind: impl Into<TagKind>) -> NodeId {
        let id = NodeId(self.nodes.len());
        self.nodes.push(Node { kind: kind.into(), parts: Vec::new(), outline: None });
        match parent {
            Some(NodeId(parent)) => self.nodes[parent].parts.push(Part::Node(id)),
            None => self.top.push(id),
        }
        id
    }

    /// Lists the element in the outline.
    pub(super) fn outline(&mut self, NodeId(node): NodeId, title: String) {
        self.nodes[node].outline = Some(title);
    }

    /// Adds drawn content to an element. Returns its title in the outline the first time, if it has
    /// one.
    pub(super) fn drawn(&mut self, NodeId(node): NodeId, content: Identifier) -> Option<String> {
        let node = &mut self.nodes[node];
        node.parts.push(Part::Content(content));
        node.outline.take()
    }

    /// The structure for krilla. Elements without content are left out.
    pub(super) fn tree(&self) -> TagTree {
        let mut tree = TagTree::new();
        self.top.iter().filter_map(|node| self.group(*node)).for_each(|group| tree.push(group));
        tree
    }

    fn group(&self, NodeId(node): NodeId) -> Option<TagGroup> {
        let node = &self.nodes[node];
        let child = |part: &Part| match part {
            Part::Node(node) => self.group(*node).map(Child::Group),
            Part::Content(content) => Some(Child::Leaf(*content)),
        };
        let children: Vec<_> = node.parts.iter().filter_map(child).collect();
        // An empty cell stays, as the cells after it would otherwise move to other columns.
        let cell = matches!(node.kind, TagKind::TD(_) | TagKind::TH(_));
        (cell || !children.is_empty()).then(|| TagGroup::with_children(node.kind.clone(), children))
    }
}
