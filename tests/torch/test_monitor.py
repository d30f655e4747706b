"""What `planproof.torch.monitor` writes of a run of one process, and that it leaves nothing behind."""
import copy
import io
import os
import sys

import pytest

torch = pytest.importorskip("torch")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "monitor"))

import torch.nn.functional as F  # noqa: E402
from naive_sums import sums as naive  # noqa: E402
from small_runs import Tied, journal, loss_of, monitored, train_step  # noqa: E402
from torch import nn  # noqa: E402

from planproof.errors import RecordingError  # noqa: E402
from planproof.torch import monitor  # noqa: E402

ZERO_GRAD, FORWARD, FORWARD_ENDS, BACKWARD, LOSS, CLIP, CLIP_VALUE, STEP, STEP_ENDS, LEFT_OUT, SCHEDULER, RATE = range(1, 13)
SCALE, READ, LOADED, CHANGED, FUNCTION, OUTPUT, AVERAGED = range(14, 21)
BEGIN, CLIPPED, BEFORE, AFTER, CONTRIBUTED = range(5)


@pytest.fixture
def directory(tmp_path):
    return str(tmp_path / "run")


def types(found, step):
    return [event["type"] for _, event in found.events(step=step)]


def test_a_step_has_its_calls_in_order(directory):
    found = monitored(directory, steps=4, every=50)
    assert types(found, 3) == [ZERO_GRAD, FORWARD, FORWARD_ENDS, FUNCTION, BACKWARD, CLIP, STEP, STEP_ENDS]
    assert [found.steps[n]["sampled"] for n in range(4)] == [True, True, False, False]
    assert found.closing == {"reason": "closed", "steps": 4} and not found.cut_off and not found.not_observed
    assert found.header["rank"] == 0 and found.header["world"] == 1 and found.header["every"] == 50
    assert ["layer", "torch.nn.modules.linear.Linear"] in found.header["modules"]


def test_modules_are_seen_in_sampled_steps(directory):
    found = monitored(directory, steps=3, every=50)
    for step, expected in ((1, ["", "words", "layer", "drop", "head"]), (2, [""])):
        assert [event["subject"] for _, event in found.events(FORWARD, step)] == expected
    outputs = found.events(OUTPUT, 1)
    assert [event["subject"] for _, event in outputs] == ["words", "layer", "drop", "head"] and outputs[0][1]["a"] > 0


def test_tensors_have_a_table(directory):
    found = monitored(directory)
    (table,) = found.tables
    assert [(each["name"], each["of"], each.get("shared_with")) for each in table] == [
        ("words.weight", [11, 8], None), ("layer.weight", [8, 8], None), ("layer.bias", [8], None), ("head.weight", [11, 8], 0)]
    assert all(each["trainable"] and each["optimizers"] == [0] and each["dtype"] == "float32" for each in table)
    (options,) = found.options
    assert options["groups"][0]["tensors"] == [0, 1, 2] and options["groups"][0]["betas"] == [0.9, 0.999]


def test_values_are_those_of_the_moments(directory):
    kept = {}

    def step(model, optimizer, number, _):
        optimizer.zero_grad()
        loss_of(model, number).backward()
        kept[number, CLIPPED, "gradient"] = model.layer.weight.grad.clone()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        kept[number, BEFORE, "gradient"] = model.layer.weight.grad.clone()
        kept[number, BEGIN, "parameter"] = kept[number, BEFORE, "parameter"] = model.layer.weight.detach().clone()
        optimizer.step()
        kept[number, AFTER, "parameter"] = model.layer.weight.detach().clone()
        kept[number, AFTER, "exp_avg"] = optimizer.state[model.layer.weight]["exp_avg"].clone()

    found = monitored(directory, steps=3, step=step)
    for (number, moment, word), tensor in kept.items():
        norm, sketches, fingerprint = found.facts(number, moment, word)["layer.weight"]
        expected = naive("layer.weight", tensor)
        assert fingerprint == expected[2] and abs(norm - expected[0]) <= 1e-6 * expected[0]
        assert all(abs(a - b) <= 1e-5 * expected[0] for a, b in zip(sketches, expected[1]))
    assert found.facts(1, BEFORE, "exp_avg") == found.facts(0, AFTER, "exp_avg") and not found.facts(0, BEFORE, "exp_avg")
    sizes = {len(each["tensors"]) for each in found.values if each["moment"] != CONTRIBUTED}
    assert sizes == {3}


