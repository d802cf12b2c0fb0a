"""Traversal of the nodes below some roots, each once and without recursion, and their groups as a region.

Knows: that a part of what a cell gave is no node but a column of that cell; which values are given; that what was
there before a run, and is read by what is new, may be kept by somebody, with all that is below it, and is traversed
once; that such subgraphs cost more than they save where they have much in common; that nodes whose signatures differ
only in literals in place of nodes are one group, as a start state of zeros does not split a chain; that kinds which
only a run tells follow from what binds have given. A region does not depend on what was met and what was in subgraphs.
Refuses to know: which nodes run together, schedules, and values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from wengert.arrays.places import (
    Places,
    argsort,
    ascending,
    concatenate,
    cumulated,
    flags,
    places,
    span,
    starts_of_runs,
)
from wengert.arrays.rows import joined_rows, taken
from wengert.errors import WengertError
from wengert.graph.kinds import Column, Kind, Role, with_role
from wengert.graph.node import Expression, Node
from wengert.graph.operand import LITERAL, found_kind
from wengert.graph.operation import UNRESOLVED, Signature, exactly
from wengert.graph.template import PART, CellSignature
from wengert.run.batching.execution import Known
from wengert.run.batching.ragged import of_any_size, sized_cell
from wengert.run.batching.region import (
    BITS,
    MASK,
    Group,
    GroupForm,
    Literals,
    Name,
    Region,
    RowSource,
    Subgraph,
    form_of,
    result_kinds,
    stackable,
    unpacked,
)

_APART: Final = 1 << 40  # numbers from here on stand for the last nodes of subgraphs
_SLACK: Final = 1000  # nodes that subgraphs may have in common besides
_FEWEST: Final = 3  # nodes of a subgraph: fewer make no chain, and cost less than joining arrays
_Given: TypeAlias = list[tuple[Any, ...]]  # Any: operands, as in `Node`
_CodeOf: TypeAlias = Callable[[Node], int | None]  # of a node that may be kept; None: look below it
Roles: TypeAlias = tuple[int, ...]  # of operands
_FIRST: Final = -(1 << 62)  # below all serials: literals that stand where other calls have nodes
_NONE: Final = places([])
_NOTHING: Final = GroupForm(RowSource.GIVEN, (), (), (), (), ())
NO_SUBGRAPH: Final = Subgraph(_NONE, [], _NONE, _NONE, [], (), _NONE)  # of a node that is to have none


def region_of(roots: Sequence[Node], known: Known | None = None, before: int = 0) -> Region:
    """The nodes below `roots`; one that is `known` is a given value, and nothing below it is looked at.

    A node whose serial is not above `before` may be kept by somebody.
    """
    met, subgraphs = _Traversal(known), _Subgraphs()
    met.visit(roots, before if known is None else 0, subgraphs.code)
    met.resolve()
    found = _Groups(met, subgraphs).region()
    subgraphs.check(found.size)
    return found


# -- nodes, one by one ------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _Info:
    """A signature as the traversal needs it, and the nodes that it finds."""

    form: GroupForm
    rows: tuple[int, ...]  # operands that are values of nodes
    part: int  # which result of a cell it is; -1 for none
    cell: bool  # whether its results are columns
    numbers: list[int]  # of its nodes
    operands: _Given = field(default_factory=list)  # of these
    refs: list[int] = field(default_factory=list)  # codes of their operands, node by node

    def sort(self, serials: Sequence[int]) -> None:
        """Have the nodes in the order of their serials, which are given by number."""
        width, numbers, operands, refs = len(self.rows), self.numbers, self.operands, self.refs
        order = sorted(range(len(operands)), key=lambda at: serials[numbers[at]])
        self.numbers = [numbers[at] for at in order]
        self.operands = [operands[at] for at in order]
        self.refs = [ref for at in order for ref in refs[at * width : (at + 1) * width]]


class _Summit(NamedTuple):
    """The reader of all roots, newer than any node."""

    operands: tuple[Node, ...]
    serial: int = sys.maxsize


class _Traversal:
    """`nodes` by number as they are met, and their `codes`."""

    def __init__(self, known: Known | None = None) -> None:
        self.known = known  # None: nothing
        self.nodes: list[Any] = []  # Any: nodes of every kind
        self.serials: list[int] = []  # theirs: read while a node is at hand
        self.codes: dict[Expression, int] = {}
        self.infos: dict[Signature, _Info] = {}
        self.given: dict[Kind, list[int]] = {}  # numbers of given values, by kind

    def info(self, signature: Signature) -> _Info:
        """The info of a signature, made when its first node is met."""
        found = self.infos.get(signature)
        if found is not None:
            return found
        form = form_of(signature)
        part = signature.attributes[0][1] if signature.operation is PART else -1
        literal = signature.operation is LITERAL
        numbers = self.given.setdefault(signature.kind, []) if literal else []
        cell = form.source in (RowSource.CELL, RowSource.OPEN)
        found = self.infos[signature] = _Info(form, form.rows, part, cell, numbers)
        return found

    def visit(self, roots: Sequence[Node], before: int = 0, kept: _CodeOf | None = None) -> None:
        """Number all below the roots; `kept` may give the code of an old node (`before`) that a newer one reads."""
        known, infos, nodes, codes, serials = self.known, self.infos, self.nodes, self.codes, self.serials
        columns: dict[Expression, int] = {}  # codes of cells whose results are columns
        start = _Info(_NOTHING, tuple(range(len(roots))), -1, False, [])
        # Any: as in `nodes`; with the info of its signature, or None for a given value
        stack: list[tuple[int, Any, _Info | None]] = [(-1, _Summit((*roots,)), start)]
        # One loop: a call an operand takes as long as all the rest. Depth first: neighbours are near in memory.
        while stack:
            number, node, info = stack.pop()
            if info is None:
                self.given.setdefault(self._kind_given(node), []).append(number)
                continue
            info.numbers.append(number)
            info.operands.append(operands := node.operands)
            refs = info.refs
            limit = before if before and node.serial > before else 0
            for i in info.rows:
                x = operands[i]
                signature = x.signature
                try:
                    of = infos[signature]
                except KeyError:
                    of = self.info(signature)
                part = of.part
                if part >= 0 and (known is None or not (x in known or x.operands[0] in known)):
                    cell = x.operands[0]
                    code = columns.get(cell)
                    if code is None:
                        of_cell = infos.get(cell.signature) or self.info(cell.signature)
                        if of_cell.cell:
                            if limit and kept is not None and cell.serial <= limit:
                                code = kept(cell)
                            if code is None:
                                stack.append((new := len(nodes), cell, of_cell))
                                code = new << BITS
                                nodes.append(cell)
                                serials.append(cell.serial)
                            columns[cell] = code
                    if code is not None:
                        refs.append(code | part)
                        continue
                code = codes.get(x)
                if code is None:
                    if limit and kept is not None and x.serial <= limit:
                        code = kept(x)
                    if code is None:
                        new = len(nodes)
                        code = new << BITS
                        nodes.append(x)
                        serials.append(x.serial)
                        if known is not None and x in known:
                            stack.append((new, x, None))
                        elif of.rows:
                            stack.append((new, x, of))
                        else:  # it reads no node
                            of.numbers.append(new)
                            of.operands.append(x.operands)
                    codes[x] = code
                refs.append(code)
        codes |= columns

    def _kind_given(self, x: Node) -> Kind:
        """The kind of what is known, be it known from its value only."""
        of = x.kind
        if of.known or self.known is None or x not in self.known:
            return of
        return found_kind(of, self.known[x])

    def resolve(self) -> None:
        """Find the signatures of nodes whose kinds were open when they were made."""
        open_ = [(s, info) for s, info in self.infos.items() if s.mode == UNRESOLVED and info.numbers]
        nodes = []
        for _, info in open_:
            width = len(info.rows)
            for at, number in enumerate(info.numbers):
                operands = info.refs[at * width : (at + 1) * width]
                nodes.append((number, self.nodes[number], operands))
            info.numbers.clear()
            info.operands.clear()
            info.refs.clear()
        found = self._resolved(nodes)
        for number, node, codes in nodes:
            info = self.info(found.get(number, node.signature))
            if not info.cell and form_of(node.signature).source is RowSource.OPEN:
                info = self.info(node.signature)  # it has columns, of which nobody else would know
            info.numbers.append(number)
            info.operands.append(node.operands)
            info.refs.extend(codes)  # what becomes known of an operand does not make it another one

    def _resolved(self, nodes: list[tuple[int, Node, list[int]]]) -> dict[int, Signature]:
        """The signatures, by number, of nodes whose kinds are now known, each given with its operands' codes."""
        found: dict[int, Signature] = {}
        for number, node, codes in sorted(nodes, key=lambda one: one[1].serial):
            signature = node.signature
            rows = iter(codes)
            kinds = []
            for index, of in enumerate(signature.kinds):
                own = index in signature.nodes and isinstance(node.operands[index], Node)
                code = next(rows) if own else -1
                kinds.append(self._kind_at(code, found) if own and not of.known else of)
            if not all(of.known for of in kinds):
                continue
            try:
                made = signature.operation.signature(tuple(kinds), signature.attributes)
            except WengertError:
                continue  # it fails by itself, where it can say on what
            if made.mode != UNRESOLVED:
                found[number] = made
        return found

    def _kind_at(self, code: int, found: Mapping[int, Signature]) -> Kind:
        """The kind of the value at a code, if that of the node is known or has been found."""
        number = code >> BITS
        made = found.get(number, self.nodes[number].signature)
        several = isinstance(made, CellSignature) and not made.template.single
        if several or number in found:
            return result_kinds(made)[code & MASK]
        return self._kind_given(self.nodes[number])

    def parts(self, signature: Signature, info: _Info) -> Iterator[Group]:
        """The nodes of one signature, apart by the weights that they are given."""
        operands = info.operands
        numbers = places(info.numbers)
        refs = places(info.refs).reshape(len(numbers), -1)
        columns = [[*map(id, map(itemgetter(i), operands))] for i in info.form.weights]
        if all(len({*column}) == 1 for column in columns):
            yield self._part(signature, numbers, refs, operands)
            return
        apart: dict[object, list[int]] = {}
        for at, name in enumerate(zip(*columns, strict=True)):
            apart.setdefault(name, []).append(at)
        for several in apart.values():
            these = places(several)
            yield self._part(signature, numbers[these], refs[these], [operands[at] for at in several])

    def _part(self, signature: Signature, numbers: Places, refs: Places, operands: _Given) -> Group:
        form, first = form_of(signature), self.nodes[numbers.item(0)]
        weights = tuple([operands[0][i] for i in form.weights])
        literals = tuple([Literals([given[i] for given in operands]) for i in form.literals])
        return Group(
            form, signature, weights, numbers, refs, _NONE, [], [literals], (first.code, first.offset)
        )


