//! Functions that the catalog knows by their form, since generated code gives them no name of
//! their own: the methods of a client stub, of a typed client.

use crate::catalog::{Direction, Kind, Shape, TypeExpr, Versions};
use crate::syntax::ChanDir;

use super::external::type_of;
use super::{Index, QualifiedName, Signature, Type};

impl Index<'_> {
    /// The fact of one kind about the functions of a form that `name` with this signature surely
    /// has, if it holds for these versions for certain. Of several forms the first one counts; one
    /// that cannot be decided hides those after it.
    pub fn fact_by_form<K: Kind>(
        &self,
        name: QualifiedName,
        signature: &Signature,
        versions: &dyn Versions,
    ) -> Option<&K> {
        for (shape, facts) in self.catalog.shapes() {
            let Some(fact) = facts.in_force::<K>(versions) else { continue };
            if !shape.admits(name.path.as_str(), name.name.as_str()) {
                continue;
            }
            match fits(shape, signature) {
                Some(true) => return Some(fact),
                Some(false) => {}
                None => return None,
            }
        }
        None
    }
}

/// Whether a function of this signature has the form; `None` when its types are not known.
fn fits(shape: &Shape, signature: &Signature) -> Option<bool> {
    let results = |exprs: &Vec<TypeExpr>| fit_all(exprs, &signature.results, false);
    let params = |exprs: &Vec<TypeExpr>| fit_all(exprs, &signature.params, signature.variadic);
    both(
        shape.results.as_ref().map_or(Some(true), results),
        shape.params.as_ref().map_or(Some(true), params),
    )
}

fn fit_all(exprs: &[TypeExpr], types: &[Type], variadic: bool) -> Option<bool> {
    let (exprs, types) = match exprs.split_last() {
        Some((TypeExpr::Rest, first)) => (first, &types[..first.len().min(types.len())]),
        Some((TypeExpr::Variadic(_), _)) if !variadic => return Some(false),
        Some((TypeExpr::Variadic(_), _)) => (exprs, types),
        _ if variadic => return Some(false),
        _ => (exprs, types),
    };
    if exprs.len() != types.len() {
        return Some(false);
    }
    exprs.iter().zip(types).map(|(expr, ty)| fit(expr, ty)).fold(Some(true), both)
}

fn fit(expr: &TypeExpr, ty: &Type) -> Option<bool> {
    match (expr, ty) {
        (TypeExpr::Any, _) => Some(true),
        (_, Type::Unknown | Type::Param(_)) => None,
        (TypeExpr::Func, Type::Func(_)) => Some(true),
        (TypeExpr::Named(name), Type::Named(named)) => Some(named.is(&name.package, &name.name)),
        (TypeExpr::Pointer(base), Type::Pointer(ty)) => fit(base, ty),
        (TypeExpr::Slice(element) | TypeExpr::Variadic(element), Type::Slice(ty)) => {
            fit(element, ty)
        }
        (TypeExpr::Chan(direction, element), Type::Chan(of, ty)) => {
            let same = matches!(
                (direction, of),
                (Direction::Both, ChanDir::Both)
                    | (Direction::Receive, ChanDir::Recv)
                    | (Direction::Send, ChanDir::Send)
            );
            both(Some(same), fit(element, ty))
        }
        (TypeExpr::Predeclared(_), _) => type_of(expr).identical(ty),
        _ => Some(false),
    }
}

fn both(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(texts: &[&str]) -> Vec<TypeExpr> {
        texts.iter().map(|text| TypeExpr::parse(text).expect("a type")).collect()
    }

    /// Checks whether a function that takes and gives these types has a form; `_` is a type that
    /// is not known.
    fn check(form: (&[&str], &[&str]), has: (&[&str], &[&str]), expected: Option<bool>) {
        let shape = Shape {
            name: None,
            package: None,
            params: Some(types(form.0)),
            results: Some(types(form.1)),
            example: None,
        };
        let signature = Signature {
            type_params: Box::new([]),
            params: types(has.0).iter().map(type_of).collect(),
            results: types(has.1).iter().map(type_of).collect(),
            variadic: has.0.last().is_some_and(|last| last.starts_with("...")),
        };
        assert_eq!(fits(&shape, &signature), expected, "{shape}");
    }

    #[test]
    fn a_form_is_decided_by_types() {
        let unary: (&[&str], &[&str]) =
            (&["context.Context", "*_", "...a/grpc.CallOption"], &["*_", "error"]);
        let call = ["context.Context", "*b.Request", "...a/grpc.CallOption"];
        check(unary, (&call, &["*b.Answer", "error"]), Some(true));
        check(unary, (&call, &["b.Stream", "error"]), Some(false));
        check(unary, (&call[..2], &["*b.Answer", "error"]), Some(false));
        check(unary, (&call, &["_", "error"]), None);
        check(unary, (&["_", "*b.Request", "...a/grpc.CallOption"], &["error"]), Some(false));
    }

    #[test]
    fn further_parameters_may_follow() {
        let get: (&[&str], &[&str]) = (&["context.Context", "string", "..."], &["_", "error"]);
        check(get, (&["context.Context", "string"], &["*a.T", "error"]), Some(true));
        check(
            get,
            (&["context.Context", "string", "int", "...string"], &["int", "error"]),
            Some(true),
        );
        check(get, (&["context.Context"], &["*a.T", "error"]), Some(false));
        check(get, (&["context.Context", "int"], &["*a.T", "error"]), Some(false));
    }

    #[test]
    fn channels_compare_by_direction() {
        check((&["<-chan struct{}"], &[]), (&["<-chan int"], &[]), Some(false));
        check((&["<-chan int"], &[]), (&["<-chan int"], &[]), Some(true));
        check((&["<-chan int"], &[]), (&["chan int"], &[]), Some(false));
    }
}
