//! The node kinds of tree-sitter-go, as an enum that `match` can look into.
//!
//! The grammar's numbers are looked up by name once for the process, so that another patch version
//! of the grammar cannot shift their meaning.

use std::sync::LazyLock;

macro_rules! kinds {
    ($($kind:ident $name:literal,)*) => {
        /// A node kind of the grammar, or what the walk makes of it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Kind {
            /// Text that has no place in the grammar.
            Error,
            /// A token that the grammar demands and the text lacks.
            Absent,
            /// A token that says nothing that its parent's kind does not say.
            Noise,
            $(#[doc = $name] $kind,)*
        }

        const NAMES: &[(&str, Kind)] = &[$(($name, Kind::$kind),)*];
    };
}

kinds! {
    // Tokens that decide something.
    Semicolon ";",
    Colon ":",
    Ellipsis "...",
    Star "*",
    Chan "chan",
    Arrow "<-",
    Range "range",
    Define ":=",
    Assign "=",
    MulAssign "*=",
    DivAssign "/=",
    RemAssign "%=",
    ShlAssign "<<=",
    ShrAssign ">>=",
    AndAssign "&=",
    AndNotAssign "&^=",
    AddAssign "+=",
    SubAssign "-=",
    OrAssign "|=",
    XorAssign "^=",
    Pipe "|",
    Plus "+",
    Minus "-",
    Bang "!",
    Caret "^",
    Amp "&",
    Slash "/",
    Percent "%",
    Shl "<<",
    Shr ">>",
    AmpCaret "&^",
    EqEq "==",
    BangEq "!=",
    Less "<",
    LessEq "<=",
    Greater ">",
    GreaterEq ">=",
    AmpAmp "&&",
    PipePipe "||",
    // Leaves.
    Comment "comment",
    Identifier "identifier",
    TypeIdentifier "type_identifier",
    FieldIdentifier "field_identifier",
    PackageIdentifier "package_identifier",
    LabelName "label_name",
    BlankIdentifier "blank_identifier",
    Dot "dot",
    IntLiteral "int_literal",
    FloatLiteral "float_literal",
    ImaginaryLiteral "imaginary_literal",
    RuneLiteral "rune_literal",
    RawString "raw_string_literal",
    InterpretedString "interpreted_string_literal",
    Nil "nil",
    True "true",
    False "false",
    Iota "iota",
    // The file and its declarations.
    SourceFile "source_file",
    PackageClause "package_clause",
    ImportDeclaration "import_declaration",
    ImportSpecList "import_spec_list",
    ImportSpec "import_spec",
    ConstDeclaration "const_declaration",
    ConstSpec "const_spec",
    VarDeclaration "var_declaration",
    VarSpecList "var_spec_list",
    VarSpec "var_spec",
    TypeDeclaration "type_declaration",
    TypeSpec "type_spec",
    TypeAlias "type_alias",
    FunctionDeclaration "function_declaration",
    MethodDeclaration "method_declaration",
    TypeParameterList "type_parameter_list",
    TypeParameterDeclaration "type_parameter_declaration",
    ParameterList "parameter_list",
    ParameterDeclaration "parameter_declaration",
    VariadicParameterDeclaration "variadic_parameter_declaration",
    // Types.
    ParenthesizedType "parenthesized_type",
    GenericType "generic_type",
    TypeArguments "type_arguments",
    TypeElem "type_elem",
    TypeConstraint "type_constraint",
    PointerType "pointer_type",
    ArrayType "array_type",
    ImplicitLengthArrayType "implicit_length_array_type",
    SliceType "slice_type",
    StructType "struct_type",
    FieldDeclarationList "field_declaration_list",
    FieldDeclaration "field_declaration",
    NegatedType "negated_type",
    InterfaceType "interface_type",
    MethodElem "method_elem",
    MapType "map_type",
    ChannelType "channel_type",
    FunctionType "function_type",
    QualifiedType "qualified_type",
    // Statements.
    Block "block",
    StatementList "statement_list",
    EmptyStatement "empty_statement",
    ExpressionStatement "expression_statement",
    SendStatement "send_statement",
    ReceiveStatement "receive_statement",
    IncStatement "inc_statement",
    DecStatement "dec_statement",
    AssignmentStatement "assignment_statement",
    ShortVarDeclaration "short_var_declaration",
    LabeledStatement "labeled_statement",
    FallthroughStatement "fallthrough_statement",
    BreakStatement "break_statement",
    ContinueStatement "continue_statement",
    GotoStatement "goto_statement",
    ReturnStatement "return_statement",
    GoStatement "go_statement",
    DeferStatement "defer_statement",
    IfStatement "if_statement",
    ForStatement "for_statement",
    ForClause "for_clause",
    RangeClause "range_clause",
    SwitchStatement "expression_switch_statement",
    ExpressionCase "expression_case",
    DefaultCase "default_case",
    TypeSwitchStatement "type_switch_statement",
    TypeCase "type_case",
    SelectStatement "select_statement",
    CommunicationCase "communication_case",
    // Expressions.
    ExpressionList "expression_list",
    ParenthesizedExpression "parenthesized_expression",
    CallExpression "call_expression",
    ArgumentList "argument_list",
    VariadicArgument "variadic_argument",
    SelectorExpression "selector_expression",
    IndexExpression "index_expression",
    SliceExpression "slice_expression",
    TypeAssertionExpression "type_assertion_expression",
    TypeConversionExpression "type_conversion_expression",
    TypeInstantiationExpression "type_instantiation_expression",
    CompositeLiteral "composite_literal",
    LiteralValue "literal_value",
    LiteralElement "literal_element",
    KeyedElement "keyed_element",
    FuncLiteral "func_literal",
    UnaryExpression "unary_expression",
    BinaryExpression "binary_expression",
}

