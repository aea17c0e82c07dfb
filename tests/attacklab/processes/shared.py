"""What the tests of execution share: findings without their times, and an executor that runs things late."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import replace
from functools import partial
from typing import Any

from attacklab.findings import Finding


def timeless(findings: list[Finding]) -> list[Finding]:
    return [replace(finding, seconds=0.0) for finding in findings]


class Backwards(Executor):
    """Runs its calls only when somebody waits for a result, and the latest first."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Callable[[], Any]]] = []
        self.ran = 0
        self.most_waiting = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = _Demanded(self)
        self.waiting.append((future, partial(fn, *args, **kwargs)))
        self.most_waiting = max(self.most_waiting, len(self.waiting))
        return future

    def run_all(self) -> None:
        while self.waiting:
            future, call = self.waiting.pop()
            if not future.cancelled():
                self.ran += 1
                future.set_result(call())


class _Demanded(Future[Any]):
    def __init__(self, executor: Backwards) -> None:
        super().__init__()
        self._executor = executor

    def result(self, timeout: float | None = None) -> Any:
        self._executor.run_all()
        return super().result(timeout)
