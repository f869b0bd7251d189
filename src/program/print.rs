//! The printed form of a program, for tests and for people who work on the compiler.

use std::fmt::{self, Display, Formatter};

use crate::program::Program;
use crate::program::code::{Constant, Func, NameId, Op, Slot};
use crate::program::types::{Type, TypeId};

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for func in &self.funcs {
            self.write_func(func, f)?;
        }
        Ok(())
    }
}

impl Program {
    fn write_func(&self, func: &Func, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", func.name)?;
        for (says, yes) in [
            ("root", func.traits.root),
            ("synchronises", func.traits.synchronises),
            ("waits", func.traits.waits),
            ("effects", func.traits.effects),
            ("recovers", func.traits.recovers),
        ] {
            if yes {
                write!(f, " {says}")?;
            }
        }
        writeln!(f)?;
        for (pc, op) in func.code.iter().enumerate() {
            write!(f, "  {pc:>3} ")?;
            self.write_op(func, *op, f)?;
            if let Some(join) = self.flow(func).joins.iter().find(|join| join.branch as usize == pc)
            {
                write!(f, "; meets at {}", join.at)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn write_op(&self, func: &Func, op: Op, f: &mut Formatter<'_>) -> fmt::Result {
        let var = |slot: Slot| {
            let name = func.vars[slot.0 as usize].name;
            if name.as_str().is_empty() { format!("${}", slot.0) } else { name.to_string() }
        };
        let list = |names: &[NameId]| {
            names.iter().map(|&name| self.name(name)).collect::<Vec<_>>().join(" ")
        };
        match op {
            Op::Const(value) => write!(f, "const {}", self.constant_text(value)),
            Op::Unknown(ty) => write!(f, "unknown {}", self.type_text(ty)),
            Op::Zero(ty) => write!(f, "zero {}", self.type_text(ty)),
            Op::Load(slot) => write!(f, "load {}", var(slot)),
            Op::Store(slot) => write!(f, "store {}", var(slot)),
            Op::Declare(slot) => write!(f, "declare {}", var(slot)),
            Op::LoadCell(slot) => write!(f, "load cell {}", var(slot)),
            Op::StoreCell(slot) => write!(f, "store cell {}", var(slot)),
            Op::DeclareCell(slot) => write!(f, "declare cell {}", var(slot)),
            Op::Box(slot) => write!(f, "box {}", var(slot)),
            Op::Fresh(slot) => write!(f, "fresh {}", var(slot)),
            Op::AddressOf(slot) => write!(f, "address of {}", var(slot)),
            Op::CountIteration(slot) => write!(f, "count {}", var(slot)),
            Op::RangeStart(slot) => write!(f, "range {}", var(slot)),
            Op::RangeNext { slot, exit } => write!(f, "next {} else {exit}", var(slot)),
            Op::RangeEnd(slot) => write!(f, "range end {}", var(slot)),
            Op::Global(id) => write!(f, "global {}", self.global(id).name),
            Op::StoreGlobal(id) => write!(f, "store global {}", self.global(id).name),
            Op::AddressOfGlobal(id) => write!(f, "address of global {}", self.global(id).name),
            Op::Func(id) => write!(f, "func {}", self.func(id).name),
            Op::Closure(id) => write!(f, "closure {}", self.func(id).name),
            Op::MethodExpr(id) => write!(f, "method {}", self.func(id).name),
            Op::External(id) => write!(f, "external {}", self.external_text(id)),
            Op::Member(name) => write!(f, "member {}", self.name(name)),
            Op::StoreField(name) => write!(f, "store field {}", self.name(name)),
            Op::AddressOfField(name) => write!(f, "address of field {}", self.name(name)),
            Op::Jump(to) => write!(f, "jump {to}"),
            Op::Branch { when, target, counter } => {
                write!(f, "if {when} jump {target}")?;
                if counter == Slot::NONE { Ok(()) } else { write!(f, " loop") }
            }
            Op::Call { args, spread, want } => {
                write!(f, "call {args}{} -> {want}", dots(spread))
            }
            Op::CallMethod { name, args, spread, want } => {
                write!(f, "call .{} {args}{} -> {want}", self.name(name), dots(spread))
            }
            Op::CallExternal { callee, args, spread, want } => {
                write!(f, "call {} {args}{} -> {want}", self.external_text(callee), dots(spread))
            }
            Op::Go { args, spread } => write!(f, "go {args}{}", dots(spread)),
            Op::Defer { args, spread } => write!(f, "defer {args}{}", dots(spread)),
            Op::Return(count) => write!(f, "return {count}"),
            Op::Make(ty) => write!(f, "make {}", self.type_text(ty)),
            Op::Convert(ty) => write!(f, "convert {}", self.type_text(ty)),
            Op::IsType(ty) => write!(f, "is {}", self.type_text(ty)),
            Op::Assert { ty, comma_ok } => {
                write!(f, "assert {}{}", self.type_text(ty), ok(comma_ok))
            }
            Op::Index { comma_ok } => write!(f, "index{}", ok(comma_ok)),
            Op::Receive { comma_ok } => write!(f, "receive{}", ok(comma_ok)),
            Op::MakeStruct { ty, fields } => {
                let fields = list(&func.lists[fields as usize]);
                write!(f, "struct {} {{{fields}}}", self.type_text(ty))
            }
            Op::MakeSlice { element, len } => write!(f, "slice {} {len}", self.type_text(element)),
            Op::MakeMap { value, len } => write!(f, "map {} {len}", self.type_text(value)),
            Op::Select(table) => {
                let table = &func.selects[table as usize];
                write!(f, "select")?;
                for case in &table.cases {
                    let what = if case.send { "send" } else { "receive" };
                    write!(f, " {what}:{}", case.target)?;
                }
                table.default.map_or(Ok(()), |default| write!(f, " default:{default}"))
            }
            Op::Append { args, spread } => write!(f, "append {args}{}", dots(spread)),
            Op::Hole { args, want } => write!(f, "hole {args} -> {want}"),
            other => write!(f, "{}", format!("{other:?}").to_lowercase()),
        }
    }

    fn external_text(&self, id: crate::program::code::ExternalId) -> String {
        let external = self.external(id);
        format!("{}.{}", external.path, external.name)
    }

    fn constant_text(&self, value: Constant) -> String {
        match value {
            Constant::Nil => "nil".to_owned(),
            Constant::Bool(value) => value.to_string(),
            Constant::Int(value) => value.to_string(),
            Constant::Str(text) => format!("{:?}", self.text(text)),
            Constant::Atom(text) => self.text(text).to_owned(),
        }
    }

    /// A type as people write it, as far as it is known.
    pub fn type_text(&self, ty: TypeId) -> String {
        self.type_text_within(ty, 4)
    }

    fn type_text_within(&self, ty: TypeId, depth: u32) -> String {
        if depth == 0 {
            return "...".to_owned();
        }
        let inner = |ty| self.type_text_within(ty, depth - 1);
        match self.types.get(ty) {
            Type::Unknown => "?".to_owned(),
            Type::Bool => "bool".to_owned(),
            Type::Int => "int".to_owned(),
            Type::String => "string".to_owned(),
            Type::Error | Type::PlainError => "error".to_owned(),
            Type::Float => "float64".to_owned(),
            Type::Named(id) => self.types.named(*id).name.to_string(),
            Type::Lib(lib) => format!("{lib:?}"),
            Type::External(path, name) => format!("{path}.{name}"),
            Type::Pointer(to) => format!("*{}", inner(*to)),
            Type::Slice(element) => format!("[]{}", inner(*element)),
            Type::Array(Some(len), element) => format!("[{len}]{}", inner(*element)),
            Type::Array(None, element) => format!("[...]{}", inner(*element)),
            Type::Map(key, value) => format!("map[{}]{}", inner(*key), inner(*value)),
            Type::Chan(_, element) => format!("chan {}", inner(*element)),
            Type::Func(_) => "func".to_owned(),
            Type::Interface(methods) if methods.is_empty() => "any".to_owned(),
            Type::Interface(_) => "interface".to_owned(),
            Type::Struct(_) => "struct".to_owned(),
        }
    }
}

fn dots(spread: bool) -> &'static str {
    if spread { "..." } else { "" }
}

fn ok(comma_ok: bool) -> &'static str {
    if comma_ok { " ok" } else { "" }
}
