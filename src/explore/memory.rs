//! Fields, elements, variables and pointers.

use crate::explore::machine::{Machine, Stop};
use crate::explore::object::Object;
use crate::explore::process::Decision;
use crate::explore::state::State;
use crate::explore::value::{ObjectId, Term, Value};
use crate::program::code::{FuncId, NameId};
use crate::program::types::{FieldType, Type, TypeId};

/// What `x.name` is.
pub(super) enum Member {
    /// A field, or a function value that is stored in one.
    Value(Value),
    /// A method of the package, and what it is called on.
    Method(FuncId, Value),
    /// A method of a library type, and what it is called on.
    Lib(Value),
    /// Not known; the receiver may do anything.
    Unknown,
}

/// Deepest promotion of fields and methods through embedded fields.
const MAX_PROMOTION: u32 = 4;

impl Machine<'_> {
    /// `value.name`. Nil pointers panic.
    pub(super) fn member(
        &mut self,
        state: &mut State,
        value: Value,
        name: NameId,
    ) -> Result<Member, Stop> {
        let member = self.promoted(state, value, name, 0)?;
        Ok(member.unwrap_or(Member::Unknown))
    }

    fn promoted(
        &mut self,
        state: &mut State,
        value: Value,
        name: NameId,
        depth: u32,
    ) -> Result<Option<Member>, Stop> {
        let id = match value {
            Value::Ref(id) | Value::Struct(id) => id,
            Value::FieldRef(..) | Value::ElementRef(..) => {
                if let Some(func) = self.method_of_place(state, value, name) {
                    return Ok(Some(Member::Method(func, value)));
                }
                let inner = self.load(state, value);
                if inner.object().is_none() {
                    return Ok(None);
                }
                return self.promoted(state, inner, name, depth);
            }
            Value::Nil if depth == 0 => return Err(Stop::Panic),
            Value::Unknown(unknown) => {
                return Ok(Some(match self.method_of_type(unknown.ty, name) {
                    Some(func) => Member::Method(func, value),
                    None => {
                        let member = Term::Member(value, name);
                        Member::Value(self.term(state, member, TypeId::UNKNOWN))
                    }
                }));
            }
            Value::Term(_) => {
                let member = Term::Member(value, name);
                return Ok(Some(Member::Value(self.term(state, member, TypeId::UNKNOWN))));
            }
            Value::Func(_) => return Ok(self.method_by_kind(value, name, MethodBase::Func)),
            Value::Int(_) | Value::Str(_) | Value::Bool(_) => {
                return Ok(self.method_by_kind(value, name, MethodBase::Scalar));
            }
            _ => return Ok(None),
        };
        match state.heap.get(id) {
            Object::Struct { ty, fields } => {
                let ty = *ty;
                if let Ok(at) = fields.binary_search_by_key(&name, |&(name, _)| name) {
                    return Ok(Some(Member::Value(fields[at].1)));
                }
                self.struct_member(state, value, id, ty, name, depth)
            }
            Object::Cell(inner) => {
                let inner = *inner;
                if let Some(func) = self.method_of_place(state, value, name) {
                    return Ok(Some(Member::Method(func, value)));
                }
                match inner {
                    // A pointer to a pointer has no members; a cell of a struct is its place.
                    Value::Nil => Ok(None),
                    inner => self.promoted(state, inner, name, depth),
                }
            }
            Object::Channel(_) => Ok(self.method_by_kind(value, name, MethodBase::Chan)),
            Object::Slice { .. } => Ok(self.method_by_kind(value, name, MethodBase::Slice)),
            Object::Map { .. } => Ok(self.method_by_kind(value, name, MethodBase::Map)),
            Object::Closure { .. } => Ok(self.method_by_kind(value, name, MethodBase::Func)),
            Object::Timer { callback: true, .. } if self.program.name(name) == "C" => {
                // <https://pkg.go.dev/time#AfterFunc>: "The returned Timer's C field is not used and
                // will be nil."
                Ok(Some(Member::Value(Value::Nil)))
            }
            Object::Timer { channel, .. } if self.program.name(name) == "C" => {
                Ok(Some(Member::Value(channel.pointer())))
            }
            Object::Cond { locker, .. } if self.program.name(name) == "L" => {
                Ok(Some(Member::Value(*locker)))
            }
            object if object.is_synchronising() || matches!(object, Object::Atomic(_)) => {
                Ok(Some(Member::Lib(value)))
            }
            _ => Ok(None),
        }
    }

    /// A field that was not touched before, a method, or either of an embedded field.
    fn struct_member(
        &mut self,
        state: &mut State,
        value: Value,
        id: ObjectId,
        ty: TypeId,
        name: NameId,
        depth: u32,
    ) -> Result<Option<Member>, Stop> {
        if let Some(func) = self.method_of_type(ty, name) {
            return Ok(Some(Member::Method(func, value)));
        }
        let Type::Struct(fields) = self.program.all().types.underlying(ty) else {
            // A struct of another package: nothing is known of what it declares.
            return Ok(None);
        };
        if let Some(field) = fields.iter().find(|field| field.name == name) {
            let value = self.touch(state, id, field);
            return Ok(Some(Member::Value(value)));
        }
        if depth >= MAX_PROMOTION {
            return Ok(None);
        }
        for field in fields.iter().filter(|field| field.embedded) {
            let inner = self.touch(state, id, field);
            if inner == Value::Nil {
                continue;
            }
            // An unknown has every member: only if nothing else has it.
            if inner.is_unknown() && fields.iter().filter(|field| field.embedded).count() > 1 {
                continue;
            }
            if let Some(member) = self.promoted(state, inner, name, depth + 1)? {
                return Ok(Some(member));
            }
        }
        Ok(None)
    }

    /// The value of a field that is read for the first time.
    fn touch(&mut self, state: &mut State, id: ObjectId, field: &FieldType) -> Value {
        if let Object::Struct { fields, .. } = state.heap.get(id)
            && let Ok(at) = fields.binary_search_by_key(&field.name, |&(name, _)| name)
        {
            return fields[at].1;
        }
        let external = state.heap.is_external(id);
        let value = if external {
            self.symbolic(state, field.ty)
        } else {
            self.zero(state, field.ty, false)
        };
        // The zero value of a scalar need not be kept: an absent field has it.
        if external || value.object().is_some() || value.is_unknown() {
            self.set_field(state, id, field.name, value);
        }
        value
    }

    /// Gives every field of an external struct a value of its own.
    fn touch_all(&mut self, state: &mut State, id: ObjectId) {
        let Object::Struct { ty, .. } = state.heap.get(id) else { return };
        let Type::Struct(fields) = self.program.types.underlying(*ty).clone() else { return };
        for field in &fields {
            self.touch(state, id, field);
        }
    }

    pub(super) fn set_field(
        &mut self,
        state: &mut State,
        id: ObjectId,
        name: NameId,
        value: Value,
    ) {
        if let Object::Struct { fields, .. } = state.heap.get_mut(id) {
            match fields.binary_search_by_key(&name, |&(name, _)| name) {
                Ok(at) => fields[at].1 = value,
                Err(at) => fields.insert(at, (name, value)),
            }
        }
    }

    /// The method that the defined type `ty`, or the one it points to, declares.
    pub(super) fn method_of_type(&self, ty: TypeId, name: NameId) -> Option<FuncId> {
        let types = &self.program.types;
        let ty = types.pointee(ty).unwrap_or(ty);
        let mut ty = ty;
        for _ in 0..8 {
            let named = types.name_of(ty)?;
            if let Some(&func) = self.program.methods.get(&(named, name)) {
                return Some(func);
            }
            // Methods are not inherited by definition, but erased instances are: follow aliases
            // only, which `name_of` has done.
            if !types.named(named).alias {
                return None;
            }
            ty = types.named(named).definition;
        }
        None
    }

    /// The method `name` that is given the place of a slice, map or the like at `pointer`: of the type that
    /// the field there is declared with or, of any other place, the only one that what is in it can have.
    fn method_of_place(&self, state: &State, pointer: Value, name: NameId) -> Option<FuncId> {
        let takes_place = |func: &FuncId| !self.program.func(*func).value_receiver;
        if let Value::FieldRef(id, field) = pointer
            && let Object::Struct { ty, .. } = state.heap.get(id)
            && let Type::Struct(fields) = self.program.types.underlying(*ty)
        {
            let ty = fields.iter().find(|declared| declared.name == field)?.ty;
            let is_place = self.program.types.is_replaced(ty);
            return self.method_of_type(ty, name).filter(|func| is_place && takes_place(func));
        }
        let Value::Ref(id) = pointer else { return None };
        let &Object::Cell(inside) = state.heap.get(id) else { return None };
        let base = match inside {
            Value::Int(_) | Value::Str(_) | Value::Bool(_) => MethodBase::Scalar,
            Value::Func(_) => MethodBase::Func,
            Value::Ref(id) => match state.heap.get(id) {
                Object::Channel(_) => MethodBase::Chan,
                Object::Slice { .. } => MethodBase::Slice,
                Object::Map { .. } => MethodBase::Map,
                Object::Closure { .. } => MethodBase::Func,
                _ => return None,
            },
            // What is nil may be a pointer as well.
            Value::Nil => {
                let only = self.only_method(name, |_| true)?;
                let of_place = self.only_method(name, |base| base.is_some());
                return of_place.filter(|func| *func == only && takes_place(func));
            }
            _ => return None,
        };
        self.only_method(name, |of| of == Some(base)).filter(takes_place)
    }

    /// The only method of this name that a value of this kind can have.
    fn method_by_kind(&self, value: Value, name: NameId, base: MethodBase) -> Option<Member> {
        self.only_method(name, |of| of == Some(base)).map(|func| Member::Method(func, value))
    }

    /// The only method of this name that the types of these kinds declare; structs and the like are of none.
    fn only_method(
        &self,
        name: NameId,
        wanted: impl Fn(Option<MethodBase>) -> bool,
    ) -> Option<FuncId> {
        let mut found = None;
        for named in 0..self.program.types.named_count() {
            let named = crate::program::types::NamedId(named as u32);
            let Some(&func) = self.program.methods.get(&(named, name)) else { continue };
            let definition = self.program.types.named(named).definition;
            let base = match self.program.types.underlying(definition) {
                Type::Chan(..) => Some(MethodBase::Chan),
                Type::Slice(_) | Type::Array(..) => Some(MethodBase::Slice),
                Type::Map(..) => Some(MethodBase::Map),
                Type::Func(_) => Some(MethodBase::Func),
                Type::Bool | Type::Int | Type::String => Some(MethodBase::Scalar),
                _ => None,
            };
            if wanted(base) && found.replace(func).is_some() {
                return None;
            }
        }
        found
    }

    /// `base.name = value`
    pub(super) fn store_field(
        &mut self,
        state: &mut State,
        base: Value,
        name: NameId,
        value: Value,
    ) -> Result<(), Stop> {
        let Some(id) = self.owner(state, base, name, 0)? else {
            self.forget_member(state, base, name);
            self.escape(state, value);
            return Ok(());
        };
        if let Object::Cond { locker, .. } = state.heap.get_mut(id) {
            *locker = value;
            return Ok(());
        }
        if state.heap.is_external(id) {
            self.escape(state, value);
        }
        if let Object::Struct { fields, .. } = state.heap.get(id)
            && let Ok(at) = fields.binary_search_by_key(&name, |&(name, _)| name)
        {
            let old = fields[at].1;
            if self.assign_in_place(state, old, value) {
                return Ok(());
            }
        }
        self.set_field(state, id, name, value);
        Ok(())
    }

    /// The object that has the field `name` of `base`, through embedded fields.
    fn owner(
        &mut self,
        state: &mut State,
        base: Value,
        name: NameId,
        depth: u32,
    ) -> Result<Option<ObjectId>, Stop> {
        let id = match base {
            Value::Ref(id) | Value::Struct(id) => id,
            Value::FieldRef(..) | Value::ElementRef(..) => {
                let inner = self.load(state, base);
                return match inner {
                    Value::Ref(_) | Value::Struct(_) => self.owner(state, inner, name, depth),
                    _ => Ok(None),
                };
            }
            Value::Nil if depth == 0 => return Err(Stop::Panic),
            _ => return Ok(None),
        };
        match state.heap.get(id) {
            Object::Struct { ty, fields } => {
                if fields.binary_search_by_key(&name, |&(name, _)| name).is_ok() {
                    return Ok(Some(id));
                }
                let Type::Struct(declared) = self.program.all().types.underlying(*ty) else {
                    return Ok(Some(id));
                };
                if depth >= MAX_PROMOTION || declared.iter().any(|field| field.name == name) {
                    return Ok(Some(id));
                }
                for field in declared.iter().filter(|field| field.embedded) {
                    let inner = self.touch(state, id, field);
                    if let Some(owner) = self.owner(state, inner, name, depth + 1)?
                        && self.declares(state, owner, name)
                    {
                        return Ok(Some(owner));
                    }
                }
                Ok(if depth == 0 { Some(id) } else { None })
            }
            Object::Cond { .. } => Ok(Some(id)),
            Object::Cell(inner) => {
                let inner = *inner;
                self.owner(state, inner, name, depth)
            }
            _ => Ok(None),
        }
    }

    fn declares(&self, state: &State, id: ObjectId, name: NameId) -> bool {
        match state.heap.get(id) {
            Object::Struct { ty, .. } => match self.program.types.underlying(*ty) {
                Type::Struct(fields) => fields.iter().any(|field| field.name == name),
                _ => true,
            },
            _ => false,
        }
    }

    /// `&base.name`
    pub(super) fn address_of_field(
        &mut self,
        state: &mut State,
        base: Value,
        name: NameId,
    ) -> Result<Value, Stop> {
        match self.member(state, base, name)? {
            Member::Value(Value::Struct(id)) => Ok(Value::Ref(id)),
            Member::Value(_) => Ok(match self.owner(state, base, name, 0)? {
                Some(id) => Value::FieldRef(id, name),
                None => state.non_nil(TypeId::UNKNOWN),
            }),
            _ => Ok(state.non_nil(TypeId::UNKNOWN)),
        }
    }

    /// `*pointer`
    pub(super) fn load(&mut self, state: &mut State, pointer: Value) -> Value {
        match pointer {
            Value::Ref(id) => match state.heap.get(id) {
                Object::Cell(value) => *value,
                Object::Struct { .. } => Value::Struct(id),
                object if object.is_synchronising() || matches!(object, Object::Atomic(_)) => {
                    Value::Struct(id)
                }
                _ => pointer,
            },
            Value::FieldRef(id, name) => match self.member(state, Value::Ref(id), name) {
                Ok(Member::Value(value)) => value,
                _ => state.unknown(TypeId::UNKNOWN),
            },
            Value::ElementRef(id, at) => match state.heap.get(id) {
                Object::Slice { items, .. } => {
                    items.get(at as usize).copied().unwrap_or(Value::Nil)
                }
                _ => state.unknown(TypeId::UNKNOWN),
            },
            Value::Struct(_) => pointer,
            Value::Unknown(unknown) => match *self.program.types.underlying(unknown.ty) {
                Type::Pointer(to) => {
                    self.recalled(state, Term::Member(pointer, NameId::POINTED), to)
                }
                _ => pointer,
            },
            Value::Term(_) => pointer,
            // An unknown of which the type is not known stands for what it points to, and so for what was decided of that.
            Value::Bool(_) | Value::Int(_) | Value::Str(_) => pointer,
            _ => state.unknown(TypeId::UNKNOWN),
        }
    }

    /// `*pointer = value`
    pub(super) fn store(
        &mut self,
        state: &mut State,
        pointer: Value,
        value: Value,
    ) -> Result<(), Stop> {
        match pointer {
            Value::Nil => Err(Stop::Panic),
            Value::FieldRef(id, name) => self.store_field(state, Value::Ref(id), name, value),
            Value::ElementRef(id, at) => {
                self.store_element(state, Value::Ref(id), Value::Int(i64::from(at)), value);
                Ok(())
            }
            Value::Ref(id) | Value::Struct(id) => {
                if state.heap.is_external(id) {
                    self.escape(state, value);
                }
                if let &Object::Cell(old) = state.heap.get(id) {
                    if !self.assign_in_place(state, old, value)
                        && let Object::Cell(place) = state.heap.get_mut(id)
                    {
                        *place = value;
                    }
                } else if !self.assign_in_place(state, Value::Struct(id), value) {
                    self.escape(state, value);
                }
                Ok(())
            }
            _ => {
                self.forget_member(state, pointer, NameId::POINTED);
                self.escape(state, value);
                Ok(())
            }
        }
    }

    /// Copies a struct into the place of another. False if the values are not both structs.
    pub(super) fn assign_in_place(
        &mut self,
        state: &mut State,
        place: Value,
        value: Value,
    ) -> bool {
        let (Value::Struct(to), Value::Struct(from)) = (place, value) else { return false };
        if to == from {
            return true;
        }
        let mut work = vec![(to, from)];
        while let Some((to, from)) = work.pop() {
            if state.heap.is_external(from) && !state.heap.is_external(to) {
                self.touch_all(state, from);
            }
            let mut object = state.heap.get(from).clone();
            if let (Object::Struct { fields, .. }, Object::Struct { fields: old, .. }) =
                (&mut object, state.heap.get(to))
            {
                for (name, value) in fields {
                    let Ok(at) = old.binary_search_by_key(name, |&(name, _)| name) else {
                        continue;
                    };
                    if let (Value::Struct(inner), Value::Struct(from)) = (old[at].1, *value)
                        && inner != from
                        && work.len() < 64
                    {
                        work.push((inner, from));
                        *value = Value::Struct(inner);
                    }
                }
            }
            *state.heap.get_mut(to) = object;
        }
        true
    }

    /// What assigning or passing `value` gives: structs are copied.
    pub(super) fn copy(&mut self, state: &mut State, value: Value) -> Value {
        let Value::Struct(id) = value else { return value };
        let copy = state.heap.add(state.heap.entry(id).clone());
        let mut work = vec![copy];
        let mut copied = 0;
        while let Some(id) = work.pop() {
            let Object::Struct { fields, .. } = state.heap.get(id) else { continue };
            let inner: Vec<(NameId, ObjectId)> = fields
                .iter()
                .filter_map(|&(name, value)| match value {
                    Value::Struct(inner) => Some((name, inner)),
                    _ => None,
                })
                .collect();
            for (name, inner) in inner {
                copied += 1;
                // A struct that holds itself in place is not Go; the bound only guards the loop.
                if copied > 256 {
                    break;
                }
                let new = state.heap.add(state.heap.entry(inner).clone());
                self.set_field(state, id, name, Value::Struct(new));
                work.push(new);
            }
        }
        Value::Struct(copy)
    }

    /// `base[index]` and whether it was there.
    pub(super) fn element(
        &mut self,
        state: &mut State,
        base: Value,
        index: Value,
    ) -> Result<(Value, Value), Stop> {
        let yes = Value::Bool(true);
        let id = match base {
            Value::Ref(id) | Value::Struct(id) => id,
            Value::Unknown(unknown) => {
                let element = self.program.types.element(unknown.ty);
                let read = Term::Element(base, index);
                if element == TypeId::UNKNOWN {
                    let ok = state.unknown(TypeId::BOOL);
                    return Ok((self.term(state, read, TypeId::UNKNOWN), ok));
                }
                let of_map = matches!(self.program.types.underlying(unknown.ty), Type::Map(..));
                let ok = match of_map {
                    true => {
                        let element = Value::Term(self.terms.intern(read));
                        let present = Term::Member(element, NameId::PRESENT);
                        self.recalled(state, present, TypeId::BOOL)
                    }
                    false => yes,
                };
                return Ok((self.recalled(state, read, element), ok));
            }
            Value::Nil => return Ok((state.unknown(TypeId::UNKNOWN), Value::Bool(false))),
            _ => return Ok((state.unknown(TypeId::UNKNOWN), state.unknown(TypeId::BOOL))),
        };
        match state.heap.get(id) {
            Object::Slice { items, .. } => match index {
                Value::Int(at) => match usize::try_from(at).ok().and_then(|at| items.get(at)) {
                    Some(&value) => Ok((value, yes)),
                    None if state.heap.is_external(id) => Ok((state.unknown(TypeId::UNKNOWN), yes)),
                    None => Err(Stop::Panic),
                },
                Value::Unknown(unknown) if !items.is_empty() => {
                    let is = |at| Decision::Is(unknown.id, Value::Int(at));
                    Err(Stop::Decide((0..items.len().min(3) as i64).map(is).collect()))
                }
                _ => Ok((state.unknown(TypeId::UNKNOWN), yes)),
            },
            Object::Map { value, items } => {
                let value = *value;
                let found = items
                    .iter()
                    .find(|&&(key, _)| key == index || self.equal(state, key, index) == Some(true));
                if let Some(&(_, value)) = found {
                    return Ok((value, yes));
                }
                let maybe = items.iter().any(|&(key, _)| self.equal(state, key, index).is_none());
                if maybe {
                    // It may be any of them.
                    let values: Vec<Value> = items.iter().map(|&(_, value)| value).collect();
                    for value in values {
                        self.escape(state, value);
                    }
                }
                if maybe || state.heap.is_external(id) {
                    return Ok((self.symbolic(state, value), state.unknown(TypeId::BOOL)));
                }
                Ok((self.zero(state, value, false), Value::Bool(false)))
            }
            Object::Cell(inner) => {
                let inner = *inner;
                if inner.object() == Some(id) {
                    return Ok((state.unknown(TypeId::UNKNOWN), yes));
                }
                self.element(state, inner, index)
            }
            _ => Ok((state.unknown(TypeId::UNKNOWN), state.unknown(TypeId::BOOL))),
        }
    }

    /// `base[index] = value`
    pub(super) fn store_element(
        &mut self,
        state: &mut State,
        base: Value,
        index: Value,
        value: Value,
    ) {
        let Some(id) = base.object() else {
            self.forget_members(state, base);
            self.escape(state, index);
            self.escape(state, value);
            return;
        };
        if state.heap.is_external(id) {
            self.escape(state, index);
            self.escape(state, value);
        }
        if let &Object::Cell(inner) = state.heap.get(id)
            && inner.object().is_some_and(|inner| inner != id)
        {
            return self.store_element(state, inner, index, value);
        }
        let existing = match state.heap.get(id) {
            Object::Map { items, .. } => items
                .iter()
                .position(|&(key, _)| key == index || self.equal(state, key, index) == Some(true)),
            _ => None,
        };
        let index = match (state.heap.get(id), index) {
            (Object::Slice { .. }, Value::Int(_)) => index,
            (Object::Slice { items, .. }, _) if items.len() == 1 => Value::Int(0),
            (Object::Slice { .. }, _) => {
                self.escape(state, value);
                self.blur(state, Value::Ref(id));
                return;
            }
            _ => index,
        };
        match state.heap.get_mut(id) {
            Object::Slice { items, .. } => {
                let Value::Int(at) = index else { return };
                if let Some(place) = usize::try_from(at).ok().and_then(|at| items.get_mut(at)) {
                    *place = value;
                }
            }
            Object::Map { items, .. } => match existing {
                Some(at) => items[at].1 = value,
                None if items.len() < MAX_ITEMS => items.push((index, value)),
                None => {
                    state.doubts.inexact = true;
                    self.escape(state, index);
                    self.escape(state, value);
                }
            },
            _ => {
                self.escape(state, index);
                self.escape(state, value);
            }
        }
    }

    /// `&base[index]`
    pub(super) fn address_of_element(
        &mut self,
        state: &mut State,
        base: Value,
        index: Value,
    ) -> Result<Value, Stop> {
        let (value, _) = self.element(state, base, index)?;
        Ok(match (value, base, index) {
            (Value::Struct(id), ..) => Value::Ref(id),
            (_, Value::Ref(id), Value::Int(at)) if !value.is_unknown() => match u32::try_from(at) {
                Ok(at) => Value::ElementRef(id, at),
                Err(_) => state.non_nil(TypeId::UNKNOWN),
            },
            _ => state.non_nil(TypeId::UNKNOWN),
        })
    }

    /// A slice of these elements.
    pub(super) fn new_slice(
        &mut self,
        state: &mut State,
        element: TypeId,
        mut items: Vec<Value>,
    ) -> Value {
        if items.len() > MAX_ITEMS {
            state.doubts.inexact = true;
            for &value in &items[MAX_ITEMS..] {
                self.escape(state, value);
            }
            items.truncate(MAX_ITEMS);
        }
        Value::Ref(state.add(Object::Slice { element, items }, None))
    }
}

/// Longer slices and maps let go of what comes later.
pub(super) const MAX_ITEMS: usize = 24;

#[derive(Clone, Copy, PartialEq, Eq)]
enum MethodBase {
    Chan,
    Slice,
    Map,
    Func,
    Scalar,
}
