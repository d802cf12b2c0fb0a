"""Laws of the algebra of dimensions, against plain integers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wengert_shapes.algebra import Atom, Dim, Quotient, atom, divides, floor_divide, number

NAMES = ("B", "H", "T")
Sizes = dict[str, int]
sizes = st.fixed_dictionaries({name: st.integers(1, 12) for name in NAMES})


def leaf() -> st.SearchStrategy[Dim]:
    return st.one_of(st.integers(-6, 6).map(number), st.sampled_from(NAMES).map(lambda n: atom(Atom(n, n))))


def divided(pair: tuple[Dim, int]) -> Dim:
    made = floor_divide(pair[0], number(pair[1]))
    assert made is not None
    return made


def grown(inner: st.SearchStrategy[Dim]) -> st.SearchStrategy[Dim]:
    pairs = st.tuples(inner, inner)
    quotients = st.tuples(inner, st.integers(1, 5)).map(divided)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] * p[1]),
        quotients,
    )


dims = st.recursive(leaf(), grown, max_leaves=6)


def value(dim: Dim, of: Sizes) -> int:
    """The number that a dimension is for given sizes."""
    total = 0
    for product, count in dim.terms:
        for f in product:
            count *= quotient(f, of) if isinstance(f, Quotient) else of[f.name]
        total += count
    return total


def quotient(f: Quotient, of: Sizes) -> int:
    return value(f.numerator, of) // value(f.denominator, of)


@given(dims, dims, sizes)
def test_sums_and_products_are_those_of_the_sizes(a: Dim, b: Dim, of: Sizes) -> None:
    assert value(a + b, of) == value(a, of) + value(b, of)
    assert value(a - b, of) == value(a, of) - value(b, of)
    assert value(a * b, of) == value(a, of) * value(b, of)


@given(dims, dims, sizes)
def test_a_quotient_is_that_of_the_sizes_rounded_down(a: Dim, b: Dim, of: Sizes) -> None:
    made = floor_divide(a, b)
    if made is not None and value(b, of) != 0:
        assert value(made, of) == value(a, of) // value(b, of)


@given(dims, dims, dims)
def test_normal_forms_are_equal_where_the_laws_of_arithmetic_say_so(a: Dim, b: Dim, c: Dim) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a * (b + c) == a * b + a * c
    assert a - a == number(0)


@given(dims, dims)
def test_a_product_is_divided_by_a_monomial(a: Dim, b: Dim) -> None:
    if len(b.terms) == 1:
        assert divides(a * b, b) == a


def test_a_division_that_does_not_come_out_is_one_dimension_however_it_is_written() -> None:
    h = atom(Atom("H", "H"))
    strided = floor_divide(h - number(1), number(2))
    assert strided is not None
    assert strided + number(1) == floor_divide(h + number(1), number(2))
    assert divides(h, number(2)) is None
    assert floor_divide(h, number(0)) is None


def test_dimensions_print_as_they_are_written() -> None:
    b, h = atom(Atom("B", "B")), atom(Atom("H", "H"))
    half = floor_divide(h + number(1), number(2))
    assert half is not None
    assert [str(d) for d in (number(0), h * b - number(1), number(2) * half + number(3), -h, half)] == [
        "0",
        "B*H - 1",
        "2*((H + 1)//2) + 3",
        "-H",
        "(H + 1)//2",
    ]
