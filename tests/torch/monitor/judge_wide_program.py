"""Asserts what was proved of fsdp2_tp_clip, 16 wide, on runs that are 256 wide and have four layers: healthy ones, and with faults.

    judge_wide_program.py --binary PLANPROOF [--seed N] [--only PATTERN ...]

The table has, by element type and fault, the rule, step and place of the first alarm, and what the monitors say that they cannot
see."""
import argparse
import contextlib
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from judge_program_faults import export_of  # noqa: E402
from program_runs import ProgramRun, execute  # noqa: E402

import models  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import transformer  # noqa: E402
from planproof.torch import Training  # noqa: E402
from torch import nn  # noqa: E402

PROGRAM = "fsdp2_tp_clip"
TRACE = os.path.join(os.path.dirname(HERE), "traces", PROGRAM)
VOCABULARY, WIDTH, LAYERS = 32, 256, 4
STEPS, FAULT_AT, BOUND = 20, 6, 0.5
DRIFT = {"float32": 1e-5, "bfloat16": 1e-2}  # one step of bfloat16 is 0.4 %


def own(tensor):
    return getattr(tensor, "_local_tensor", tensor)


def unequal_gradients(model):
    """Gradients of norms are not reduced over tp: each rank keeps a share of its own (TT12)."""
    share = 0.4 if dist.get_rank() % 2 == 0 else 0.6
    for name, parameter in model.named_parameters():
        if "norm" in name:
            own(parameter.grad).mul_(share)
    nn.utils.clip_grad_norm_(model.parameters(), BOUND)


def clip_on_one_rank(model):
    """Rank 0 alone clips, by what it holds (DS-1801)."""
    if dist.get_rank() != 0:
        return
    norm = nn.utils.get_total_norm([own(each.grad) for each in model.parameters()])
    for each in model.parameters():
        own(each.grad).mul_(min(1.0, BOUND / (float(norm) + 1e-6)))


def clip_by_own_norm(model):
    norm = nn.utils.get_total_norm([own(each.grad) for each in model.parameters()])
    nn.utils.clip_grads_with_norm_(model.parameters(), BOUND, norm)


def count_replicas_twice(model):
    square = sum(own(each.grad).float().pow(2).sum() for each in model.parameters())
    dist.all_reduce(square)
    nn.utils.clip_grads_with_norm_(model.parameters(), BOUND, square.sqrt())


FAULTS = {"healthy": None, "unequal gradients": unequal_gradients, "clipping on one rank": clip_on_one_rank,
          "own norm": clip_by_own_norm, "replicas counted twice": count_replicas_twice, "drift": None}


def training_with(fault, dtype):
    """`transformer.training`, whose iterations have the fault from step FAULT_AT on."""

    def training(model, data=None, **_):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        tokens, labels, inputs = data or transformer.batch_of(None, None)
        steps = [0]

        def step():
            now, steps[0] = steps[0], steps[0] + 1
            if fault == "drift" and now == FAULT_AT and dist.get_rank() == 3:
                with torch.no_grad():
                    own(model.norm.weight).mul_(1 + DRIFT[dtype])
            optimizer.zero_grad()
            transformer.loss_of(model(tokens), labels).backward()
            if FAULTS[fault] is not None and now >= FAULT_AT:
                FAULTS[fault](model)
            else:
                nn.utils.clip_grad_norm_(model.parameters(), BOUND)
            optimizer.step()
            return {}

        return Training(step, model, optimizer, inputs)

    return training


def judge(binary, monitors, fault, dtype, seed):
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(models.Transformer.__init__, "__defaults__", (VOCABULARY, WIDTH, WIDTH * 3 // 2, LAYERS)))
        stack.enter_context(mock.patch.object(transformer, "training", training_with(fault, dtype)))
        outcome = execute(ProgramRun(PROGRAM, seed=seed, steps=STEPS, dtype=dtype), os.path.join(scratch, "run"))
        if outcome.error:
            sys.exit(f"{fault}, {dtype}: {outcome.error}")
        report = os.path.join(scratch, "report.json")
        subprocess.run([binary, "monitor", "check", outcome.directory, "--monitors", monitors, "--json", report, "-q"],
                       capture_output=True, check=False)
        with open(report) as file:
            return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN", help="faults")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        monitors = os.path.join(scratch, "monitors")
        error = export_of(options.binary, TRACE, monitors)
        if error:
            sys.exit(error)
        print("| type | run | proved alarms: the first | step | place | blind |\n| --- | --- | --- | ---: | --- | --- |")
        for dtype in ("float32", "bfloat16"):
            for fault in FAULTS:
                if not any(fnmatch.fnmatch(fault, each) for each in options.only):
                    continue
                found = judge(options.binary, monitors, fault, dtype, options.seed)
                alarms = [each for each in found["alarms"] if each["tier"] in ("proved", "derived")]
                blind = sorted({each["rule"] for each in found.get("notices", []) if each.get("kind") == "blind"})
                first = min(alarms, key=lambda each: each["step"], default={"rule": "-", "subject": "", "step": "", "place": ""})
                seen = bool(alarms) and first["step"] == FAULT_AT and bool(first["place"])
                right = not found["alarms"] if fault == "healthy" else seen or bool(blind)
                wrong += not right
                print(f"| {dtype} | {fault} | {first['rule']} {first['subject']} | {first['step']} | {first['place']} | {', '.join(blind)} |"
                      + ("" if right else " wrong"), flush=True)
    print(f"{wrong} are not as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
