"""Sketches: hashed from positions in the whole, so that parts add up and permutations show."""
import numpy
import pytest

torch = pytest.importorskip("torch")
from planproof.torch.relations import Part  # noqa: E402
from planproof.torch.sketches import OperatorSketches, elements, fnv1a64, sketch_of_part, splitmix64  # noqa: E402


def test_the_hashes_are_the_published_ones():
    # The first numbers of Vigna's generator with seed 0, whose state is advanced by the golden ratio each time.
    states = numpy.array([0, 0x9e3779b97f4a7c15], dtype=numpy.uint64)
    assert [hex(each) for each in splitmix64(states)] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4"]
    assert (fnv1a64(""), fnv1a64("a")) == (0xcbf29ce484222325, 0xaf63dc4c8601ec8c)


def whole_sketch(tensor):
    return sketch_of_part("w", tensor, Part(tuple(tensor.shape)))


@pytest.mark.parametrize("parts", [
    [Part((6, 4), [[[0, 3]], [[0, 4]]]), Part((6, 4), [[[3, 3]], [[0, 4]]])],
    [Part((6, 4), [[[0, 1], [4, 2]], [[0, 4]]]), Part((6, 4), [[[1, 3]], [[0, 4]]])],
    [Part((6, 4), [[[0, 6]], [[1, 2]]]), Part((6, 4), [[[0, 6]], [[0, 1], [3, 1]]])],
    [Part((6, 4), flat=(0, 7)), Part((6, 4), flat=(7, 17))]])
def test_sketches_of_parts_add_up_to_that_of_the_whole(parts):
    whole = torch.randn(6, 4)
    summed = sum(sketch_of_part("w", each.of_whole(whole), each) for each in parts)
    assert numpy.allclose(summed, whole_sketch(whole), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("change", [lambda w: w.flip(0), lambda w: w.roll(1, 1), lambda w: w.t().reshape(6, 4)])
def test_a_permutation_changes_the_sketch(change):
    whole = torch.randn(6, 4)
    assert abs(whole_sketch(change(whole)) - whole_sketch(whole)).max() > 1e-3


def test_names_change_signs():
    whole = torch.randn(6, 4)
    assert not numpy.allclose(sketch_of_part("v", whole, Part((6, 4))), whole_sketch(whole))


def test_elements_are_doubles_in_the_order_of_the_index():
    assert elements(torch.tensor([[1, 2], [3, 4]]).t()).tolist() == [1, 3, 2, 4]
    assert elements(torch.tensor([1 + 2j, 3 - 4j]).conj()).tolist() == [1, -2, 3, 4]
    assert elements(torch.tensor([float("nan"), float("-inf"), 2])).tolist() == [0, 0, 2]
    assert elements(torch.tensor([True, False])).tolist() == [1, 0]


def test_results_of_operators_have_a_norm_and_sums(recorded, tmp_path):
    a = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
    trace = recorded(lambda: {"y": a * 2}, inputs={"a": a})
    with numpy.load(tmp_path / "rank0.values.npz") as values:
        assert values["sketch_places"].tolist() == [[trace.operators.index(trace.only("aten.mul.Tensor")), 0]]
        (row,) = values["sketches"]
    assert row[0] == 10.0
    signs = [[1 - 2 * (int(splitmix64(numpy.array([i], numpy.uint64))[0]) >> k & 1) for i in range(4)] for k in range(4)]
    assert row[1:].tolist() == [float(numpy.dot(each, [2, 4, 4, 8])) for each in signs]


def test_a_larger_result_has_a_sketch_by_the_same_signs():
    sketches = OperatorSketches()
    small = sketches.sketch(torch.ones(100))
    sketches.sketch(torch.ones(5000))
    assert numpy.array_equal(sketches.sketch(torch.ones(100)), small)
