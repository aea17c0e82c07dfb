"""Where trials run and what they leave behind: batches, the backends that run them, checkpoints.

A new backend is one new file in this folder, which provides what `runners.Backend` asks for: `count`, the number of
batches that it runs at once, and `runner(bench)`, which returns a `runners.Runner`. Wherever it runs them, a runner

- yields the counts of batches in the order of the batches, each as `Bench.counts` returns them: all randomness comes
  from the seed and the batch's number, so the counts are the same wherever a batch runs;
- raises `TargetError` if the target failed, even if it killed the process that it ran in, and `WorkersGone` if nothing
  is left to run a batch;
- gives up the batches that it draws ahead when its generator is closed.

A backend with a `concurrent.futures.Executor` inherits all of this from `workers.Workers`: it passes the executor to
the constructor and overrides `submit`, `outcome`, `drop` and `close` where its failures look different. `dask.py` is
the model. The command line chooses a backend in `attacklab/cli`.

Imports in this folder point one way: dask, processes > workers > checkpoint, worker_process > runners > batches.
"""
