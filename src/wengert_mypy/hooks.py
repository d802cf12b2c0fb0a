"""The table of hooks: what mypy asks the plugin about, and who answers.

Knows: which question about which name is whose; how mypy keeps the functions and classes that are called; the entries
`extensions` and `strict_shapes` of `[tool.wengert_mypy]` in pyproject.toml, `[wengert_mypy]` in mypy.ini and setup.cfg.
Refuses to know: rules, and how types are computed.
"""

from __future__ import annotations

import configparser
import tomllib
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

from mypy.nodes import (
    CallExpr,
    Decorator,
    FuncDef,
    MypyFile,
    OverloadedFuncDef,
    RefExpr,
    SymbolTableNode,
    TypeInfo,
    Var,
)
from mypy.options import Options
from mypy.plugin import (
    AnalyzeTypeContext,
    AttributeContext,
    ClassDefContext,
    FunctionContext,
    FunctionSigContext,
    MethodContext,
    MethodSigContext,
    Plugin,
    ReportConfigContext,
)
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    Overloaded,
    Type,
    TypeOfAny,
    get_proper_type,
)

from wengert_mypy import blocks
from wengert_mypy.advice import (
    EQUALITIES,
    LAZY_FUNCTIONS,
    REDUCTIONS,
    canary,
    checked_equality,
    checked_format,
    checked_lazy,
    of_numpy,
)
from wengert_mypy.answers import ANSWERS, QUESTIONS, attribute, trained
from wengert_mypy.arithmetic import ROOTS, real
from wengert_mypy.calls import Context, Rule
from wengert_mypy.checker import as_partial, imported, member
from wengert_mypy.dimensions import Writer, computed, dim_of, has_computed
from wengert_mypy.evidence import Registry
from wengert_mypy.hyperparameters import (
    CHECKS,
    dropout_layer,
    ordered,
    settings_made,
)
from wengert_mypy.losses import told
from wengert_mypy.merging import (
    MAKES,
    ambiguous,
    injected,
    is_injected,
    layers_of,
    remember_parts,
    undecided,
    unmergeable,
    weight_of,
    with_members,
)
from wengert_mypy.mixing import checked_array
from wengert_mypy.names import (
    ARRAY_OPERAND,
    COMPUTED,
    CUSTOM,
    DROPOUT,
    ELSEWHERE,
    EXPRESSION,
    FOLD,
    LAYER_PART,
    LIFT,
    LOSSES,
    MAKER,
    NDARRAY,
    NN,
    NUMPY_SCALAR,
    PLUGIN,
    PLUGIN_ACTIVE,
    SCALAR_OPERAND,
    SHAPE,
    SPLIT,
    WEIGHT_PART,
)
from wengert_mypy.networks import NETWORKS, REPLACE, refilled
from wengert_mypy.operations import FAMILY_RULES, FUNCTION_RULES, MEMBER_RULES, OPERATOR_RULES, stated
from wengert_mypy.partials import (
    FUNCTIONS,
    PARTIAL,
    TRANSFORM,
    completed,
    kept,
    of_lambda,
    of_transform,
    taken,
)
from wengert_mypy.registration import Signature, takes_expressions
from wengert_mypy.results import PARTS, called, parts, sharpened, split
from wengert_mypy.sequences import SEQUENCES
from wengert_mypy.sizes import has_sizes, sized
from wengert_mypy.symbolic import SignatureContext, solved, takes_computed
from wengert_mypy.wording import of_elsewhere, of_scalar, of_scalars, of_weights, refused, reworded
from wengert_shapes import rules

_NO_EXPRESSIONS: Final = frozenset(
    {"builtins", "typing", "typing_extensions", "numpy", "collections", "wengert_mypy"}
)
_LAYERS: Final = {**NETWORKS, **SEQUENCES}
_OF_ONE: Final = frozenset({"__pos__", "__neg__", "__abs__"})
_COMPARED: Final = (EXPRESSION, NDARRAY, NUMPY_SCALAR)  # numpy's compare with everything


