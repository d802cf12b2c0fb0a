"""Everything of mypy that is no documented plugin interface, in one place, tested on each supported version.

Knows: where mypy keeps what the plugin reads, and how it compares and infers types.
Refuses to know: what that is done for.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

from mypy.checker import TypeChecker
from mypy.erasetype import erase_typevars
from mypy.errorcodes import ErrorCode
from mypy.errors import ErrorWatcher
from mypy.expandtype import expand_type, expand_type_by_instance, freshen_function_type_vars
from mypy.infer import infer_function_type_arguments
from mypy.maptype import map_instance_to_supertype
from mypy.messages import format_type
from mypy.mro import MroError, calculate_mro
from mypy.nodes import (
    ARG_POS,
    GDEF,
    ArgKind,
    Block,
    CallExpr,
    ClassDef,
    Context,
    Decorator,
    Expression,
    FuncDef,
    Import,
    ImportAll,
    ImportFrom,
    LambdaExpr,
    MemberExpr,
    MypyFile,
    Node,
    OperatorAssignmentStmt,
    OpExpr,
    RefExpr,
    StrExpr,
    SymbolTable,
    SymbolTableNode,
    TempNode,
    TypeInfo,
)
from mypy.options import Options
from mypy.plugin import CheckerPluginInterface, FunctionContext, FunctionSigContext, MethodContext
from mypy.plugins.dataclasses import replace_function_sig_callback
from mypy.plugins.functools import partial_call_callback, partial_new_callback
from mypy.server.trigger import make_wildcard_trigger
from mypy.subtypes import is_same_type, is_subtype
from mypy.typeops import make_simplified_union
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    ProperType,
    Type,
    TypeAliasType,
    TypeOfAny,
    TypeVarId,
    TypeVarType,
    UninhabitedType,
    UnionType,
    get_proper_type,
    has_type_vars,
)
from mypy.typevars import fill_typevars_with_any

from wengert_shapes.rules import Misfit

__all__ = [
    "accepts",
    "as_base",
    "as_partial",
    "as_replace",
    "asked",
    "bound",
    "changed",
    "differ",
    "erased",
    "expected",
    "failed",
    "formatted",
    "imported",
    "inferred",
    "lambda_at",
    "member",
    "mentioned",
    "mentions",
    "merged",
    "noted",
    "opened",
    "order_of",
    "outright",
    "replaced",
    "result_of",
    "result_of_all",
    "shown",
    "stored",
    "taken",
    "tree_of",
    "watched",
    "widened",
]


def as_base(t: Instance, fullname: str) -> Instance | None:
    """`t` seen as the base class of that name, with its arguments; None where it is no base."""
    if not t.type.has_base(fullname):  # compiled, and the answer for most
        return None
    return map_instance_to_supertype(t, next(info for info in t.type.mro if info.fullname == fullname))


def bound(method: CallableType, receiver: Instance) -> CallableType:
    """A method's signature without `self`, and with the type variables of its class as the receiver has them."""
    owner = method.definition.info if isinstance(method.definition, FuncDef | Decorator) else None
    base = as_base(receiver, owner.fullname) if owner else None
    made = method if base is None else expand_type_by_instance(method, base)
    return changed(
        made, arg_types=made.arg_types[1:], arg_kinds=made.arg_kinds[1:], arg_names=made.arg_names[1:]
    )


def tree_of(api: CheckerPluginInterface) -> MypyFile:
    """The module that is being checked."""
    assert isinstance(api, TypeChecker), "mypy has one checker"
    return api.tree


def imported(tree: MypyFile) -> Iterator[str]:
    """The names of the modules that a module imports directly; some may be names in modules."""
    for statement in tree.imports:
        if isinstance(statement, Import):
            yield from (name for name, _ in statement.ids)
        elif isinstance(statement, ImportFrom | ImportAll):
            base = statement.id
            if statement.relative:
                package = tree.fullname.split(".") + [""] * tree.is_package_init_file()
                stem = package[: len(package) - statement.relative]
                base = ".".join([*stem, statement.id] if statement.id else stem)
            yield base
            if isinstance(statement, ImportFrom):
                yield from (f"{base}.{name}" for name, _ in statement.names)


