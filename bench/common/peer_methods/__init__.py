"""Black-box methods by others, written anew from their papers, so that all can be given the same outputs."""

from bench.common.peer_methods.dp_sniper import dp_sniper
from bench.common.peer_methods.kernel_betting import kernel_betting
from bench.common.peer_methods.outputs import Drawn, Recorder
from bench.common.peer_methods.sequential_tradeoff import sequential_tradeoff
from bench.common.peer_methods.statdp import statdp

METHODS = {
    "DP-Sniper": dp_sniper,
    "StatDP": statdp,
    "kernel betting": kernel_betting,
    "sequential trade-off": sequential_tradeoff,
}
"""Each takes outputs, α and a generator, and gives a lower bound on ε that is too large with probability at most α."""

__all__ = ["METHODS", "Drawn", "Recorder", "dp_sniper", "kernel_betting", "sequential_tradeoff", "statdp"]
