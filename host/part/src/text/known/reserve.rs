//! Names and types of the columns of earlier parts, which later parts must keep.

use foldhash::HashMap;

use super::{Known, MOST_LEVELS, MOST_POSITIONS, Position, PositionIx};
use crate::group::{Layout, Node, NodeIx, Tree};
use crate::text::names::{ELEMENT, KINDS, Kind, PRESENT, RAW, Role};

/// The columns of earlier parts. Leaves that say that a struct is present are not among them.
#[derive(Debug)]
pub(in crate::text) struct Plan {
    pub(in crate::text) tree: Tree,
    pub(in crate::text) roles: Vec<Role>,
    /// The position that has each node.
    owners: Vec<PositionIx>,
    depths: Vec<usize>,
    /// The nodes of members and kinds by their parents and names in lower case.
    members: HashMap<(NodeIx, String), NodeIx>,
}

/// The position and the node of a plan that an earlier node is at.
type Place = (PositionIx, NodeIx);

impl Plan {
    pub(super) fn new() -> Self {
        let mut plan = Self {
            tree: Tree::default(),
            roles: Vec::new(),
            owners: Vec::new(),
            depths: Vec::new(),
            members: HashMap::default(),
        };
        plan.push(0, String::new(), Layout::Struct, Role::Root, 0);
        plan.push(0, RAW.into(), Layout::Bytes, Role::Raw, 0);
        plan
    }

    /// True if there is no column of an earlier part but the one of whole lines.
    pub(in crate::text) fn is_empty(&self) -> bool {
        self.roles.len() <= 2
    }

    /// True if a member of an object has this name.
    pub(super) fn has(&self, parent: NodeIx, name: &str) -> bool {
        self.members.contains_key(&(parent, name.to_lowercase()))
    }

    fn push(
        &mut self,
        parent: NodeIx,
        name: String,
        layout: Layout,
        role: Role,
        owner: PositionIx,
    ) -> NodeIx {
        let number = self.roles.len() as NodeIx;
        if matches!(role, Role::Field(_) | Role::Raw | Role::Kind) {
            self.members.entry((parent, name.to_lowercase())).or_insert(number);
        }
        self.depths.push(self.depths.get(parent as usize).map_or(0, |depth| depth + 1));
        self.tree.nodes.push(Node { parent, name, layout });
        self.roles.push(role);
        self.owners.push(owner);
        number
    }
}

impl Position {
    /// The only kind that elements of earlier parts have; `None` if there are several or none.
    pub(super) fn only_kind(&self) -> Option<Kind> {
        let mut kinds = KINDS.into_iter().filter(|kind| self.planned[*kind as usize] != 0);
        kinds.next().filter(|_| self.planned_mixed == 0)
    }

    /// True if earlier parts have values here.
    pub(super) fn is_planned(&self) -> bool {
        self.planned.iter().any(|node| *node != 0)
    }
}

impl Known {
    /// Reserves the names and types of the nodes of an earlier part, which have these roles.
    pub(in crate::text) fn reserve(&mut self, tree: &Tree, roles: &[Role]) {
        let mut places: Vec<Option<Place>> = Vec::new();
        for (node, role) in tree.nodes.iter().zip(roles) {
            let above = places.get(node.parent as usize).copied().flatten();
            let place = match role {
                Role::Root => Some((0, 0)),
                _ => above.and_then(|above| self.reserve_node(above, node, role.clone())),
            };
            places.push(place);
        }
        self.hint();
    }

    /// Reserves the names and types of columns whose true keys no part has any more.
    pub(in crate::text) fn reserve_unknown(&mut self, tree: &Tree) {
        let mut places: Vec<Option<Place>> = Vec::new();
        for (index, node) in tree.nodes.iter().enumerate() {
            let above = places.get(node.parent as usize).copied().flatten();
            let place = match above {
                _ if index == 0 => Some((0, 0)),
                Some(above) => self.reserve_guessed(above, tree, index as NodeIx),
                None => None,
            };
            places.push(place);
        }
        self.hint();
    }

    /// True if earlier parts have all nodes of a tree, by names that other readers see.
    pub(in crate::text) fn has_all(&self, tree: &Tree) -> bool {
        let mut places: Vec<Option<Place>> = vec![Some((0, 0))];
        for node in tree.nodes.iter().skip(1) {
            let above = places.get(node.parent as usize).copied().flatten();
            let place = above.and_then(|above| self.named(above, node));
            if place.is_none() && node.name != PRESENT {
                return false;
            }
            places.push(place);
        }
        true
    }

    /// The node of earlier parts with the name of a node.
    fn named(&self, (owner, parent): Place, node: &Node) -> Option<Place> {
        if self.plan.tree.nodes[parent as usize].layout != Layout::List {
            let known = *self.plan.members.get(&(parent, node.name.to_lowercase()))?;
            return Some((self.plan.owners[known as usize], known));
        }
        let element = self.positions[owner as usize].element;
        // The record is no element.
        let at = self.positions.get(element as usize).filter(|_| element != 0)?;
        let known = at.only_kind().map_or(at.planned_mixed, |kind| at.planned[kind as usize]);
        (known != 0).then_some((element, known))
    }

