"""The baselines: the paper's search spaces, all of them tried, by three contiguous folds."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from model_export.experiment.baselines import QUANTILES, SPACES, features, grid_search, search
from model_export.recordings.catalogue import load
from model_export.recordings.dataset import Dataset, split
from model_export.regression.metrics import r2
from tests.support.recordings import saved, tidy


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    path = saved(tidy(windows=150), tmp_path_factory.mktemp("data") / "x.csv")
    return split(load([path], "5A2D", "ppm"))[0]


def test_the_search_spaces_are_those_of_the_papers_appendix() -> None:
    """Number of points: DT 4·3·3, GBDT 3·3·3, KNN 5, KRR 3·5, MLP 3·2·3, RR 5."""
    sizes = {name: int(np.prod([len(values) for values in space.values()])) for name, space in SPACES.items()}
    assert sizes == {"DT": 36, "GBDT": 27, "KNN": 5, "KRR": 15, "MLP": 18, "RR": 5}
    assert SPACES["RR"] == {"alpha": (0.1, 1.0, 10.0, 50.0, 100.0)}
    assert SPACES["MLP"]["hidden_layer_sizes"] == ((50,), (100,), (50, 25))


@pytest.mark.parametrize("name", ["DT", "KNN", "KRR", "RR"])
def test_every_point_is_tried_and_the_best_is_kept(train: Dataset, name: str) -> None:
    """The score of each point is the mean R² over three stretches of time, by a plain loop."""
    found, best = grid_search(name, train), search(name, train)
    X, y = features(train.inputs, train.auxiliary), train.target
    assert len(found.cv_results_["params"]) == len(list(product(*SPACES[name].values())))
    assert best.score == found.cv_results_["mean_test_score"].max()
    last = found.cv_results_["params"][-1]
    assert found.cv_results_["mean_test_score"][-1] == pytest.approx(_by_hand(found, last, X, y), abs=1e-12)


def _by_hand(found: Any, params: dict[str, Any], X: np.ndarray, y: np.ndarray) -> float:
    """Each third is held out once."""
    scores = []
    for held in np.array_split(np.arange(len(y)), 3):
        rest = np.setdiff1d(np.arange(len(y)), held)
        centre, spread = X[rest].mean(axis=0), X[rest].std(axis=0)
        regressor = found.estimator.regressor.named_steps["model"]
        inner = {name.rpartition("__")[2]: value for name, value in params.items()}
        target = (y[rest] - y[rest].mean()) / y[rest].std()
        model = regressor.__class__(**{**regressor.get_params(), **inner})
        model.fit((X[rest] - centre) / spread, target)
        estimate = model.predict((X[held] - centre) / spread) * y[rest].std() + y[rest].mean()
        scores.append(r2(y[held], estimate))
    return float(np.mean(scores))


def test_boosted_trees_from_one_fit_are_those_of_the_plain_search(train: Dataset) -> None:
    """Same choice, score and estimates for all 27 points, although one fold has a constant reference."""
    short = train.part(slice(90))
    short = replace(short, target=np.where(np.arange(90) < 30, short.target[0], short.target))
    fast, plain = search("GBDT", short), grid_search("GBDT", short)
    assert len(plain.cv_results_["params"]) == 27
    assert {
        f"regressor__model__{name}": value for name, value in fast.parameters.items()
    } == plain.best_params_
    assert fast.score == pytest.approx(plain.best_score_, abs=1e-12)
    X = features(train.inputs, train.auxiliary)
    np.testing.assert_array_equal(fast.predict(X), plain.predict(X))


def test_kernel_lengths_are_quantiles_of_distances_between_windows(train: Dataset) -> None:
    found = grid_search("KRR", train)
    X = features(train.inputs, train.auxiliary)
    distances = pdist((X - X.mean(axis=0)) / X.std(axis=0))
    lengths = {params["regressor__model__kernel"].length_scale for params in found.cv_results_["params"]}
    assert sorted(lengths) == pytest.approx(np.quantile(distances, QUANTILES))
    assert search("KRR", train).parameters["length_scale"] in lengths


@pytest.mark.parametrize("name", SPACES)
def test_estimates_follow_the_unit_of_the_reference(train: Dataset, name: str) -> None:
    """A reference in ppb gives the same estimates, 1000 times larger."""
    small = train.part(slice(90))
    in_ppb = replace(small, target=1000.0 * small.target)
    corner = {key: values[:1] for key, values in SPACES[name].items()}
    ppm, ppb = search(name, small, space=corner), search(name, in_ppb, space=corner)
    X = features(small.inputs, small.auxiliary)
    np.testing.assert_allclose(ppb.predict(X), 1000.0 * ppm.predict(X), rtol=1e-6)


@pytest.mark.parametrize("name", SPACES)
def test_each_baseline_explains_a_sound_sensor(train: Dataset, name: str) -> None:
    """With the middle of its space; other tests cover the whole search."""
    middle = {key: values[len(values) // 2 :][:1] for key, values in SPACES[name].items()}
    found = search(name, train, space=middle)
    assert r2(train.target, found.predict(features(train.inputs, train.auxiliary))) > 0.8
