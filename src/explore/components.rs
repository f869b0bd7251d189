//! Goroutines that never get on although others do: a bottom strongly connected component of the
//! state graph is left by no step, so a goroutine that is blocked in all of its states, or whose
//! way out is never ready in any of them, stays for ever.
//!
//! Only a graph that was explored completely has components that can be relied on.

use crate::explore::process::GoroutineId;
use crate::explore::search::{Node, Search};
use crate::explore::{Kind, Stuck, report};

/// What stays for ever, one for each place.
pub(super) fn never_on(search: &mut Search<'_>) -> Vec<Stuck> {
    let bottoms = bottoms(search);
    let mut found = Vec::new();
    for component in bottoms {
        let nodes = &search.nodes;
        let first = &nodes[component[0] as usize];
        let everywhere =
            |id: GoroutineId, test: &dyn Fn(&crate::explore::search::Waiting) -> bool| {
                component
                    .iter()
                    .all(|&node| nodes[node as usize].waiting.iter().any(|w| w.id == id && test(w)))
            };
        let mut stuck = Vec::new();
        let mut livelocked = Vec::new();
        let mut livelocked_at = component[0];
        for waiting in &first.waiting {
            let at = waiting.at;
            if everywhere(waiting.id, &|w| w.blocked && w.at == at) {
                stuck.push(waiting.clone());
            } else if waiting.id != GoroutineId(0)
                && everywhere(waiting.id, &|w| !w.blocked)
                && !nodes[component[0] as usize].waiting.iter().any(|w| w.id == GoroutineId(0))
            {
                // Alive for ever: with a way out that is never ready?
                let dead = component.iter().find_map(|&node| {
                    let mut waiting_there = nodes[node as usize].waiting.iter();
                    let dead = waiting_there.find(|w| w.id == waiting.id && !w.dead.is_empty())?;
                    Some((node, dead.clone()))
                });
                if let Some((node, dead)) = dead
                    && livelocked.is_empty()
                {
                    livelocked_at = node;
                    livelocked.push(dead);
                }
            }
        }
        let node = component[0];
        if !stuck.is_empty() {
            found.extend(report::component(search, node, &stuck, Kind::Component));
        }
        if !livelocked.is_empty() {
            found.extend(report::component(search, livelocked_at, &livelocked, Kind::Livelock));
        }
    }
    found
}

/// The bottom components that hold at least one step, each with its states in order.
fn bottoms(search: &Search<'_>) -> Vec<Vec<u32>> {
    let nodes = &search.nodes;
    let count = nodes.len();
    const UNSEEN: u32 = u32::MAX;
    let mut index = vec![UNSEEN; count];
    let mut low = vec![0u32; count];
    let mut on_stack = vec![false; count];
    let mut component_of = vec![UNSEEN; count];
    let mut components: Vec<Vec<u32>> = Vec::new();
    let mut stack: Vec<u32> = Vec::new();
    let mut next = 0;
    // Tarjan's algorithm with its recursion on a stack of its own: node and next edge.
    for root in 0..count as u32 {
        if index[root as usize] != UNSEEN {
            continue;
        }
        let mut work: Vec<(u32, usize)> = vec![(root, 0)];
        while let Some(&mut (node, ref mut edge)) = work.last_mut() {
            let at = node as usize;
            if *edge == 0 {
                index[at] = next;
                low[at] = next;
                next += 1;
                stack.push(node);
                on_stack[at] = true;
            }
            if let Some(&to) = nodes[at].next.get(*edge) {
                *edge += 1;
                if index[to as usize] == UNSEEN {
                    work.push((to, 0));
                } else if on_stack[to as usize] {
                    low[at] = low[at].min(index[to as usize]);
                }
                continue;
            }
            work.pop();
            if let Some(&(parent, _)) = work.last() {
                low[parent as usize] = low[parent as usize].min(low[at]);
            }
            if low[at] == index[at] {
                let mut component = Vec::new();
                while let Some(member) = stack.pop() {
                    on_stack[member as usize] = false;
                    component_of[member as usize] = components.len() as u32;
                    component.push(member);
                    if member == node {
                        break;
                    }
                }
                component.sort_unstable();
                components.push(component);
            }
        }
    }
    let doomed = doomed(nodes);
    let on = |node: u32| nodes[node as usize].next.iter().filter(|&&to| !doomed[to as usize]);
    let is_bottom = |(at, component): &(usize, Vec<u32>)| {
        let steps = component.iter().any(|&node| on(node).next().is_some());
        let stays = component.iter().all(|&node| {
            !nodes[node as usize].cut && on(node).all(|&to| component_of[to as usize] == *at as u32)
        });
        steps && stays
    };
    let mut bottoms: Vec<Vec<u32>> =
        components.into_iter().enumerate().filter(is_bottom).map(|(_, c)| c).collect();
    bottoms.sort_unstable();
    bottoms
}

/// The states out of which each way leads to a misuse, with which the process ends. It is told by itself, and who
/// would be stuck without it is told as well.
fn doomed(nodes: &[Node]) -> Vec<bool> {
    let mut doomed: Vec<bool> =
        nodes.iter().map(|node| node.misused && node.next.is_empty() && !node.cut).collect();
    let mut grows = doomed.contains(&true);
    while grows {
        grows = false;
        // What follows a state was mostly met after it.
        for at in (0..nodes.len()).rev() {
            let node = &nodes[at];
            let ends = !node.cut && !node.next.is_empty();
            if !doomed[at] && ends && node.next.iter().all(|&to| doomed[to as usize]) {
                doomed[at] = true;
                grows = true;
            }
        }
    }
    doomed
}