    fn reserve_guessed(&mut self, above: Place, tree: &Tree, index: NodeIx) -> Option<Place> {
        let node = &tree.nodes[index as usize];
        if let Some(known) = self.named(above, node) {
            return Some(known);
        }
        let role = if self.plan.tree.nodes[above.1 as usize].layout == Layout::List {
            let is_kind = |name: &str| name == PRESENT || KINDS.iter().any(|kind| kind.name() == name);
            let mut fields = tree.nodes.iter().filter(|field| field.parent == index);
            let is_mixed = node.layout == Layout::Struct && fields.all(|field| is_kind(&field.name));
            if is_mixed { Role::Mixed } else { Role::Element }
        } else if self.plan.roles[above.1 as usize] == Role::Mixed {
            Role::Kind
        } else {
            Role::Field(node.name.clone().into_bytes())
        };
        if node.name == PRESENT { None } else { self.reserve_node(above, node, role) }
    }

    /// Reserves one node below another one. Returns `None` for a node that no shredder can have made.
    fn reserve_node(&mut self, (owner, parent): Place, node: &Node, role: Role) -> Option<Place> {
        if self.plan.depths[parent as usize] >= MOST_LEVELS || self.positions.len() >= MOST_POSITIONS {
            return None;
        }
        let kind = KINDS.into_iter().find(|kind| kind.layout() == node.layout)?;
        let position = match &role {
            Role::Root | Role::Raw | Role::Present => return None,
            Role::Field(key) => self.planned_member(owner, key),
            Role::Element | Role::Mixed => self.planned_element(owner),
            Role::Kind => owner,
        };
        let at = &mut self.positions[position as usize];
        let slot = if role == Role::Mixed { &mut at.planned_mixed } else { &mut at.planned[kind as usize] };
        if *slot == 0 {
            let name = match &role {
                Role::Element | Role::Mixed => ELEMENT.to_owned(),
                _ => node.name.clone(),
            };
            *slot = self.plan.push(parent, name, node.layout, role, position);
        }
        Some((position, *slot))
    }

    /// Notes what earlier parts have found out about positions.
    fn hint(&mut self) {
        for position in &mut self.positions {
            let [ints, doubles] = [Kind::Int, Kind::Double].map(|kind| position.planned[kind as usize]);
            position.hints.mixed = position.planned_mixed != 0;
            // The kind of numbers that came first takes those that both kinds can hold.
            position.hints.double = doubles != 0 && (ints == 0 || doubles < ints);
            // Maps stay maps.
            let mut others = position.planned.iter().zip(KINDS).filter(|(node, _)| **node != 0);
            position.hints.json = position.is_planned() && others.all(|(_, kind)| kind == Kind::Json);
        }
    }

    /// Brings the nodes of the group that is made into the order that they have in earlier parts, and the
    /// others after them, because some readers want the fields of a struct in the order of the table. Returns
    /// the earlier number of each node.
    pub(in crate::text) fn arrange(&mut self) -> Vec<NodeIx> {
        let base = self.base.max(2);
        let key = |node: &NodeIx| match self.planned[*node as usize] {
            _ if *node < base => (0, *node),
            0 => (2, *node),
            planned => (1, planned),
        };
        let mut order: Vec<NodeIx> = (0..self.roles.len() as NodeIx).collect();
        order.sort_by_key(key);
        if order.is_sorted() {
            return order;
        }
        let mut numbers = vec![0; order.len()];
        for (number, node) in order.iter().enumerate() {
            numbers[*node as usize] = number as NodeIx;
        }
        // Nodes of the plan have parents of the plan, so parents stay before their children.
        let number = |node: &mut NodeIx| *node = numbers[*node as usize];
        permute(&mut self.tree.nodes, &order);
        permute(&mut self.roles, &order);
        permute(&mut self.planned, &order);
        permute(&mut self.depths, &order);
        self.tree.nodes.iter_mut().for_each(|node| number(&mut node.parent));
        for position in &mut self.positions {
            position.nodes.iter_mut().chain([&mut position.mixed]).for_each(number);
        }
        let used = self.used.drain();
        self.used = used.map(|(parent, name)| (numbers[parent as usize], name)).collect();
        order
    }

    fn planned_member(&mut self, object: PositionIx, key: &[u8]) -> PositionIx {
        if let Some(known) = self.positions[object as usize].children.get(key) {
            return *known;
        }
        let count = self.positions.len() as PositionIx;
        self.positions[object as usize].children.insert(key.into(), count);
        self.new_position(object, Some(key.into()));
        count
    }

    fn planned_element(&mut self, list: PositionIx) -> PositionIx {
        let Position { element, .. } = self.positions[list as usize];
        if element != 0 {
            return element;
        }
        let count = self.positions.len() as PositionIx;
        self.positions[list as usize].element = count;
        self.new_position(list, None);
        count
    }
}

/// Brings items into an order of their indexes.
pub(in crate::text) fn permute<T>(items: &mut Vec<T>, order: &[NodeIx]) {
    let mut before: Vec<Option<T>> = items.drain(..).map(Some).collect();
    items.extend(order.iter().filter_map(|index| before.get_mut(*index as usize)?.take()));
}