# -- subgraphs of nodes that are kept ---------------------------------------------------------------


class _Subgraphs:
    """The subgraphs that one region is made of."""

    def __init__(self) -> None:
        self.used: list[Subgraph] = []
        self.size = 0  # of all together
        self._owners: list[Node] = []
        self._made = 0
        self._met: set[int] = set()  # serials of nodes in subgraphs that were made now

    def code(self, x: Node) -> int | None:
        """The code of a node that may be kept; None if it has no subgraph."""
        if x.signature.operation is LITERAL:
            return None
        found: Subgraph | None = getattr(x, "_block", None)
        if found is None:
            found = x._block = self._new(x)
        if found is NO_SUBGRAPH:
            return None
        self.used.append(found)
        self._owners.append(x)
        self.size += len(found.serials)
        return (_APART + len(self.used) - 1) << BITS

    def check(self, distinct: int) -> None:
        """From now on do without these subgraphs if most of their nodes are in several of them."""
        if self.size > 2 * distinct + _SLACK:
            for owner in self._owners:
                owner._block = NO_SUBGRAPH

    def _new(self, owner: Node) -> Subgraph:
        if self._made > 2 * len(self._met) + _SLACK:
            return NO_SUBGRAPH
        made = _subgraph_of(owner)
        if len(made.serials) < _FEWEST:
            return NO_SUBGRAPH
        self._made += len(made.serials)
        self._met.update(made.serials.tolist())
        return made