def test_the_step_before_a_sampled_one_has_parameters(directory):
    found = monitored(directory, steps=8, every=5)
    assert {each["step"] for each in found.values} == {0, 1, 4, 5}
    assert [(each["moment"], each["set"]) for each in found.values if each["step"] == 4] == [(AFTER, "parameter")]
    assert found.facts(4, AFTER, "parameter") == found.facts(5, BEGIN, "parameter")


def test_an_element_is_that_of_the_tensor(directory):
    kept = {}

    def step(model, optimizer, number, _):
        optimizer.zero_grad()
        loss_of(model, number).backward()
        kept[number] = model.layer.weight.grad.flatten().tolist()
        optimizer.step()

    found = monitored(directory, steps=2, step=step)
    for number in range(2):
        (position, value), = found.element(number, BEFORE, "gradient")["layer.weight"].items()
        assert value == kept[number][position]
        assert list(found.element(number, AFTER, "parameter")["layer.weight"]) == [position]
    assert found.element(1, BEFORE, "step")["layer.weight"] == {2 ** 64 - 1: 1.0}
    assert found.element(1, AFTER, "step")["layer.weight"] == {2 ** 64 - 1: 2.0}


def test_contributions_add_up_to_the_gradient(directory):
    def step(model, optimizer, number, _):
        optimizer.zero_grad()
        for part in range(2):
            loss_of(model, 10 * number + part, 0.5).backward()
        optimizer.step()

    found = monitored(directory, steps=6, step=step)
    seen = set()
    for number in range(6):
        added = {}
        for each in found.values:
            if (each["step"], each["moment"]) == (number, CONTRIBUTED):
                (tensor,) = each["tensors"]
                added.setdefault(found.tables[0][tensor]["name"], []).append(each["sketches"][0][0])
        gradients = found.facts(number, BEFORE, "gradient")
        for name, terms in added.items():
            assert len(terms) == 2 and abs(sum(terms) - gradients[name][1][0]) < 1e-5 * (gradients[name][0] + 1e-9)
        seen.update(added)
    assert seen == {"words.weight", "layer.weight", "layer.bias"}


@pytest.mark.parametrize("factor, expected", [(1.0, 1.0), (1 / 16, 1 / 16), (-2.0, -2.0)])
def test_backward_starts_from_a_multiple_of_the_loss(factor, expected, directory):
    def step(model, optimizer, number, _):
        optimizer.zero_grad()
        (loss_of(model, number) * factor).backward()
        optimizer.step()

    found = monitored(directory, step=step)
    for _, event in found.events(BACKWARD):
        assert abs(event["b"] - expected) < 1e-6 and event["flags"] == 2


def test_a_sum_of_losses_is_a_multiple_of_none(directory):
    def step(model, optimizer, number, running):
        optimizer.zero_grad()
        loss = loss_of(model, number) + model.layer.weight.square().sum()
        (running.loss(loss) / 4 if number else loss).backward()
        optimizer.step()

    found = monitored(directory, step=step)
    factors = [event["b"] for _, event in found.events(BACKWARD)]
    assert factors[0] != factors[0] and factors[1:] == [0.25, 0.25]
    assert [number for number, _ in found.events(LOSS)] == [1, 2]


def test_gradients_that_are_left_over_are_counted(directory):
    def step(model, optimizer, number, _):
        if number == 2:
            optimizer.zero_grad(set_to_none=False)
        if number == 3:
            for each in model.parameters():
                each.grad.zero_()
        loss_of(model, number).backward()
        optimizer.step()

    found = monitored(directory, steps=4, step=step)
    assert [event["c"] for _, event in found.events(FORWARD) if event["subject"] == ""] == [0, 4, 0, 0]
    assert [(event["flags"], event["c"]) for _, event in found.events(ZERO_GRAD)] == [(0, 3)]


