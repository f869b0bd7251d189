//! From a draft to the final graph: unreachable blocks go, chains of blocks become one, and the
//! rest stands in reverse postorder.

use rustc_hash::FxHashMap;

use crate::flow::build::{Draft, DraftBlock};
use crate::flow::reach::Reachable;
use crate::flow::{Block, BlockId, Cfg, Edge, EdgeKind, Step, StepId};

/// The graph of `draft`.
pub(super) fn layout(mut draft: Draft) -> Cfg {
    skip_empty_blocks(&mut draft.blocks);
    let order = reverse_postorder(&draft.blocks);
    let appended = chains(&draft.blocks, &order);

    let mut number = vec![u32::MAX; draft.blocks.len()];
    let heads: Vec<usize> = order.iter().copied().filter(|&block| !appended[block]).collect();
    for (new, &old) in heads.iter().enumerate() {
        number[old] = new as u32;
    }

    let mut cfg = Cfg {
        blocks: Vec::with_capacity(heads.len()),
        steps: Vec::new(),
        edges: Vec::new(),
        by_expr: FxHashMap::default(),
        by_stmt: FxHashMap::default(),
        incomplete: draft.incomplete,
        reachable: Reachable::default(),
        function: None,
    };
    for head in heads {
        let (first_step, first_edge) = (cfg.steps.len() as u32, cfg.edges.len() as u32);
        let mut last = head;
        cfg.steps.append(&mut draft.blocks[last].steps);
        while let Some(next) = only_jump(&draft.blocks[last]).filter(|&next| appended[next]) {
            last = next;
            cfg.steps.append(&mut draft.blocks[last].steps);
        }
        let last = &draft.blocks[last];
        cfg.edges.extend(
            last.edges
                .iter()
                .map(|edge| Edge { to: BlockId(number[edge.to.0 as usize]), kind: edge.kind }),
        );
        cfg.blocks.push(Block {
            first_step,
            last_step: cfg.steps.len() as u32,
            first_edge,
            last_edge: cfg.edges.len() as u32,
            exit: last.exit,
        });
    }
    cfg.find_steps(&draft.statement_calls);
    cfg
}

/// Where a block without steps only leads on, edges lead on at once. A ring of such blocks, an
/// endless loop without a body, keeps one of them.
fn skip_empty_blocks(blocks: &mut [DraftBlock]) {
    const OPEN: u32 = u32::MAX;
    const ON_PATH: u32 = u32::MAX - 1;
    let mut end = vec![OPEN; blocks.len()];
    let mut path = Vec::new();
    for start in 0..blocks.len() {
        let mut at = start;
        let target = loop {
            match end[at] {
                OPEN => {}
                ON_PATH => break at as u32,
                known => break known,
            }
            match only_jump(&blocks[at]).filter(|_| blocks[at].steps.is_empty()) {
                Some(next) => {
                    end[at] = ON_PATH;
                    path.push(at);
                    at = next;
                }
                None => break at as u32,
            }
        };
        end[target as usize] = target;
        for block in path.drain(..) {
            end[block] = target;
        }
    }
    for block in blocks {
        for edge in &mut block.edges {
            edge.to = BlockId(end[edge.to.0 as usize]);
        }
    }
}

/// The blocks that can be reached, in reverse postorder; of two successors the one that the first
/// edge leads to stands first.
fn reverse_postorder(blocks: &[DraftBlock]) -> Vec<usize> {
    let mut seen = vec![false; blocks.len()];
    let mut order = Vec::new();
    let entry = Cfg::ENTRY.0 as usize;
    // Each entry: a block and how many of its edges are still to be followed.
    let mut open = vec![(entry, blocks[entry].edges.len())];
    seen[entry] = true;
    while let Some((block, left)) = open.last_mut() {
        if *left == 0 {
            order.push(*block);
            open.pop();
            continue;
        }
        *left -= 1;
        let next = blocks[*block].edges[*left].to.0 as usize;
        if !std::mem::replace(&mut seen[next], true) {
            open.push((next, blocks[next].edges.len()));
        }
    }
    order.reverse();
    order
}

/// For each block, whether it becomes the end of the only block that leads to it.
fn chains(blocks: &[DraftBlock], reachable: &[usize]) -> Vec<bool> {
    let mut leading_here = vec![0u32; blocks.len()];
    leading_here[Cfg::ENTRY.0 as usize] = 1;
    for &block in reachable {
        for edge in &blocks[block].edges {
            leading_here[edge.to.0 as usize] += 1;
        }
    }
    let mut appended = vec![false; blocks.len()];
    for &block in reachable {
        if let Some(next) = only_jump(&blocks[block])
            && leading_here[next] == 1
            && next != block
        {
            appended[next] = true;
        }
    }
    appended
}

/// Where a block leads that does nothing at its end but lead on.
fn only_jump(block: &DraftBlock) -> Option<usize> {
    match block.edges[..] {
        [Edge { to, kind: EdgeKind::Jump }] if block.exit.is_none() => Some(to.0 as usize),
        _ => None,
    }
}

impl Cfg {
    fn find_steps(&mut self, statement_calls: &[(crate::syntax::ExprId, crate::syntax::StmtId)]) {
        for (index, &step) in self.steps.iter().enumerate() {
            let id = StepId(index as u32);
            match step {
                Step::Call(expr) | Step::Recv(expr) | Step::FuncLit(expr) | Step::Eval(expr) => {
                    self.by_expr.entry(expr).or_insert(id);
                }
                Step::Send(stmt)
                | Step::Assign(stmt)
                | Step::Go(stmt)
                | Step::Defer(stmt)
                | Step::Return(stmt)
                | Step::Select(stmt)
                | Step::Comm(stmt)
                | Step::Next(stmt) => {
                    self.by_stmt.entry(stmt).or_insert(id);
                }
                Step::Declare(_) | Step::Bind(_) | Step::Missing(_) => {}
            }
        }
        for &(call, stmt) in statement_calls {
            if let Some(&step) = self.by_stmt.get(&stmt) {
                self.by_expr.insert(call, step);
            }
        }
    }
}