def _subgraph_of(owner: Node) -> Subgraph:
    met = _Traversal()
    met.visit([owner])
    infos = [(signature, info) for signature, info in met.infos.items() if info.numbers]
    if any(info.form.source in (RowSource.ALONE, RowSource.OPEN) for _, info in infos):
        return NO_SUBGRAPH
    serials = places(met.serials)
    order = argsort(serials)
    ranks = argsort(order)
    parts: list[Group] = []
    for signature, info in infos:
        if signature.operation is not LITERAL:
            info.sort(met.serials)  # so that whatever has several subgraphs in turn need not
            parts += met.parts(signature, info)
    given = [
        (of, ranks[places(numbers)], [met.nodes[number].operands[0] for number in numbers])
        for of, numbers in met.given.items()
    ]
    arrays = [x for part in parts for x in (ranks[part.members], _recoded(part.refs, ranks).reshape(-1))]
    packed, sizes = concatenate(arrays), places([len(x) for x in arrays])
    parts = [replace(part, members=_NONE, refs=_NONE) for part in parts]
    leads = packed[cumulated(sizes)[:-1:2]]
    return Subgraph(serials[order], parts, packed, sizes, given, tuple([part.name for part in parts]), leads)


def _recoded(codes: Places, ranks: Places) -> Places:
    """Codes with other numbers, given by number."""
    found: Places = (ranks[codes >> BITS] << BITS) | (codes & MASK)
    return found


