"""All ports.

Knows: the list.
Refuses to know: anything about one of them.
"""

from __future__ import annotations

from typing import Final

from benchmarks.ports import (
    char_rnn,
    dcgan,
    gcn,
    micrograd,
    mingpt,
    mnist,
    neural_ode,
    regression,
    reinforcement,
    score_matching,
    siamese,
    spirals,
    super_resolution,
    time_sequence,
    vae,
    word_model,
)

PORTS: Final = tuple(
    module.PORT
    for module in (
        micrograd,
        mingpt,
        char_rnn,
        mnist,
        vae,
        word_model,
        reinforcement,
        siamese,
        time_sequence,
        dcgan,
        super_resolution,
        regression,
        spirals,
        gcn,
        neural_ode,
        score_matching,
    )
)
WORKLOADS: Final = tuple(port.workload() for port in PORTS)
