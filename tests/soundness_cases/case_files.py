"""One row of the soundness cases: its file in cases/ and its entry in the manifest."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
from plan_json import op, over, write  # noqa: E402, F401

MANIFEST = []


def spec(operators, outputs, **rest):
    return {**rest, "operators": operators, "outputs": outputs}


def single(inputs, operators, outputs=None, mesh=None, **rest):
    program = {"inputs": inputs, "operators": operators}
    if outputs is not None:
        program["outputs"] = outputs
    program.update({k: rest.pop(k) for k in ("lineage", "exceptions") if k in rest})
    return {"mesh": mesh or {"rank": 1}, **rest, "programs": [program]}


def case(name, verdicts, specification, plan, catches, operators=None, premises=(), judge=True):
    """judge: whether evaluating both graphs at random inputs decides the row (see judge_test)."""
    verdicts = [verdicts] if isinstance(verdicts, str) else verdicts
    content = {"planproof": 1, "note": catches}
    if operators:
        content["operators"] = operators
    content["specification"] = specification
    content["plan"] = plan
    write(os.path.join("cases", name + ".json"), content)
    MANIFEST.append({"file": name + ".json", "row": name.split("_")[0], "verdict": verdicts,
                     "premises": list(premises), "catches": catches, "judge": judge})