def watched(api: CheckerPluginInterface, names: Iterator[str]) -> list[MypyFile]:
    """The modules of these names; whoever is being checked now is checked again when one of them changes."""
    assert isinstance(api, TypeChecker), "mypy has one checker"
    found = [api.tree]
    for name in dict.fromkeys(names):
        module = api.modules.get(name)
        if module is None or module is api.tree:
            continue
        api.tree.plugin_deps.setdefault(make_wildcard_trigger(name), set()).add(api.tscope.current_target())
        api.module_refs.add(name)
        found.append(module)
    return found


@contextmanager
def outright(api: CheckerPluginInterface, where: Context) -> Generator[None]:
    """Report errors at once where mypy tries the method of an operator's left and then of its right side.

    Held back as mypy holds such an error, it would leave Any for the result, and strict settings a second error.
    """
    assert isinstance(api, TypeChecker), "mypy has one checker"
    held = _watchers(api)
    if not isinstance(where, OpExpr | OperatorAssignmentStmt) or not held:
        yield
        return
    trial = held.pop()
    try:
        yield
    finally:
        held.append(trial)


def failed(api: CheckerPluginInterface, text: str, where: Context, code: ErrorCode) -> None:
    """Report an error at once, whichever of several signatures mypy tries."""
    assert isinstance(api, TypeChecker), "mypy has one checker"
    watchers = _watchers(api)
    held = watchers[:]
    watchers.clear()
    try:
        api.fail(text, where, code=code)
    finally:
        watchers[:] = held


def retract(api: CheckerPluginInterface, where: Context, code: ErrorCode) -> None:
    """Take back mypy's own error of a code about an expression, in whose place there is a better one."""
    assert isinstance(api, TypeChecker), "mypy has one checker"
    errors = api.msg.errors
    held = [watcher._filtered for watcher in _watchers(api)]
    for said in (errors.error_info_map.get(errors.file), *held):
        if said is not None:
            said[:] = [e for e in said if (e.line, e.column, e.code) != (where.line, where.column, code)]


def _watchers(api: TypeChecker) -> list[ErrorWatcher]:
    """The watchers that hold errors back, the innermost last."""
    return api.msg.errors._watchers


def stored(api: CheckerPluginInterface, x: Expression) -> Type:
    """The type that an expression has had when it was last looked at; to look again costs twice for each level."""
    assert isinstance(api, TypeChecker), "mypy has one checker"
    return api.lookup_type_or_none(x) or api.get_expression_type(x)


def asked(
    api: CheckerPluginInterface,
    callee: Type | LambdaExpr,
    call: CallExpr | None,
    given: Sequence[Type],
    where: Context,
) -> Type:
    """Result of a function for arguments of these types; Misfit with the text of mypy's first error."""
    assert isinstance(api, TypeChecker), "mypy has one checker"
    kinds, names = [ARG_POS] * len(given), [None] * len(given)
    result: Type
    api.expr_checker.type_context.append(None)
    try:
        with api.msg.filter_errors(save_filtered_errors=True) as errors:
            if isinstance(callee, LambdaExpr):
                function = api.named_generic_type("builtins.function", [])
                # Any would be the dtype of the result
                anything = api.named_generic_type("builtins.object", [])
                wanted = CallableType(list(given), kinds, names, anything, function)
                api.expr_checker.accept(callee, wanted)
                result = api.lookup_type_or_none(callee.expr()) or AnyType(TypeOfAny.special_form)
            else:
                assert call is not None, "a function has a name"
                call.args[:] = [TempNode(t, context=where) for t in given]
                call.arg_kinds[:], call.arg_names[:] = kinds, names
                for x in call.args:
                    x.set_line(where)
                name = call.callee.fullname if isinstance(call.callee, RefExpr) else None
                result, _ = api.expr_checker.check_call(
                    callee, call.args, kinds, call, call.arg_names, callable_name=name or None
                )
    finally:
        api.expr_checker.type_context.pop()
    found = errors.filtered_errors()
    if found:
        raise Misfit(found[0].message)
    return result


