"""PyTorch's samplers are watched, and tensors followed, as numpy's are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attacklab.model.findings import Verdict
from attacklab.replay import replay

torch = pytest.importorskip("torch", reason="needs PyTorch")

PAIR = (np.array([0.2, 0.9, 1.0]), np.array([0.2, 0.9]))
GAUSS: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5}
PURE: dict[str, Any] = {"epsilon": 1.0}


def _sum(x: Any) -> Any:
    return torch.as_tensor(x, dtype=torch.float32).clamp(0, 1).sum()


def of_laplace(x: Any, scale: float) -> Any:
    return _sum(x) + torch.distributions.Laplace(0.0, scale).sample()


def as_a_number(x: Any, scale: float) -> Any:
    return float(_sum(x)) + torch.distributions.Laplace(0.0, scale).sample().item()


def difference_of_exponentials(x: Any, scale: float) -> Any:
    one, other = (torch.empty(1).exponential_(1 / scale) for _ in range(2))
    return _sum(x) + (one - other)


def normal(x: Any, scale: float) -> Any:
    return torch.normal(float(_sum(x)), scale, (1,))


def filled_and_added_in_place(x: Any, scale: float) -> Any:
    total, noise = _sum(x).reshape(1), torch.empty(1)
    noise.normal_(0, scale)
    total += noise
    return total.numpy()


def scaled_in_bfloat16(x: Any, scale: float) -> Any:
    return (_sum(x).bfloat16() + scale * torch.randn(1, dtype=torch.bfloat16)).view(1, 1)


def trained(x: Any, scale: float) -> Any:
    weight = torch.nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    weight.grad = (torch.stack([_sum(x), _sum(0 * x)]) + torch.normal(0.0, scale, (2,))) / 4
    optimizer.step()
    return weight.detach()


@pytest.mark.parametrize(
    ("release", "claim", "broken", "sound"),
    [
        (of_laplace, PURE, 0.5, 1.0),
        (as_a_number, PURE, 0.5, 1.0),
        (difference_of_exponentials, PURE, 0.5, 1.0),
        (normal, GAUSS, 1.0, 6.0),
        (filled_and_added_in_place, GAUSS, 1.0, 6.0),
        (scaled_in_bfloat16, GAUSS, 1.0, 6.0),
        (trained, GAUSS, 1.0, 6.0),
    ],
)
def test_noise_of_a_sampler_is_judged(release: Any, claim: Any, broken: float, sound: float) -> None:
    worst = replay(lambda x: release(x, broken), [PAIR], **claim)[0]
    assert worst.refutes
    assert worst.flaw == "the noise is too small for how far the value moves"
    assert replay(lambda x: release(x, sound), [PAIR], **claim)[0].verdict is Verdict.NOT_DETECTED


def test_the_real_batch_size_and_a_generator_seeded_twice_are_named() -> None:
    def real_size(x: Any) -> Any:
        return (_sum(x) + 6.0 * torch.randn(1)) / len(x)

    def twice(x: Any) -> Any:
        out, seed = [], int(torch.randint(1 << 31, ()))
        for value in (_sum(x), 3 * _sum(x)):
            generator = torch.Generator()
            generator.manual_seed(seed)
            out.append(value + 40 * torch.randn(1, generator=generator))
        return out

    def fixed(x: Any) -> Any:
        torch.manual_seed(7)
        return _sum(x) + 40 * torch.randn(1)

    assert replay(real_size, [PAIR], **GAUSS)[0].flaw == "the scale of the noise follows the data"
    assert replay(twice, [PAIR], **GAUSS)[0].flaw.startswith("the same noise is added to two answers")
    assert replay(fixed, [PAIR], **GAUSS)[0].flaw.startswith("the seed of the noise is fixed")


def test_hooks_leave_nothing_behind() -> None:
    before = (torch.normal, torch.Generator, torch.manual_seed, torch.Tensor.normal_)
    replay(lambda x: normal(x, 6.0), [PAIR], **GAUSS)
    assert before == (torch.normal, torch.Generator, torch.manual_seed, torch.Tensor.normal_)
    assert type(torch.normal(0.0, 1.0, (1,))) is torch.Tensor


def test_the_gradient_of_a_tensor_is_part_of_the_output() -> None:
    def with_gradient(x: Any) -> Any:
        noisy = normal(x, 5.0)
        noisy.grad = torch.full((1,), float(len(x)))
        return noisy

    assert "grad" in replay(with_gradient, [PAIR], **GAUSS)[0].reason


@pytest.mark.parametrize(
    "shown", [lambda n: torch.tensor([1 + 1j * n]), lambda n: torch.tensor(2**60 + n), lambda n: torch.tensor(n).half()]
)
def test_a_tensor_is_read_in_its_own_type(shown: Any) -> None:
    assert replay(lambda x: (normal(x, 5.0), shown(len(x))), [PAIR], **GAUSS)[0].refutes
    assert replay(lambda x: (normal(x, 5.0), shown(1)), [PAIR], **GAUSS)[0].verdict is Verdict.NOT_DETECTED


@pytest.mark.parametrize("made", [lambda: torch.ones(2, 2).to_sparse(), lambda: torch.empty(2, device="meta")])
def test_a_tensor_that_numpy_does_not_have_is_named(made: Any) -> None:
    (finding,) = replay(lambda x: (normal(x, 5.0), made()), [PAIR], **GAUSS)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "output[0][1] is a Tensor, which cannot be looked into" in finding.reason
