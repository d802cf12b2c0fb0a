"""Names: weights by name, each name once.

Knows: the weights that one settings object has made, as long as they live.
Refuses to know: what a weight is used for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar
from weakref import WeakValueDictionary

from wengert.errors import PluginError
from wengert.graph.weights import Weight
from wengert.plugins.making import WeightPart
from wengert.plugins.plugin import Plugin


class Named(WeightPart):
    """Enters a weight under its name when it is made."""

    def made(self) -> None:
        super().made()
        assert isinstance(self, Weight), "a weight part is merged with a weight class"
        settings = getattr(self.optimizer, "settings", None)
        assert isinstance(settings, Names), "only `Names` brings this part"
        settings.enter(self)


class Names(Plugin):
    """Weights by name: `name=` where a weight is made, else by `file:line`; two of one name are refused.

    >>> from wengert.plugins import SGD
    >>> class Settings(Names, SGD): ...
    >>> settings = Settings(learning_rate=0.1)
    >>> w = settings.double_weight(0.5, name="w1")
    >>> dict(settings.weights)
    {'w1': <DoubleWeight 'w1' () float64>}
    """

    weight: ClassVar[type[WeightPart]] = Named

    def __post_init__(self) -> None:
        self._named: WeakValueDictionary[str, Weight] = WeakValueDictionary()

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_named": dict(self._named)}  # weak references cannot be pickled

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        vars(self)["_named"] = WeakValueDictionary(self._named)

    @property
    def weights(self) -> Mapping[str, Weight]:
        """The living weights of this object by name."""
        return dict(self._named)

    def enter(self, weight: Weight) -> None:
        """Remember a weight; `PluginError` if another living one has its name."""
        name = weight.name
        if weight._name is None:  # one line may make many: they are told apart by number
            number = 1
            while self._named.setdefault(name, weight) is not weight:
                number += 1
                name = f"{weight.name}#{number}"
            return
        other = self._named.setdefault(name, weight)
        if other is not weight:
            raise PluginError(
                f"two weights are named {weight.name!r:.200}: one made at {other.site}, one at {weight.site}; "
                f"give one of them another `name=`"
            )