_INSIDE: Final = (
    "args", "base", "body", "callee", "cond", "defs", "else_body", "else_expr", "expr", "finally_body", "func",
    "if_expr", "index", "items", "left", "right", "rvalue",
)  # fmt: skip


def lambda_at(api: CheckerPluginInterface, where: Context, place: str) -> LambdaExpr | None:
    """The lambda at a place `module:line:column` of the module that is being checked; None for another module's."""
    tree = tree_of(api)
    module, line, column = place.rsplit(":", 2)
    if module != tree.fullname:
        return None
    waiting: list[object] = [tree, where]
    while waiting:  # by attributes: mypy's visitors are compiled and have no subclasses
        x = waiting.pop()
        if isinstance(x, LambdaExpr) and (x.line, x.column) == (int(line), int(column)):
            return x
        if isinstance(x, list | tuple):
            waiting += x
        elif isinstance(x, Node):
            waiting += [getattr(x, name) for name in _INSIDE if hasattr(x, name)]
    return None


def noted(api: CheckerPluginInterface, text: str, where: Context, code: ErrorCode) -> None:
    """A note, which fails no check."""
    assert isinstance(api, TypeChecker), "mypy has one checker"
    api.msg.note(text, where, code=code)


def expected(api: CheckerPluginInterface) -> Type | None:
    """The type that the place of an expression asks of it."""
    assert isinstance(api, TypeChecker), "mypy has one checker"
    return api.expr_checker.type_context[-1]


def erased(t: Type) -> Type:
    """A type with Any for its type variables."""
    return erase_typevars(t)


def opened(t: Type) -> ProperType | None:
    """A type without the alias that it may be; None for a recursive alias, for those who go on into its parts."""
    if isinstance(t, TypeAliasType) and t.is_recursive:
        return None
    return get_proper_type(t)


def accepts(formal: Type, t: Type) -> bool:
    """Tell whether a parameter takes values of a type, whatever its type variables become."""
    proper = get_proper_type(formal)
    if isinstance(proper, UnionType):
        return any(accepts(item, t) for item in proper.items)
    if isinstance(proper, TypeVarType):
        return is_subtype(t, proper.upper_bound)
    given = get_proper_type(t)
    if isinstance(proper, Instance) and isinstance(given, Instance):
        whatever = all(isinstance(x, TypeVarType | AnyType) for x in proper.args)
        if whatever and given.type.has_base(proper.type.fullname):
            return True  # as of most operands, which mypy would compare part by part
    return is_subtype(t, erase_typevars(proper))


def mentioned(formal: Type, *names: str) -> Instance | None:
    """The class of one of these names among those that a parameter takes."""
    waiting = [formal]  # as `taken` goes, without a list of all: it is asked of each argument of each call
    while waiting:
        t = get_proper_type(waiting.pop())
        if isinstance(t, Instance):
            if t.type.fullname in names:
                return t
        elif isinstance(t, UnionType):
            waiting += t.items
        elif isinstance(t, TypeVarType):
            waiting.append(t.upper_bound)
    return None


def mentions(formal: Type, *names: str) -> list[Instance]:
    """The classes of these names among those that a parameter takes."""
    return [t for t in taken(formal) if t.type.fullname in names]


def taken(formal: Type) -> list[Instance]:
    """The classes that a parameter takes."""
    found, waiting = [], [formal]
    while waiting:
        t = get_proper_type(waiting.pop())
        if isinstance(t, Instance):
            found.append(t)
        elif isinstance(t, UnionType):
            waiting += t.items
        elif isinstance(t, TypeVarType):
            waiting.append(t.upper_bound)
    return found


