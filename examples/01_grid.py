"""Train a grid of networks on the two spirals in one call, and compare shapes by their scores."""

import pellucid

data = pellucid.datasets.spirals(600, seed=0)
fresh = pellucid.datasets.spirals(4000, seed=1)

grid = pellucid.train_many(
    data.X, data.y, hidden=[[4], [16], [64], [8, 8, 8]], seed=range(3), steps=3000
)
for run in grid:
    accuracy = (run.network(fresh.X).argmax(axis=1) == fresh.y).mean()
    print(
        f"hidden {list(run.settings.hidden)!s:10} {run.network.n_parameters:4d} parameters  "
        f"seed {run.settings.seed}  loss {run.loss:.3f}  accuracy {accuracy:.2f}"
    )