class WengertPlugin(Plugin):
    """Shapes, registrations and advice for mypy, without a state of its own."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._extensions, self._strict = configured(options.config_file)
        self._configuration = [fingerprint(), *self._extensions, f"strict_shapes = {self._strict}"]
        self._registry = Registry(self, self._extensions)

    @property
    def version(self) -> str:
        """One text for the plugin's sources and configuration."""
        return " ".join(self._configuration)

    def report_config_data(self, ctx: ReportConfigContext) -> list[str]:
        """Dependencies of a cached answer besides the sources."""
        return self._configuration

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """Modules with expressions depend on the configured extensions, as if they imported them."""
        if file.fullname in self._extensions or file.fullname.partition(".")[0] in _NO_EXPRESSIONS:
            return []
        if not any(name.partition(".")[0] == "wengert" for name in imported(file)):
            return []
        return [(10, name, -1) for name in self._extensions]

    def get_type_analyze_hook(self, fullname: str) -> Callable[[AnalyzeTypeContext], Type] | None:
        return partial(self._annotated, fullname=fullname) if fullname in COMPUTED else None

    def get_function_signature_hook(
        self, fullname: str
    ) -> Callable[[FunctionSigContext], FunctionLike] | None:
        if fullname.startswith(REDUCTIONS):
            return of_numpy
        if fullname.partition(".")[0] in _NO_EXPRESSIONS:
            return None
        if fullname == PARTIAL:
            return partial(taken, known=self._is_operation)
        if fullname == REPLACE:
            return refilled
        if fullname in FUNCTIONS:
            return of_lambda
        if fullname == TRANSFORM:
            return of_transform
        symbol = self.lookup_fully_qualified(fullname)
        callee = type_of(symbol)
        if fullname in LOSSES:
            return partial(self._losing, callee=callee)
        if fullname.startswith(NN) and symbol is not None and isinstance(symbol.node, TypeInfo):
            made = "make" in symbol.node.names
            return partial(
                self._made, adapting=self._adapting(symbol, callee, lifts=False, own=False), made=made
            )
        own = fullname in FUNCTION_RULES
        return self._adapting(symbol, callee, lifts=fullname == LIFT, own=own) or (_reworded if own else None)

    def get_method_signature_hook(self, fullname: str) -> Callable[[MethodSigContext], FunctionLike] | None:
        if fullname.partition(".")[0] in _NO_EXPRESSIONS:
            return None
        class_name, _, method = fullname.rpartition(".")
        info = self._class(class_name)
        if info is None:
            return None
        if fullname.startswith(FOLD) and method in ("__rshift__", "__rrshift__"):
            return partial(blocks.joining, self, turned=method == "__rrshift__")
        if fullname == f"{FOLD}compiler.Compiler.create":
            return partial(blocks.compiled, self)
        if method == "__call__" and info.has_base(CUSTOM):
            return partial(self._adapted, all_of=None, lifts=False, own=False)
        if method == "__get__" and (class_name == ELSEWHERE or info.has_base(ELSEWHERE)):
            return of_elsewhere
        callee = type_of(info.get(method))
        own = info.has_base(EXPRESSION) or _family_rule(info) is not None
        if own and (method in OPERATOR_RULES or method == "__call__"):
            return self._adapter(callee, lifts=False, own=True)
        adapting = self._adapting(None, callee, lifts=False, own=own)
        if method == "train" and info.has_base(EXPRESSION):
            return partial(self._trains, adapting=adapting)
        return (
            partial(self._makes, adapting=adapting) if method in MAKES and info.has_base(MAKER) else adapting
        )

    def _makes(
        self, ctx: SignatureContext, adapting: Callable[[SignatureContext], FunctionLike] | None
    ) -> FunctionLike:
        # the arguments are by its places
        signature = ctx.default_signature if adapting is None else adapting(ctx)
        return with_members(ctx, signature, self._class)

    def _trains(
        self, ctx: MethodSigContext, adapting: Callable[[SignatureContext], FunctionLike] | None
    ) -> FunctionLike:
        signature = of_scalar(ctx)
        kept = adapting is None or signature is not ctx.default_signature
        return signature if kept or adapting is None else adapting(ctx)

    def _adapting(
        self, symbol: SymbolTableNode | None, callee: Type | None, lifts: bool, own: bool
    ) -> Callable[[SignatureContext], FunctionLike] | None:
        if lifts or takes_expressions(callee):
            return self._adapter(callee, lifts, own)
        variables = symbol.node.defn.type_vars if symbol and isinstance(symbol.node, TypeInfo) else []
        if isinstance(callee, CallableType):
            variables = [*variables, *callee.variables]
        wanted = takes_computed(callee) or (not own and has_sizes(variables))
        return partial(self._sized, adapted=None) if wanted else None

    def _made(
        self,
        ctx: SignatureContext,
        adapting: Callable[[SignatureContext], FunctionLike] | None,
        made: bool,
    ) -> FunctionLike:
        signature = of_weights(ctx) if made else ctx.default_signature
        return signature if adapting is None or signature is not ctx.default_signature else adapting(ctx)

    def _losing(self, ctx: SignatureContext, callee: Type | None) -> FunctionLike:
        signature = of_scalars(ctx)
        if signature is not ctx.default_signature:
            return signature
        return self._adapter(callee, lifts=False, own=False)(ctx)

    def _adapter(
        self, callee: Type | None, lifts: bool, own: bool
    ) -> Callable[[SignatureContext], FunctionLike]:
        """`own` operations compute no dimension in their signatures, and most calls are of these."""
        all_of = callee if isinstance(callee, Overloaded) else None
        adapted = partial(self._adapted, all_of=all_of, lifts=lifts, own=own)
        return adapted if own else partial(self._sized, adapted=adapted, whole=all_of is None)

    def _sized(
        self,
        ctx: SignatureContext,
        adapted: Callable[[SignatureContext], FunctionLike] | None,
        whole: bool = True,
    ) -> FunctionLike:
        """Of one overload of several no size is refused, for another may be meant."""
        writer = Writer(self, ctx.api.named_generic_type)
        if whole and has_sizes(ctx.default_signature.variables):
            ctx = ctx._replace(default_signature=sized(ctx, writer))
        if takes_computed(ctx.default_signature):
            ctx = ctx._replace(default_signature=solved(ctx, writer))
        return ctx.default_signature if adapted is None else adapted(ctx)

    def _adapted(
        self, ctx: SignatureContext, all_of: Overloaded | None, lifts: bool, own: bool
    ) -> FunctionLike:
        return Signature(self._registry, ctx, all_of, lifts, own).adapted()

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        rule = FUNCTION_RULES.get(fullname)
        if rule is not None and fullname in CHECKS:
            return partial(self._checked, name=fullname, rule=rule)
        if rule is not None:
            return partial(self._shaped, name=fullname.rpartition(".")[2], rule=rule)
        if fullname in _LAYERS:
            return partial(self._network, name=fullname)
        if fullname == LIFT:
            return partial(self._shaped, name="lift", rule=lambda call: call.shape(0))
        if fullname in QUESTIONS:
            return partial(QUESTIONS[fullname], self)
        if fullname == SPLIT:
            return partial(split, self)
        if fullname in PARTS:
            return partial(parts, self, name=fullname)
        if fullname in LAZY_FUNCTIONS:
            what, advice = LAZY_FUNCTIONS[fullname]
            return partial(checked_lazy, what=what, advice=advice, within=fullname != "builtins.bool")
        if fullname == PLUGIN_ACTIVE:
            return canary
        if fullname == DROPOUT:
            return dropout_layer
        if fullname == PARTIAL:
            return self._partial
        callee = self.lookup_fully_qualified(fullname)
        if callee is not None and isinstance(callee.node, TypeInfo) and callee.node.has_base(PLUGIN):
            return settings_made
        if fullname.startswith(FOLD) and callee is not None and isinstance(callee.node, TypeInfo):
            return partial(blocks.made, self)
        return self._if_computed(callee)

    def get_base_class_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        if self._is_a(fullname, PLUGIN):
            return partial(self._settings, base=fullname)
        part = next((base for base in (WEIGHT_PART, LAYER_PART) if self._is_a(fullname, base)), None)
        return None if part is None else partial(undecided, base=part)

    def _settings(self, ctx: ClassDefContext, base: str) -> None:
        ordered(ctx, base)
        remember_parts(ctx)
        if ctx.cls.info.bases and ctx.cls.info.bases[0].type.fullname == base:
            ambiguous(ctx)
            unmergeable(ctx, self._class)

    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        class_name, _, name = fullname.rpartition(".")
        if class_name in ANSWERS:
            return partial(attribute, self, name=name)
        if class_name.partition(".")[0] in _NO_EXPRESSIONS:
            return None
        info = self._class(class_name)
        if info is not None and info.has_base(PLUGIN) and is_injected(info, name):
            return partial(injected, lookup=self._class)
        if name == "weight" and info is not None and (class_name == MAKER or info.has_base(MAKER)):
            return _made_of_data
        found = info.get(name) if info is not None and info.is_generic() else None
        stated = found.node.type if found is not None and isinstance(found.node, Var) else None
        return self._attribute if has_computed(stated) else None

    def _attribute(self, ctx: AttributeContext) -> Type:
        return Writer(self, ctx.api.named_generic_type).normalised(ctx.default_attr_type)

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        if fullname in _LAYERS:
            return partial(self._network, name=fullname)
        if fullname == f"{PARTIAL}.__call__":
            return completed
        if fullname in ROOTS:
            return partial(real, self)
        if fullname.startswith(FOLD):
            return blocks.method_hook(self, fullname.rpartition(".")[2])
        if fullname == "builtins.str.format":
            return checked_format
        class_name, _, method = fullname.rpartition(".")
        info = self._class(class_name)
        return None if info is None else self._of_class(info, method)

    def _of_class(self, info: TypeInfo, method: str) -> Callable[[MethodContext], Type] | None:
        if method in OPERATOR_RULES:
            if info.has_base(ARRAY_OPERAND) or info.has_base(SCALAR_OPERAND):
                name, rule = OPERATOR_RULES[method]
                return partial(self._shaped, name=name, rule=rule)
            return checked_array if info.fullname == NDARRAY else None
        if method in _OF_ONE and info.has_base(EXPRESSION):
            return lambda ctx: layers_of(ctx, ctx.default_return_type, self._class)
        if info.fullname == NDARRAY and method.replace("__i", "__", 1) in OPERATOR_RULES:
            return checked_array
        if method in EQUALITIES and any(info.has_base(base) for base in _COMPARED):
            return partial(checked_equality, advice=EQUALITIES[method])
        if method == "train" and info.has_base(EXPRESSION):
            return partial(trained, self)
        family = _family_rule(info) if method == "__call__" else None
        if family is not None:
            return partial(self._member, rule=family)
        if method in MAKES and info.has_base(MAKER):
            return partial(self._weight, method=method)
        return self._if_computed(info.get(method))

    def _weight(self, ctx: MethodContext, method: str) -> Type:
        made = ctx.default_return_type
        if method in ("array_weight", "buffer"):
            made = self._shaped(ctx, name=method, rule=lambda call: stated(call, "dims"))
        return made if method == "buffer" else weight_of(ctx, made, self._class)

    def _member(self, ctx: MethodContext, rule: Rule) -> Type:
        callee = ctx.context.callee if isinstance(ctx.context, CallExpr) else None
        fullname = callee.fullname if isinstance(callee, RefExpr) else ""
        return self._shaped(ctx, called(ctx, "operation"), MEMBER_RULES.get(fullname, rule))

    def _shaped(self, ctx: Context, name: str, rule: Rule) -> Type:
        if refused(ctx):
            return ctx.default_return_type
        return layers_of(ctx, self._told(ctx, name, sharpened(self, ctx, name, rule)), self._class)

    def _told(self, ctx: Context, name: str, result: Type) -> Type:
        if self._strict:
            told(ctx, name, result, self._is_operation)
        return result

    def _network(self, ctx: Context, name: str) -> Type:
        called = name.removesuffix(".__call__").rpartition(".")[2]
        return layers_of(ctx, self._told(ctx, called, _LAYERS[name](self, ctx)), self._class)

    def _is_operation(self, fullname: str, t: Type) -> bool:
        t = get_proper_type(t)
        return fullname in FUNCTION_RULES or (isinstance(t, Instance) and _family_rule(t.type) is not None)

    def _partial(self, ctx: FunctionContext) -> Type:
        made = kept(self, ctx, self._is_operation)
        return as_partial(ctx) if made is None else made

    def _checked(self, ctx: FunctionContext, name: str, rule: Rule) -> Type:
        CHECKS[name](ctx)
        return self._shaped(ctx, name.rpartition(".")[2], rule)

    def _if_computed(self, callee: SymbolTableNode | None) -> Callable[[Context], Type] | None:
        return self._computed if gives_computed(callee) else None

    def _computed(self, ctx: Context) -> Type:
        return Writer(self, ctx.api.named_generic_type).normalised(ctx.default_return_type)

    def _annotated(self, ctx: AnalyzeTypeContext, fullname: str) -> Type:
        """Add, Mul and FloorDiv in an annotation, in the order that results have."""
        if len(ctx.type.args) != 2:
            ctx.api.fail(
                f"{fullname} takes two dimensions, as in Add[Width, Literal[1]]", ctx.context, code=SHAPE
            )
            return AnyType(TypeOfAny.from_error)
        writer = Writer(self, ctx.api.named_type)
        a, b = (ctx.api.analyze_type(t) for t in ctx.type.args)
        dim = computed(fullname, dim_of(a), dim_of(b))
        return writer.computed(fullname, a, b) if dim is None else writer.dim_type(dim)

    def _class(self, fullname: str) -> TypeInfo | None:
        found = self.lookup_fully_qualified(fullname)
        return found.node if found is not None and isinstance(found.node, TypeInfo) else None

    def _is_a(self, fullname: str, base: str) -> bool:
        info = self._class(fullname)
        return info is not None and info.has_base(base)


