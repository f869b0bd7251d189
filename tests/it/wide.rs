//! Programs in which everything calls everything else. What is followed through calls grows with their number there, and
//! not with the number of ways through them: else these tests would not end.

use std::fmt::Write;

use crate::cli::tells_of_file as check;

/// How many types or functions there are.
const MANY: usize = 300;

#[test]
fn an_interface_that_many_types_implement_by_calling_it() {
    let mut source = String::from(
        "package m\n\nimport \"context\"\n\ntype Part interface{ Write(ctx context.Context) error }\n\n",
    );
    for at in 0..MANY {
        write!(source, "type T{at} struct{{ parts [4]Part }}\n\nfunc (t *T{at}) Write(ctx context.Context) error {{\n")
            .expect("a string has room");
        for part in 0..4 {
            write!(
                source,
                "\tif err := t.parts[{part}].Write(ctx); err != nil {{\n\t\treturn err\n\t}}\n"
            )
            .expect("a string has room");
        }
        write!(
            source,
            "\treturn nil\n}}\n\nfunc (t *T{at}) All(ctx context.Context) error {{\n\treturn t.Write(context.Background())\n}}\n\n"
        )
        .expect("a string has room");
    }
    // Nobody of them waits for anything.
    check(&source, &[]);
}

#[test]
fn functions_that_hand_a_context_to_each_other() {
    let mut source = String::from(
        "package m\n\nimport \"context\"\n\nfunc All(ctx context.Context) error { return f0(context.Background()) }\n\n",
    );
    for at in 0..MANY {
        writeln!(source, "func f{at}(ctx context.Context) error {{").expect("a string has room");
        for step in 1..9 {
            let next = (at * 7 + step * 31) % MANY;
            write!(source, "\tif err := f{next}(ctx); err != nil {{\n\t\treturn err\n\t}}\n")
                .expect("a string has room");
        }
        source.push_str("\treturn nil\n}\n\n");
    }
    check(&source, &[]);
}