def test_clipping_scheduling_and_scaling_are_seen(directory):
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)

    def make(model):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        model.scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        return optimizer

    def step(model, optimizer, number, _):
        optimizer.zero_grad()
        loss = loss_of(model, number)
        scaler.scale(loss * float("inf") if number == 1 else loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_value_(model.parameters(), 0.25)
        scaler.step(optimizer)
        scaler.update()
        model.scheduler.step()

    found = monitored(directory, steps=3, make=make, step=step)
    assert [found.steps[n]["left_out"] for n in range(3)] == [False, True, False]
    assert [(n, event["a"]) for n, event in found.events(LEFT_OUT)] == [(1, 8.0)]
    assert [event["b"] for _, event in found.events(CLIP_VALUE)] == [0.25] * 3
    assert [(n, event["a"]) for n, event in found.events(SCALE)] == [(0, 8.0), (1, 8.0), (2, 4.0)]
    assert found.events(BACKWARD)[0][1]["b"] == 8.0
    assert [n for n, _ in found.events(SCHEDULER)] == [1, 2, 3]
    assert [(n, event["a"]) for n, event in found.events(RATE)] == [(1, 0.25), (2, 0.125)]


def test_names_that_were_imported_before_are_seen(directory):
    clip = nn.utils.clip_grad_norm_

    def step(model, optimizer, number, _):
        optimizer.zero_grad()
        loss_of(model, number).backward()
        clip(model.parameters(), 0.5)
        optimizer.step()

    found = monitored(directory, step=step)
    assert len(found.events(CLIP)) == 3 and found.events(CLIP)[0][1]["b"] == 0.5


def test_a_batch_has_fingerprints_and_shifts(directory):
    def step(model, optimizer, number, _):
        train_step(model, optimizer, 0 if number < 2 else 1)

    found = monitored(directory, step=step)
    first, second, third = [each["inputs"] for each in found.batches]
    assert first == second and first[0]["fingerprint"] != third[0]["fingerprint"]
    assert [each["name"] for each in first] == ["0", "cross_entropy.target"] and first[1]["shifts"] == [["0", 1]]


def test_the_state_that_is_read_is_the_models_or_not(directory):
    class Other(Tied):
        wrong = False

        def state_dict(self, *arguments, **options):
            found = super().state_dict(*arguments, **options)
            return {key: value * 2 for key, value in found.items()} if self.wrong else found

    def step(model, optimizer, number, _):
        train_step(model, optimizer, number)
        model.wrong = number == 1
        copy.deepcopy(model).state_dict()
        model.state_dict()

    found = monitored(directory, step=step, model=Other(), every=50)
    equal = []
    for number, event in found.events(READ):
        held = found.facts(number, BEGIN, "parameter")
        equal.append(sum(each[2] for each in held.values()) % 2 ** 64 == event["c"] % 2 ** 64)
    assert equal == [True, False, True]


@pytest.mark.parametrize("chosen", [
    lambda found: {key: value for key, value in found.items() if not key.endswith("bias")},
    lambda found: {key: value.bfloat16() for key, value in found.items()},
], ids=["fewer", "another type"])
def test_a_state_that_lacks_parameters_or_has_another_type_on_purpose_is_not_compared(directory, chosen):
    class Chosen(Tied):
        def state_dict(self, *arguments, **options):
            return chosen(super().state_dict(*arguments, **options))

    def step(model, optimizer, number, _):
        train_step(model, optimizer, number)
        model.state_dict()

    assert not monitored(directory, step=step, model=Chosen()).events(READ)


def test_a_layer_that_is_replaced_is_in_a_new_table(directory):
    def step(model, optimizer, number, _):
        if number == 1:
            model.layer = nn.Linear(8, 8)
        if number == 2:
            model.words.weight.requires_grad_(False)
        train_step(model, optimizer, number)

    found = monitored(directory, steps=4, step=step, every=50)
    assert [(n, event["subject"]) for n, event in found.events(CHANGED)] == [(1, "layer.weight"), (1, "layer.bias")]
    assert [[(each["trainable"], each["optimizers"]) for each in table] for table in found.tables] == [
        [(True, [0])] * 4, [(True, [0]), (True, []), (True, []), (True, [0])],
        [(False, [0]), (True, []), (True, []), (False, [0])]]


def test_optimizers_that_take_turns_make_steps(directory):
    def make(model):
        return [torch.optim.SGD(model.words.parameters(), lr=0.1), torch.optim.Adam(model.layer.parameters(), lr=0.1)]

    def step(model, optimizers, number, _):
        loss_of(model, number).backward()
        optimizers[0].step()
        if number % 3 == 2:
            optimizers[1].step()
            model.zero_grad()

    found = monitored(directory, steps=6, make=make, step=step)
    stepped = [[event["subject"] for _, event in found.events(STEP, n)] for n in sorted(found.steps)]
    assert sum(stepped, []) == ["SGD", "SGD", "SGD", "Adam"] * 2 and all(len(set(each)) == len(each) for each in stepped)


class Lookahead:
    """Every second step parameters go half-way back to where they were."""

    def __init__(self, optimizer):
        self.optimizer, self.param_groups, self.count = optimizer, optimizer.param_groups, 0
        self.slow = [each.detach().clone() for each in optimizer.param_groups[0]["params"]]

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self):
        self.optimizer.step()
        self.count += 1
        if self.count % 2 == 0:
            with torch.no_grad():
                for slow, fast in zip(self.slow, self.param_groups[0]["params"]):
                    fast.copy_(slow.lerp_(fast, 0.5))