def _made_of_data(ctx: AttributeContext) -> Type:
    """`settings.weight`: that of a class is its part, that of an object makes weights of a user's data."""
    settings = get_proper_type(ctx.type)
    if not isinstance(settings, Instance) or ctx.is_lvalue or not settings.type.has_base(MAKER):
        return ctx.default_attr_type
    return member(ctx.api, settings, "data_weight", ctx.context)


def _reworded(ctx: SignatureContext) -> FunctionLike:
    """Of an operation that takes a list of operands, only keywords are looked at."""
    return reworded(ctx) or ctx.default_signature


def _family_rule(info: TypeInfo) -> Rule | None:
    """The rule of the family that a class belongs to."""
    return next((r for b in info.mro if (r := FAMILY_RULES.get(b.fullname))), None)


def type_of(symbol: SymbolTableNode | None) -> Type | None:
    """Its type, where it is stated; of a class that of `__init__`."""
    if symbol is not None and isinstance(symbol.node, TypeInfo):
        symbol = symbol.node.get("__init__")
    node = None if symbol is None else symbol.node
    if isinstance(node, Decorator):
        node = node.var
    found = node.type if isinstance(node, FuncDef | OverloadedFuncDef | Var) else None
    return None if found is None else get_proper_type(found)


def gives_computed(symbol: SymbolTableNode | None) -> bool:
    """Tell whether a function's result mentions a dimension that is computed from its arguments'."""
    node = None if symbol is None else symbol.node
    if isinstance(node, Decorator):
        node = node.func
    return (
        isinstance(node, FuncDef) and isinstance(node.type, CallableType) and has_computed(node.type.ret_type)
    )