static TABLE: LazyLock<Box<[Kind]>> = LazyLock::new(|| {
    let language = tree_sitter::Language::new(tree_sitter_go::LANGUAGE);
    let kind = |id: usize| {
        // Rules that the tree does not show share names with tokens, but their numbers never
        // come up.
        let name = language.node_kind_for_id(id as u16)?;
        NAMES.iter().find(|(known, _)| *known == name).map(|&(_, kind)| kind)
    };
    (0..language.node_kind_count()).map(|id| kind(id).unwrap_or(Kind::Noise)).collect()
});

impl Kind {
    /// The whole table, fetched once for each tree: indexed by the grammar's number. Numbers
    /// outside it are errors.
    pub(super) fn table() -> &'static [Kind] {
        &TABLE
    }

    /// Leaves of our tree, even where the grammar goes on below them.
    pub(super) fn is_leaf(self) -> bool {
        (Kind::Semicolon as u8..=Kind::Iota as u8).contains(&(self as u8))
    }

    /// Kinds that only group: their children are read by the node above.
    pub(super) fn is_group(self) -> bool {
        matches!(
            self,
            Kind::ImportSpecList
                | Kind::VarSpecList
                | Kind::TypeParameterDeclaration
                | Kind::ParameterDeclaration
                | Kind::VariadicParameterDeclaration
                | Kind::TypeArguments
                | Kind::FieldDeclaration
                | Kind::StatementList
                | Kind::ForClause
                | Kind::RangeClause
                | Kind::ExpressionList
                | Kind::VariadicArgument
                | Kind::LiteralElement
        )
    }

    /// Expressions and types whose first child is an expression in turn: chains such as
    /// `a + b + c` and `a.b().c[d]` nest to the left without end in honest code.
    pub(super) fn is_left_chain(self) -> bool {
        matches!(
            self,
            Kind::BinaryExpression
                | Kind::CallExpression
                | Kind::SelectorExpression
                | Kind::IndexExpression
                | Kind::SliceExpression
                | Kind::TypeAssertionExpression
                | Kind::TypeConversionExpression
                | Kind::TypeInstantiationExpression
        )
    }

    pub(super) fn is_statement(self) -> bool {
        (Kind::Block as u8..=Kind::SelectStatement as u8).contains(&(self as u8))
    }

    pub(super) fn is_type(self) -> bool {
        (Kind::ParenthesizedType as u8..=Kind::QualifiedType as u8).contains(&(self as u8))
    }

    /// Lists of statements and declarations: what does not parse has a place among them.
    pub(super) fn is_list(self) -> bool {
        matches!(
            self,
            Kind::SourceFile
                | Kind::Block
                | Kind::ExpressionCase
                | Kind::TypeCase
                | Kind::DefaultCase
                | Kind::CommunicationCase
        )
    }

    /// Nodes that declare names: they are kept without what does not parse in them. All others
    /// become missing as a whole.
    pub(super) fn survives_errors(self) -> bool {
        (Kind::PackageClause as u8..=Kind::ParameterList as u8).contains(&(self as u8))
    }

    /// `=`, `:=` and the operators of `op=`.
    pub(super) fn is_assignment(self) -> bool {
        (Kind::Define as u8..=Kind::XorAssign as u8).contains(&(self as u8))
    }

    /// Predeclared names that the grammar makes tokens of; any of them may be declared anew.
    pub(super) fn is_predeclared(self) -> bool {
        matches!(self, Kind::Nil | Kind::True | Kind::False | Kind::Iota)
    }

    /// The names of the grammar.
    pub(super) fn is_name(self) -> bool {
        (Kind::Identifier as u8..=Kind::BlankIdentifier as u8).contains(&(self as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_one_of_the_grammar() {
        let language = tree_sitter::Language::new(tree_sitter_go::LANGUAGE);
        let known: Vec<_> = (0..language.node_kind_count())
            .filter_map(|id| language.node_kind_for_id(id as u16))
            .collect();
        for (name, _) in NAMES {
            assert!(known.contains(name), "`{name}` is not a kind of the grammar");
        }
    }
}
