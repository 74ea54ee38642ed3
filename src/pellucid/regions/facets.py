"""The facets of one region in any number of dimensions, given a point inside it.

The region is h(y) = G y + c > 0 with unit normals in the rows of G, no two rows on one hyperplane,
inside a box. A row whose hyperplane a ray from inside meets first, strictly before all others, is a
facet. Rays along the normals find many facets, projections most of the others, and what is then
left is decided by nonnegative least squares, or by linear programs where the box has many sides.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .._shapes import Array, Float64, Int

#: centers that are tried one after the other, each the mean of where rays leave the region
CENTERS = 3
#: most projections, and how many of them may find less than a hundredth of what is open
PROJECTIONS, IDLE = 60, 5
#: relative residuals below are 0, and those above are not; in between nothing is decided
NOTHING, SOMETHING = 1e-10, 1e-8
#: dimensions up to which the sides of a box take part in least squares
WIDEST = 40


@dataclass(eq=False)
class Cell:
    """One region, in coordinates y with |y_i| <= radius; `points[row]` is inside that facet."""

    G: Float64[Array, "rows d"]
    c: Float64[Array, " rows"]
    radius: float
    center: Float64[Array, " d"]
    points: dict[int, Array] = field(default_factory=dict)

    @cached_property
    def gram(self) -> Float64[Array, "rows rows"]:
        """Cosines of the angles between normals."""
        return self.G @ self.G.T

    @property
    def boxed(self) -> bool:
        """Whether a box bounds the coordinates."""
        return bool(np.isfinite(self.radius))

    def heights(self, y: Array) -> Array:
        """h at the points y: the distances from all hyperplanes, positive inside."""
        return y @ self.G.T + self.c

    @property
    def open_rows(self) -> Int[Array, " some"]:
        """Rows of which it is not known whether they are facets."""
        known = np.zeros(len(self.G), bool)
        known[list(self.points)] = True
        return np.flatnonzero(~known)

    # ---- rays

    def shoot(self) -> None:
        """Rays along all normals, from a center that moves to the mean of where they end."""
        if not len(self.G):
            return
        step = np.concatenate([-self.G, self.G])
        falling = np.concatenate([self.gram, -self.gram])  # how fast each h falls along each ray
        with np.errstate(divide="ignore"):
            slowness = np.where(falling > 1e-12, 1 / falling, np.inf)
        for _ in range(CENTERS):
            center = self._first_hits(step, slowness).mean(axis=0)
            if not (self.heights(center) > 0).all():
                return
            self.center = center
        self._first_hits(step, slowness)

    def _first_hits(self, step: Array, slowness: Array) -> Array:
        """Find the facets that rays from the center meet alone; where rays end, or are cut."""
        n, rays = len(self.G), np.arange(len(step))
        times = self.heights(self.center) * slowness
        first = times.argmin(axis=1)
        reach, side = times[rays, first], self._reach_of_box(step)
        times[rays, first] = np.inf
        rivals = np.minimum(times.min(axis=1), side)
        longest = np.minimum(reach, side)[:n].max()  # along -G each ray ends somewhere
        alone = (reach <= longest) & (reach < rivals * (1 - 1e-9))
        ends = self.center + np.minimum(np.minimum(reach, side), longest)[:, None] * step
        rows, which = np.unique(first[alone], return_index=True)
        self.points = dict(zip(rows.tolist(), ends[alone][which], strict=True)) | self.points
        return ends

    def _reach_of_box(self, step: Array) -> Array:
        if not self.boxed:
            return np.full(len(step), np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            side = (self.radius - np.sign(step) * self.center) / np.abs(step)
        return np.where(step == 0, np.inf, side).min(axis=1)

    # ---- projections

    def project(self) -> None:
        """Find points on open rows by projecting onto the worst violated row (Agmon 1954)."""
        rows = self.open_rows
        if not len(rows):
            return
        h = self.heights(self.center)
        P, own = self.center - h[rows, None] * self.G[rows], self.gram[rows]
        H = h - h[rows, None] * own
        H[np.arange(len(rows)), rows] = np.inf
        wanted = 1e-3 * np.minimum(h[rows], np.median(h))
        found, idle = [], 0
        for _ in range(PROJECTIONS):
            worst = H.argmin(axis=1)
            lowest = H[np.arange(len(rows)), worst]
            done = lowest > wanted / 10
            if self.boxed:
                done &= (np.abs(P) < self.radius).all(axis=1)
            idle = idle + 1 if 100 * done.sum() < len(rows) else 0
            if done.any():
                found.append((rows[done], P[done]))
                left = ~done
                rows, P, H, own = rows[left], P[left], H[left], own[left]
                worst, lowest, wanted = worst[left], lowest[left], wanted[left]
            if not len(rows) or idle == IDLE:
                break
            # Along the row's hyperplane towards the worst row's, half as far again as needed.
            cosine = own[np.arange(len(rows)), worst][:, None]
            step = (1.5 * (wanted - lowest).clip(0))[:, None] / np.maximum(1 - cosine**2, 1e-9)
            P = P + step * self.G[worst] - (step * cosine) * self.G[rows]
            if self.boxed:
                side = self.radius * (1 - 1e-6)
                P = self._on(np.clip(P, -side, side), rows)
                H = self.heights(P)
                H[np.arange(len(rows)), rows] = np.inf
            else:
                H += step * self.gram[worst]
                H -= (step * cosine) * own
        if found:
            self._keep(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def _on(self, P: Array, rows: Array) -> Array:
        """Each point moved onto the hyperplane of its row."""
        G = self.G[rows]
        return P - ((P * G).sum(axis=1) + self.c[rows])[:, None] * G

    def _keep(self, rows: Array, P: Array) -> None:
        """Points on rows, after rounding has been taken back and all other rows checked."""
        P = self._on(P, rows)
        H = self.heights(P)
        H[np.arange(len(rows)), rows] = np.inf
        good = (H > 0).all(axis=1) & (np.abs(P) < self.radius).all(axis=1)
        self.points |= dict(zip(rows[good].tolist(), P[good], strict=True))

    # ---- what is left

    def decide(self, row: int, kept: Array) -> bool | None:
        """Whether the row is a facet, among the rows `kept`; None where rounding hides it.

        It is none just where other rows imply it: g_row = sum l_k g_k and h_row >= sum l_k h_k
        for some l >= 0 (Farkas 1902). Otherwise a ray from the center reaches it first.
        """
        h, others = self.heights(self.center), kept.copy()
        others[row] = False
        if self.boxed and len(self.center) > WIDEST:
            ray = self._ray_by_program(row, others, h)
        else:
            ray = self._ray_by_least_squares(row, others, h)
        if ray is None or not ray.any():
            return None if ray is None else False
        toward = -self.G[row] @ ray
        if toward > 0:
            self._keep(np.array([row]), (self.center + ray * (h[row] / toward))[None])
        return row in self.points or None

    def _ray_by_least_squares(self, row: int, others: Array, h: Array) -> Array | None:
        """Nonnegative least squares (Lawson and Hanson 1974): its residual is the ray; 0: none."""
        from scipy.optimize import nnls

        G, heights = self.G[others], h[others]
        if self.boxed:
            sides = np.eye(len(self.center))
            G = np.concatenate([G, -sides, sides])
            heights = np.concatenate(
                [heights, self.radius - self.center, self.radius + self.center]
            )
        A = np.concatenate([G.T, heights[None] / h[row]])
        A = np.column_stack([A / np.linalg.norm(A, axis=0), np.eye(len(A))[:, -1]])
        b = np.append(self.G[row], 1.0)
        try:
            multipliers, residual = nnls(A, b, maxiter=10 * A.shape[1])
        except RuntimeError:  # too many iterations
            return None
        if residual < NOTHING:
            return np.zeros(len(self.center))
        return None if residual < SOMETHING else (A @ multipliers - b)[:-1]

    def _ray_by_program(self, row: int, others: Array, h: Array) -> Array | None:
        """A linear program, min h_row with all other h >= 0 and h_row >= -h_row(center); 0: none.

        It takes the sides of the box as they are, where least squares would be slow.
        """
        from scipy.optimize import linprog

        unit = h[row]
        low, high = (-self.radius - self.center) / unit, (self.radius - self.center) / unit
        found = linprog(
            self.G[row],
            A_ub=-np.concatenate([self.G[others], self.G[row : row + 1]]),
            b_ub=np.append(h[others], 2 * unit) / unit,
            bounds=np.stack([low, high], axis=1),
            method="highs",
            options={"primal_feasibility_tolerance": NOTHING},
        )
        if found.status != 0:
            return None
        beyond = -1 - found.fun
        if beyond < NOTHING:
            return np.zeros(len(low))
        return None if beyond < SOMETHING else found.x


def one_of_each(G: Array, c: Array, y: Array, tolerance: float = 1e-10) -> Int[Array, " rows"]:
    """For every row the first that has the same hyperplane, to rounding; y is inside the region."""
    h, first = G @ y + c, np.arange(len(G))
    order = np.argsort(h, kind="stable")
    for a, b in zip(*_runs(h[order], 1e3 * tolerance), strict=True):
        group = order[a:b]
        near = G[group] @ G[group].T > 1 - tolerance
        first[group] = np.where(near, group, len(G)).min(axis=1)
    return first


def _runs(h: Array, gap: float) -> tuple[Array, Array]:
    """Begin and end of all runs of two or more ascending numbers that are nearly equal."""
    near = np.diff(h) <= gap * np.abs(h[1:])
    edges = np.diff(np.concatenate([[0], near.astype(int), [0]]))
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) + 1