def test_what_wraps_an_optimizer_is_opened(directory):
    made = []

    def make(model):
        made.append(Lookahead(torch.optim.SGD(model.parameters(), lr=0.1)))
        return made[0]

    found = monitored(directory, steps=5, make=make)
    (optimizer,) = found.header["optimizers"]
    assert optimizer["class"] == "torch.optim.sgd.SGD" and [each.rpartition(".")[2] for each in optimizer["wrapped"]] == ["Lookahead"]
    assert [number for number, _ in found.events(AVERAGED)] == [2, 4] and "step" not in vars(made[0])


def test_nothing_is_left_behind(directory):
    def attributes():
        return {(holder.__name__, name): getattr(holder, name) for holder, names in (
            (F, ["cross_entropy", "mse_loss"]), (torch.autograd, ["backward"]), (nn.utils, ["clip_grad_norm_", "clip_grad_value_"]),
            (nn.utils.clip_grad, ["_clip_grads_with_norm_", "_get_total_norm"]), (torch.optim.Optimizer, ["zero_grad"]),
            (nn.Module, ["zero_grad", "state_dict", "load_state_dict"]), (torch.amp.GradScaler, ["scale", "step"]),
            (torch.optim.lr_scheduler.LRScheduler, ["step"]), (torch.distributed, ["all_reduce", "broadcast"])) for name in names}

    before, model = attributes(), Tied()
    monitored(directory, model=model)
    assert attributes() == before
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert not any(each._backward_hooks for each in model.parameters()) and "step" not in vars(torch.optim.AdamW(model.parameters()))


def test_a_second_monitor_is_refused(directory):
    model = Tied()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with monitor(model, optimizer, directory, on_alarm=None) as running:
        with pytest.raises(RecordingError, match="close that monitor first"):
            monitor(model, optimizer, directory + "2", on_alarm=None)
    running.close()
    with pytest.raises(RecordingError, match="is the journal of another run: name another directory"):
        monitor(model, optimizer, directory, on_alarm=None)
    with monitor(model, optimizer, directory + "3", on_alarm=None):
        pass


@pytest.mark.parametrize("every", [0, -1])
def test_every_is_at_least_one(every, directory):
    model = Tied()
    with pytest.raises(RecordingError, match="at least 1"):
        monitor(model, torch.optim.SGD(model.parameters()), directory, every=every, on_alarm=None)
    assert not os.path.exists(directory)


def test_an_exception_ends_the_journal(directory):
    model = Tied()
    with pytest.raises(ZeroDivisionError):
        with monitor(model, torch.optim.SGD(model.parameters()), directory, on_alarm=None):
            raise ZeroDivisionError
    assert journal(directory).closing == {"reason": "exception", "exception": "ZeroDivisionError", "steps": 0}


def test_a_model_that_is_monitored_can_be_saved_and_copied(directory):
    def step(model, optimizer, number, _):
        buffer = io.BytesIO()
        torch.save(model, buffer)
        buffer.seek(0)
        for other in (copy.deepcopy(model), torch.load(buffer, weights_only=False)):
            loss_of(other, number).backward()
        train_step(model, optimizer, number)

    found = monitored(directory, step=step)
    assert [event["subject"] for _, event in found.events(FORWARD)].count("") == 3


def test_a_journal_is_readable_up_to_the_last_step(directory):
    def step(model, optimizer, number, _):
        train_step(model, optimizer, number)
        now = journal(directory)
        assert sorted(now.steps) == list(range(number + 1)) and not now.cut_off and now.closing is None

    monitored(directory, step=step)