# -- groups -----------------------------------------------------------------------------------------


class _Groups:
    """The groups of one region: from the nodes that were met, and subgraphs of those that were not."""

    def __init__(self, met: _Traversal, subgraphs: _Subgraphs) -> None:
        self.met = met
        used = subgraphs.used
        order = sorted(range(len(used)), key=lambda at: int(used[at].serials[-1]))
        self.subgraphs = [used[at] for at in order]
        self.serials = [places(met.serials), *[subgraph.serials for subgraph in self.subgraphs]]
        *self.firsts, self.next = accumulate(
            map(len, self.serials)
        )  # what each subgraph's numbers count from
        self.lasts = _NONE  # numbers of the last nodes of subgraphs, as these were met
        if used:
            self.lasts = flags(len(order), 0)
            self.lasts[order] = places([*self.firsts[1:], self.next]) - 1
        self.families: dict[tuple[Name, ...], list[int]] = {}  # subgraphs that have the same names
        for at, subgraph in enumerate(self.subgraphs):
            self.families.setdefault(subgraph.names, []).append(at)
        self.parts: dict[Signature, list[Group]] = {}
        self.given: dict[Kind, list[tuple[Places, list[Any]]]] = {}  # Any: numbers, and values or nodes
        self.added: dict[int, int] = {}  # numbers of literals that are rows, by identity
        self._take_met()
        self._take_subgraphs()
        self.literal: Places | None = None  # of each number, whether it is a literal's

    def _take_met(self) -> None:
        met = self.met
        for of, numbers in met.given.items():
            if numbers:
                self.given[of] = [(places(numbers), [_value(met.nodes[number]) for number in numbers])]
        for signature, info in met.infos.items():
            if info.numbers and signature.operation is not LITERAL:
                parts = self.parts[signature] = [*met.parts(signature, info)]
                for part in parts if self.subgraphs else ():
                    apart = part.refs >= _APART << BITS
                    codes = part.refs[apart]
                    if len(codes):  # with the numbers that the last nodes of subgraphs have here
                        part.refs[apart] = (self.lasts[(codes >> BITS) - _APART] << BITS) | (codes & MASK)

    def _take_subgraphs(self) -> None:
        for family in self.families.values():
            several, firsts = [self.subgraphs[at] for at in family], [self.firsts[at] for at in family]
            alike = zip(*[subgraph.parts for subgraph in several], strict=True)
            for parts, (numbers, refs) in zip(alike, unpacked(several, firsts), strict=True):
                literals = [piece for part in parts for piece in part.literals]
                part = replace(parts[0], members=numbers, refs=refs, literals=literals)
                assert part.signature is not None, "it is of nodes"
                self.parts.setdefault(part.signature, []).append(part)
        for subgraph, first in zip(self.subgraphs, self.firsts, strict=True):
            for of, numbers, values in subgraph.given:
                self.given.setdefault(of, []).append((numbers + first, values))

    def region(self) -> Region:
        """The region, its nodes numbered by serial and none of them twice."""
        merged = self._merged()
        forms = {signature: parts[0].form for signature, parts in self.parts.items()}
        names: dict[Name, tuple[Signature, list[Group]]] = {}
        for signature, parts in self.parts.items():
            target = merged.get(signature, signature)
            form = forms[target]
            for part in parts:
                if target is not signature and form.rows != part.form.rows:
                    part = self._widened(part, form)
                key = (target, *map(id, part.weights))
                names.setdefault(key, (target, []))[1].append(part)
        added = span(_FIRST, _FIRST + len(self.added))
        serials = concatenate([*self.serials, added])
        order, serials = _in_order(serials, len(self.met.serials))
        starts = starts_of_runs(serials)
        ranks = flags(len(order), 0)
        several = len(starts) < len(ranks)
        if several:
            new = flags(len(order), 0)
            new[starts] = 1
            ranks[order] = new.cumsum() - 1
            serials, order = serials[starts], order[starts]
        else:
            ranks[order] = span(0, len(order))
        groups = [_given_group(of, pieces, ranks) for of, pieces in self.given.items()]
        for several_of in _in_families(names):
            groups.append(_group_of([(target, forms[target], parts) for target, parts in several_of], ranks))
        if several:
            for group in groups:
                new = starts_of_runs(group.members)
                if len(new) < len(group.members):
                    group.keep(new)
        groups.sort(key=lambda group: int(group.members[0]))
        complete, met = not self.subgraphs, self.met
        return Region(serials, groups, met.codes, order, ranks, met.nodes, complete, subgraphs=self.subgraphs)

    def _merged(self) -> dict[Signature, Signature]:
        """For each signature that another one can stand for, that one: they differ only in where literals stand."""
        alike: dict[object, list[Signature]] = {}
        for signature in self.parts:
            alike.setdefault((signature.operation, signature.kind), []).append(signature)
        families: dict[_Family, list[Signature]] = {}
        for signature in [s for several in alike.values() if len(several) > 1 for s in several]:
            families.setdefault(_family(signature)[0], []).append(signature)
        found: dict[Signature, Signature] = {}
        for family in families.values():
            family.sort(key=_rank, reverse=True)
            for narrow in family if len(family) > 1 else ():
                for wide in family:
                    differing = _differing(_family(wide)[1], _family(narrow)[1])
                    if wide is not narrow and differing is not None and self._all_literal(narrow, differing):
                        found[narrow] = wide
                        break
        return found

    def _all_literal(self, signature: Signature, indices: Sequence[int]) -> bool:
        """True if all nodes of a signature have literals at these operands."""
        indices = [i for i in indices if signature.kinds[i].role is not Role.LITERAL]
        if self.literal is None:
            self.literal = flags(self.next)
            for pieces in self.given.values():
                for numbers, values in pieces:
                    self.literal[numbers] = not any(isinstance(x, Node) for x in values)
        several = self.parts[signature]
        at = [several[0].form.rows.index(i) for i in indices]
        return all(self.literal[part.refs[:, at] >> BITS].all() for part in several)

    def _widened(self, part: Group, form: GroupForm) -> Group:
        """The part with rows in place of literals where others have nodes."""
        own, columns = part.form, []
        assert part.signature is not None, "it is of nodes"
        for i in form.rows:
            if i in own.rows:
                columns.append(part.refs[:, own.rows.index(i)])
            else:
                at = own.literals.index(i)
                literals = [x for each in part.literals for x in each[at].values]
                columns.append(self._rows(literals, part.signature.kinds[i]))
        left = [own.literals.index(i) for i in form.literals]
        return replace(
            part,
            form=form,
            refs=concatenate(columns).reshape(len(columns), -1).T,
            literals=[tuple([each[at] for at in left]) for each in part.literals],
        )

    def _rows(self, values: Sequence[Any], of: Kind) -> Places:  # Any: arrays
        codes, new = [], []
        for x in values:
            number = self.added.get(id(x))
            if number is None:
                number = self.added[id(x)] = self.next + len(self.added)
                new.append((number, x))
            codes.append(number << BITS)
        if new:
            numbers, given = zip(*new, strict=True)
            self.given.setdefault(of, []).append((places(numbers), [*given]))
        return places(codes)


