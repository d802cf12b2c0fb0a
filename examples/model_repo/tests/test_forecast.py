"""The forecaster learns."""

from __future__ import annotations

from forecast import Forecaster, Settings, waves


def test_the_error_falls_on_waves_it_has_not_seen() -> None:
    model = Forecaster(Settings(learning_rate=0.01))
    unseen = waves(64, steps=8, seed=1)
    before = float(model.loss(*unseen).predict().run())
    for step in range(50):
        model.loss(*waves(32, steps=8, seed=step + 2)).train().run()
    assert float(model.loss(*unseen).predict().run()) < before / 10
