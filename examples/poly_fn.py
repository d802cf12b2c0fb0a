"""One function for literals, weights and layers: `poly_fn` in all 81 mixes (the paper's Listing 17).

`multiply(a, b)` and `add(a, b)` accept whatever is a double: a number of Python's, a weight, a layer, or a
value of a class that somebody has registered. A function written with them accepts the same. It says
`multiply(a, b)` and not `a * b`, because two operands that may both be plain numbers would meet in Python's
own `*`, which a type checker rightly sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import wengert as wg
from wengert.plugins import SGD


def poly_fn(
    a: wg.DoubleExpression, b: wg.DoubleExpression, c: wg.DoubleExpression, d: wg.DoubleExpression
) -> wg.DoubleLayer:
    """a·b + c·d, of anything that is a double."""
    return wg.add(wg.multiply(a, b), wg.multiply(c, d))


def three_forms(value: float) -> dict[str, wg.DoubleExpression]:
    """One number as a literal, as a weight, and as a layer that something has computed."""
    return {
        "literal": value,
        "weight": SGD(learning_rate=0.1).double_weight(value),
        "layer": wg.lift(value) + 0.0,
    }


def all_mixes() -> Iterator[tuple[tuple[str, ...], wg.DoubleLayer]]:
    """Every way of writing 2·3 + 5·7, with the names of the forms it is written in."""
    forms = [three_forms(value) for value in (2.0, 3.0, 5.0, 7.0)]
    for names in product(forms[0], repeat=4):
        a, b, c, d = (form[name] for form, name in zip(forms, names, strict=True))
        yield names, poly_fn(a, b, c, d)


def main() -> set[float]:
    """Compute all the mixes; returns the different values found."""
    values = {names: layer.predict().run() for names, layer in all_mixes()}
    found = set(values.values())
    print(
        f"{len(values)} mixes of literal, weight and layer; 2·3 + 5·7 is {', '.join(map(str, found))} in each"
    )
    return found


if __name__ == "__main__":
    main()
