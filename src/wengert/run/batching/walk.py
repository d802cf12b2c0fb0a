"""One pass over the nodes below some roots, which sees each of them once (S8: without recursion).

Knows: that a part of what a cell gave is no node but a column of that cell; which values are given; that what was
there before, and is read by what is new, may be kept by somebody, with all that is below it.
Refuses to know: what is made of the nodes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from wengert.graph.kinds import Kind
from wengert.graph.node import Expression, Node
from wengert.graph.operand import LITERAL, found_kind
from wengert.graph.operation import UNRESOLVED, Signature
from wengert.graph.template import CellSignature
from wengert.run.batching.form import Form, Way, form_of
from wengert.run.batching.record import BITS, MASK
from wengert.run.batching.resolving import resolved
from wengert.run.batching.rules import result_kinds
from wengert.run.cell import PART
from wengert.run.templates import is_open

_NOTHING: Final = Form(Way.GIVEN, (), (), (), (), ())


class Values(Protocol):
    """What has a value already."""

    def __contains__(self, x: object, /) -> bool: ...

    def __getitem__(self, x: Expression, /) -> Any: ...  # Any: data of every type


@dataclass(slots=True, eq=False)
class Info:
    """What the walk has to know of a signature, and what it finds."""

    form: Form
    rows: tuple[int, ...]  # operands that are values of nodes
    part: int  # which result of a cell it is; -1 for none
    cell: bool  # whether its results are columns
    numbers: list[int]  # of its nodes
    operands: list[tuple[Any, ...]] = field(default_factory=list)  # Any: of these, as in `Node`
    refs: list[int] = field(default_factory=list)  # codes of their operands, node by node

    def sort(self, serials: Sequence[int]) -> None:
        """Have the nodes in the order of their serials, which are given by number."""
        width, numbers, operands, refs = len(self.rows), self.numbers, self.operands, self.refs
        order = sorted(range(len(operands)), key=lambda at: serials[numbers[at]])
        self.numbers = [numbers[at] for at in order]
        self.operands = [operands[at] for at in order]
        self.refs = [ref for at in order for ref in refs[at * width : (at + 1) * width]]


class Tops(Protocol):
    """Where a node is asked for that may be kept."""

    def __call__(self, x: Node, /) -> int | None:
        """Its code, if nothing below it has to be looked at."""


class _Summit:
    """Reads the roots, and is newer than all."""

    def __init__(self, roots: tuple[Node, ...]) -> None:
        self.operands = roots
        self.serial = sys.maxsize


class Walk:
    """`nodes` by number as they are met, and their `codes`."""

    def __init__(self, known: Values | None = None) -> None:
        self.known = known  # None: nothing
        self.nodes: list[Any] = []  # Any: nodes of every kind
        self.serials: list[int] = []  # theirs: read while a node is at hand
        self.codes: dict[Expression, int] = {}
        self.infos: dict[Signature, Info] = {}
        self.given: dict[Kind, list[int]] = {}  # numbers of given values, by kind

    def info(self, signature: Signature) -> Info:
        """The same for all nodes of a signature."""
        found = self.infos.get(signature)
        if found is not None:
            return found
        form = form_of(signature)
        part = signature.attributes[0][1] if signature.operation is PART else -1
        literal = signature.operation is LITERAL
        numbers = self.given.setdefault(signature.kind, []) if literal else []
        cell = form.way is Way.CELL or is_open(signature)
        found = self.infos[signature] = Info(form, form.rows, part, cell, numbers)
        return found

    def go(self, roots: Sequence[Node], before: int = 0, tops: Tops | None = None) -> None:
        """Number everything below the roots, and take down the codes of all operands.

        A node whose serial is not above `before`, and that one above reads, is asked of `tops` first.
        """
        known, infos, nodes, codes, serials = self.known, self.infos, self.nodes, self.codes, self.serials
        columns: dict[Expression, int] = {}  # codes of cells whose results are columns
        of_nodes: list[Info | None] = []  # of each its signature's; None for a given value
        start = Info(_NOTHING, tuple(range(len(roots))), -1, False, [])
        summit: Any = _Summit((*roots,))  # Any: as in `nodes`
        stack = [-1]
        # One loop: a call an operand takes as long as all the rest. Depth first: neighbours are near in memory.
        while stack:
            number = stack.pop()
            if number >= 0:
                node, info = nodes[number], of_nodes[number]
            else:
                node, info = summit, start
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
                            if limit and tops is not None and cell.serial <= limit:
                                code = tops(cell)
                            if code is None:
                                stack.append(new := len(nodes))
                                code = new << BITS
                                nodes.append(cell)
                                serials.append(cell.serial)
                                of_nodes.append(of_cell)
                            columns[cell] = code
                    if code is not None:
                        refs.append(code | part)
                        continue
                code = codes.get(x)
                if code is None:
                    if limit and tops is not None and x.serial <= limit:
                        code = tops(x)
                    if code is None:
                        new = len(nodes)
                        code = new << BITS
                        nodes.append(x)
                        serials.append(x.serial)
                        given = known is not None and x in known
                        of_nodes.append(None if given else of)
                        if given or of.rows:
                            stack.append(new)
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

    def _kind_at(self, code: int, found: Mapping[int, Signature]) -> Kind:
        """The kind of the value at a code, if that of the node is known or has been found."""
        number = code >> BITS
        made = found.get(number, self.nodes[number].signature)
        several = isinstance(made, CellSignature) and not made.template.single
        if several or number in found:
            return result_kinds(made)[code & MASK]
        return self._kind_given(self.nodes[number])

    def resolve(self) -> None:
        """The signatures of nodes whose kinds were open when they were made."""
        open_ = [(s, info) for s, info in self.infos.items() if s.mode == UNRESOLVED and info.numbers]
        if not open_:
            return
        nodes = []
        for _, info in open_:
            width = len(info.rows)
            for at, number in enumerate(info.numbers):
                operands = info.refs[at * width : (at + 1) * width]
                nodes.append((number, self.nodes[number], operands))
            info.numbers.clear()
            info.operands.clear()
            info.refs.clear()
        found = resolved(nodes, self._kind_at)
        for number, node, codes in nodes:
            info = self.info(found.get(number, node.signature))
            if not info.cell and is_open(node.signature):
                info = self.info(node.signature)  # it has columns, of which nobody else would know
            info.numbers.append(number)
            info.operands.append(node.operands)
            info.refs.extend(codes)  # what becomes known of an operand does not make it another one