SECTION = "wengert_mypy"


def fingerprint() -> str:
    """The plugin's own sources and its rules in short: mypy looks at one file of a plugin only, and keeps answers."""
    made = sha256()
    for home in (Path(__file__).parent, Path(rules.__file__).parent):
        for path in sorted(home.glob("*.py")):
            made.update(path.read_bytes())
    return made.hexdigest()[:16]


def configured(config_file: str | None) -> tuple[tuple[str, ...], bool]:
    """The configured extension modules and `strict_shapes`; ValueError where an entry is something else."""
    if not config_file or not Path(config_file).is_file():
        return (), False
    if config_file.endswith(".toml"):
        with Path(config_file).open("rb") as file:
            section = tomllib.load(file).get("tool", {}).get(SECTION, {})
        given, strict = section.get("extensions", []), section.get("strict_shapes", False)
    else:
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(config_file, encoding="utf-8")
        given = parser.get(SECTION, "extensions", fallback="").replace(",", " ").split()
        strict = parser.getboolean(SECTION, "strict_shapes", fallback=False)
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise ValueError(
            f'{config_file}: `extensions` of [{SECTION}] is a list of modules, as ["a.b"]; got {given!r}'
        )
    if not isinstance(strict, bool):
        raise ValueError(f"{config_file}: `strict_shapes` of [{SECTION}] is true or false; got {strict!r}")
    return tuple(given), strict
