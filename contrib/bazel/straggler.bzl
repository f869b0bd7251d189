"""straggler under Bazel: one action for each package, and one for the report.

    load("//straggler:straggler.bzl", "straggler_check")

    straggler_check(
        name = "straggler",
        deps = ["//a", "//a:a_test", "//b"],
    )

The targets in `deps` are of any rule that has `srcs`, and `deps` and `embed` for what these import, as
the rules of rules_go have it. `straggler_aspect` goes along them and writes the facts of each; the report
is made of these alone.
"""

StragglerFacts = provider(
    doc = "What is known of a package.",
    fields = {"files": "The facts of the target and of all that it imports, directly or not: a depset."},
)

_IMPORTS = ["deps", "embed"]

_TOOL = {
    "_straggler": attr.label(
        default = "//straggler:straggler",
        allow_single_file = True,
        executable = True,
        cfg = "exec",
    ),
    # go.mod, go.work, vendor/modules.txt and straggler.toml: the same for all actions.
    "_deciding": attr.label(default = "//straggler:deciding", allow_files = True),
}

def _facts_of(targets):
    return depset(transitive = [
        target[StragglerFacts].files
        for target in targets
        if StragglerFacts in target
    ])

def _run(ctx, mnemonic, message, given, inputs, output, arguments):
    listed = ctx.actions.args()
    listed.add_all(given)
    listed.use_param_file("--facts=@%s", use_always = True)
    listed.set_param_file_format("multiline")
    ctx.actions.run(
        executable = ctx.executable._straggler,
        arguments = arguments + [listed],
        inputs = depset(inputs, transitive = [given]),
        outputs = [output],
        mnemonic = mnemonic,
        progress_message = message,
        # GOROOT, with --action_env.
        use_default_shell_env = True,
    )

def _straggler_aspect_impl(target, ctx):
    attributes = [getattr(ctx.rule.attr, name, None) or [] for name in _IMPORTS]
    given = _facts_of([target for targets in attributes for target in targets])

    # What is generated, or of another repository, stands where no import of a module leads to.
    files = [] if ctx.label.workspace_name else getattr(ctx.rule.files, "srcs", [])
    sources = [file for file in files if file.extension == "go" and file.is_source]
    if not sources:
        return [StragglerFacts(files = given)]
    facts = ctx.actions.declare_file(ctx.rule.attr.name + ".straggler")
    arguments = ctx.actions.args()
    arguments.add("facts")
    arguments.add_all("--with", ctx.files._deciding)
    arguments.add("--jobs", "1")
    arguments.add("--out", facts)
    arguments.add_all(sources)
    _run(
        ctx,
        "StragglerFacts",
        "Finding the facts of %s" % ctx.label,
        given,
        sources + ctx.files._deciding,
        facts,
        [arguments],
    )
    return [
        StragglerFacts(files = depset([facts], transitive = [given])),
        OutputGroupInfo(straggler = depset([facts])),
    ]

straggler_aspect = aspect(
    implementation = _straggler_aspect_impl,
    doc = "Writes the facts of a target and of all that it imports.",
    attr_aspects = _IMPORTS,
    attrs = _TOOL,
)

def _straggler_check_impl(ctx):
    report = ctx.actions.declare_file("%s.%s" % (ctx.label.name, ctx.attr.format))
    arguments = ctx.actions.args()
    arguments.add("check")
    arguments.add("--format", "concise")
    arguments.add("--output", report, format = ctx.attr.format + ":%s")
    if not ctx.attr.fails:
        arguments.add("--exit-zero")
    given = _facts_of(ctx.attr.deps)
    message = "Reporting what straggler has found (%s)" % ctx.label
    _run(ctx, "StragglerCheck", message, given, [], report, [arguments])
    return [DefaultInfo(files = depset([report]))]

straggler_check = rule(
    implementation = _straggler_check_impl,
    doc = "Reports what is found in the packages of some targets and of all that they import.",
    attrs = dict(
        _TOOL,
        deps = attr.label_list(
            aspects = [straggler_aspect],
            doc = "Of whatever depends on a package no more is known than what is listed here: who " +
                  "wants the report of the whole program lists all of it.",
        ),
        fails = attr.bool(default = True, doc = "Whether the build fails if something is found."),
        format = attr.string(default = "concise", doc = "That of the report: `sarif`, `json`, ..."),
    ),
)

def _go_sources_impl(ctx):
    return [DefaultInfo(files = depset(ctx.files.srcs))]

go_sources = rule(
    implementation = _go_sources_impl,
    doc = "Go files and what they import, for repositories without rules for Go.",
    attrs = {
        "srcs": attr.label_list(allow_files = [".go"]),
        "deps": attr.label_list(),
        "embed": attr.label_list(),
    },
)