class _Family:
    """Signatures that are equal but for the roles of operands."""

    __slots__ = ("__weakref__",)


_families: Final[WeakValueDictionary[object, _Family]] = WeakValueDictionary()  # by all that is equal


def _family(signature: Signature) -> tuple[_Family, Roles]:
    """The family of a signature, and the roles of its operands, found once."""
    try:
        found: tuple[_Family, Roles] = signature.alike
    except AttributeError:
        captured = tuple(map(id, signature.template.captured)) if isinstance(signature, CellSignature) else ()
        own = (signature.operation, exactly(signature.attributes), signature.kind, captured)
        family = _families.setdefault((*own, *map(_data, signature.kinds)), _Family())
        found = signature.alike = family, tuple([int(k.role) for k in signature.kinds])
    return found


@lru_cache(maxsize=1024)
def _differing(wide: Roles, narrow: Roles) -> Sequence[int] | None:
    """The operands with which the wide one can stand for the narrow one if they are literals there; None: never."""
    found = [i for i, (a, b) in enumerate(zip(wide, narrow, strict=True)) if a != b]
    return found if all(narrow[i] < wide[i] <= Role.LAYER for i in found) else None


def _data(of: Kind) -> object:
    if of.role in (Role.WEIGHT, Role.BUFFER) or not stackable(of) or of.column is Column.NUMBER:
        return of
    return with_role(of, Role.CONSTANT)