def inferred(
    api: CheckerPluginInterface,
    signature: CallableType,
    given: Sequence[Sequence[Type]],
    missing: Type | None = None,
) -> CallableType:
    """A signature with its type variables replaced by what arguments of these types make of them.

    A variable that they leave open becomes its default, else `missing`; without either nothing is replaced.
    """
    assert isinstance(api, TypeChecker), "mypy has one checker"
    # a function that calls itself has its own variables in `given`
    fresh = freshen_function_type_vars(signature)
    types = [t for formal in given for t in formal]
    places = iter(range(len(types)))
    solved, _ = infer_function_type_arguments(
        fresh,
        types,
        [ARG_POS] * len(types),
        [None] * len(types),
        [[next(places) for _ in formal] for formal in given],
        api.expr_checker.argument_infer_context(),
        strict=False,
    )
    values: dict[TypeVarId, Type] = {}
    for variable, value in zip(fresh.variables, solved, strict=True):
        found = variable.default if value is None and variable.has_default() else value or missing
        if found is None:
            return signature
        if isinstance(variable, TypeVarType) and not is_subtype(found, erase_typevars(variable.upper_bound)):
            return signature  # mypy compares with the bound only where it applies what it infers
        values[variable.id] = missing if missing is not None and _is_never(found) else found
    made = expand_type(fresh, values)
    return changed(made, variables=[])


def member(api: CheckerPluginInterface, of: Type, name: str, where: Context) -> Type:
    """The type of an attribute; mypy refuses one that there is not."""
    assert isinstance(api, TypeChecker)
    return api.expr_checker.analyze_external_member_access(name, of, where)


def result_of(api: CheckerPluginInterface, callee: Type, given: Expression) -> Type:
    """Result of a call of a value with one argument, methods' hooks and errors included.

    Functions' hooks are left out: mypy finds them by the definition, which a type that comes from its cache has not.
    """
    assert isinstance(api, TypeChecker), "mypy has one checker"
    # without it, what the place wants of the last result would be asked of every one in between
    api.expr_checker.type_context.append(None)
    try:
        result, _ = api.expr_checker.check_call(callee, [given], [ARG_POS], given)
    finally:
        api.expr_checker.type_context.pop()
    return result


def result_of_all(
    api: CheckerPluginInterface,
    callee: Type,
    given: Sequence[tuple[Expression, ArgKind, str | None]],
    where: Context,
    name: str,
) -> Type:
    """Result of a call of a function of this full name, hooks and errors included."""
    assert isinstance(api, TypeChecker), "mypy has one checker"
    xs, kinds, names = ([x[i] for x in given] for i in range(3))
    known: dict[str, Any] = {"args": xs, "arg_kinds": kinds, "arg_names": names}  # Any: as zip has them
    result, _ = api.expr_checker.check_call(callee, context=where, callable_name=name, **known)
    return result


def as_partial(ctx: FunctionContext | MethodContext) -> Type:
    """mypy's own type of a `functools.partial`, or of a call of one."""
    return partial_call_callback(ctx) if isinstance(ctx, MethodContext) else partial_new_callback(ctx)


def as_replace(ctx: FunctionSigContext) -> CallableType:
    """mypy's own signature of a call of `dataclasses.replace`."""
    return replace_function_sig_callback(ctx)


def _is_never(t: Type) -> bool:
    return isinstance(get_proper_type(t), UninhabitedType)


def changed(signature: CallableType, **parts: object) -> CallableType:
    """A signature with other `arg_types`, `ret_type` or `variables`."""
    known: dict[str, Any] = parts  # Any: mypy marks the defaults of these by a type of its own
    return signature.copy_modified(**known)