def _rank(signature: Signature) -> tuple[int, Roles]:
    """The number of operands that may be nodes; of equals, an order that does not depend on which was met first."""
    roles = _family(signature)[1]
    return sum(roles), roles


def _in_order(serials: Places, met: int) -> tuple[Places, Places]:
    """The order of serials, and they in it; subgraphs are in order, behind `met` nodes, mostly newer."""
    order = argsort(serials[:met])
    if len(order) < len(serials):
        order = concatenate([span(met, len(serials)), order])
    if len(order) > met and not ascending(serials[order]):
        order = argsort(serials)
    return order, serials[order]


def _value(x: Node) -> Any:  # Any: a literal, or a node whose value is known
    return x.operands[0] if x.signature.operation is LITERAL else x


def _given_group(of: Kind, pieces: list[tuple[Places, list[Any]]], ranks: Places) -> Group:
    members = ranks[concatenate([numbers for numbers, _ in pieces])]
    order = argsort(members)
    given = [x for _, values in pieces for x in values]
    refs = places([]).reshape(len(members), 0)
    form = GroupForm(RowSource.GIVEN, (), (), (), (), (of,))
    return Group(form, None, members=members[order], refs=refs, order=order, given=given)


_Named: TypeAlias = tuple[Signature, list[Group]]


def _in_families(names: Mapping[Name, _Named]) -> Iterator[list[_Named]]:
    """Nodes by name; those of several names of one family, which differ in sizes, together."""
    families: dict[object, list[_Named]] = {}
    for name, named in names.items():
        is_cell = named[1][0].form.source is RowSource.CELL
        sized = sized_cell(named[0]) if is_cell else None
        families.setdefault(name if sized is None else (sized.family, name[1:]), []).append(named)
    yield from families.values()


def _group_of(several: Sequence[tuple[Signature, GroupForm, list[Group]]], ranks: Places) -> Group:
    """One group; of several signatures, which are of one family, as one cell for examples of unlike sizes."""
    signature, form, first = several[0]
    if len(several) == 1:
        return _group(signature, form, first, ranks)
    form = of_any_size(signature, form)
    group = _group(signature, form, [part for _, _, parts in several for part in parts], ranks)
    group.signatures = [s for s, _, parts in several for part in parts for _ in range(len(part.members))]
    return group


def _group(signature: Signature, form: GroupForm, parts: Sequence[Group], ranks: Places) -> Group:
    several = len(parts) > 1
    members = ranks[concatenate([part.members for part in parts]) if several else parts[0].members]
    refs = _recoded(joined_rows([part.refs for part in parts]) if several else parts[0].refs, ranks)
    order = span(0, len(members))
    if not ascending(members):
        order = argsort(members)
        members, refs = members[order], taken(refs, order)
    literals = [each for part in parts for each in part.literals]
    return Group(form, signature, parts[0].weights, members, refs, order, literals=literals, at=parts[0].at)