def replaced(signature: CallableType, values: Mapping[TypeVarId, Type]) -> CallableType:
    """A signature with these values for type variables, which are no longer its own."""
    left = [v for v in signature.variables if v.id not in values]
    return expand_type(changed(signature, variables=left), dict(values))


def widened(formal: Type, by: Type) -> Type:
    """A parameter type that also takes another type."""
    return make_simplified_union([formal, by])


def shown(t: Type, options: Options) -> str:
    """A type as mypy's own messages show it, in quotation marks."""
    return format_type(t, options)


def formatted(call: Context) -> tuple[Expression, Expression] | None:
    """Value and form that an f-string shows: mypy reads `f"{x:.3f}"` as `"{:{}}".format(x, ".3f")`."""
    if not isinstance(call, CallExpr) or len(call.args) != 2 or not isinstance(call.callee, MemberExpr):
        return None
    text = call.callee.expr
    x, form = call.args
    if not isinstance(text, StrExpr) or text.value != "{:{}}":
        return None
    return None if isinstance(form, StrExpr) and not form.value else (x, form)


def differ(a: Type, b: Type) -> bool:
    """True if two stated types are not the same; of types with variables nothing is said."""
    return not (has_type_vars(a) or has_type_vars(b) or is_same_type(a, b))


def order_of(bases: Sequence[TypeInfo]) -> list[TypeInfo] | None:
    """The order of methods of a class with these bases; None where there is none."""
    definition = ClassDef("", Block([]))
    info = TypeInfo(SymbolTable(), definition, "")
    info.bases = [fill_typevars_with_any(base) for base in bases]  # type: ignore[misc] # of classes, so Instances
    try:
        calculate_mro(info)
    except MroError:
        return None
    return info.mro[1:]


def merged(
    api: CheckerPluginInterface,
    base: Instance,
    parts: Sequence[TypeInfo],
    kept: Mapping[str, dict[str, list[str]]],
) -> Instance:
    """The type of instances of a class of `parts` and the class of `base`, in which mypy keeps `kept`.

    Each module has its own, as with the classes that mypy makes where `isinstance` narrows. It has the variables of the
    class of `base`, and what both state is that one's.
    """
    own = [p for i, p in enumerate(parts) if not any(q.has_base(p.fullname) for q in parts[:i])]
    own = [p for p in own if not base.type.has_base(p.fullname)]
    if len(own) == 1 and not kept and own[0].has_base(base.type.fullname) and not own[0].type_vars:
        return Instance(own[0], [])
    tree = tree_of(api)
    made_of = {
        "of": [base.type.fullname, *(p.fullname for p in own)],
        **{k: [str(v)] for k, v in kept.items()},
    }
    if not own and not kept:
        return base
    name = ""
    for n in count(1):
        name = f"<{base.type.name} with {', '.join(p.name for p in own) or 'layers'}{f' ({n})' * (n > 1)}>"
        found = tree.names.get(name)
        if found is None:
            break
        if isinstance(found.node, TypeInfo) and found.node.metadata.get("wengert_merged") == made_of:
            return Instance(found.node, base.args)
    definition = ClassDef(name, Block([]))
    definition.fullname = f"{tree.fullname}.{name}"
    definition.type_vars = base.type.defn.type_vars
    info = definition.info = TypeInfo(SymbolTable(), definition, tree.fullname)
    whole = Instance(base.type, [*base.type.defn.type_vars])
    derived = any(p.has_base(base.type.fullname) for p in own)
    info.bases = [*([] if derived else [whole]), *(fill_typevars_with_any(p) for p in own)]  # type: ignore[list-item] # as above
    try:
        calculate_mro(info)
    except MroError:
        return base  # which the class statement has been told
    info.metaclass_type = info.calculate_metaclass_type()
    info.metadata.update({"wengert_merged": made_of, **kept})
    tree.names[name] = SymbolTableNode(GDEF, info, module_public=False, module_hidden=True)
    return Instance(info, base.args)
