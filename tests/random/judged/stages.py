"""Cuts a plan of one program into two pipeline stages, with moves for what one needs of the other."""
import copy

from model import as_list


def names_read(operator):
    return [n for n in as_list(operator.get("in")) + list(operator.get("grad", {}).values()) if isinstance(n, str)]


def names_defined(operator):
    own = operator.get("out", [])
    return list(own.values()) if isinstance(own, dict) else as_list(own)


def split(content, random):
    """The plan on twice as many devices. Backward operators stay with their forward ones."""
    content = copy.deepcopy(content)
    plan = content["plan"]
    (program,) = plan["programs"]
    operators = program["operators"]
    forward = [k for k, o in enumerate(operators) if "backward" not in o]
    cut = random.choice(forward + [len(operators)])
    stage_of, where = {}, []  # of tensors; of operators
    for k, operator in enumerate(operators):
        if "backward" in operator:
            stage = stage_of[operator["backward"]]
            needed = [n for n in names_read_back(operators, operator) if n not in stage_of]
            assert all(n in program["inputs"] for n in needed), needed
        elif any(n.startswith("grad.") or n[0] in "gs" for n in names_read(operator)):
            stage = random.randrange(2)
        else:
            stage = int(k >= cut)
        where.append(stage)
        for name in names_defined(operator):
            stage_of[name] = stage
    return assembled(content, program, operators, where, stage_of, random)


def names_read_back(operators, operator):
    """What a backward operator reads: gradients, and the forward operator's operands or what stands in for them."""
    forward = next(o for o in operators if operator["backward"] in names_defined(o))
    return names_read(operator) if "in" in operator else names_read(operator) + names_read(forward)


def assembled(content, program, operators, where, stage_of, random):
    stages = [{"name": f"stage{k}", "devices": {"pp": k}, "inputs": {}, "operators": []} for k in range(2)]
    claims = program["outputs"]
    wanted = [set(), set()]  # what each stage reads of the other
    for stage, operator in zip(where, operators):
        for name in names_read(operator) if "backward" not in operator else names_read_back(operators, operator):
            if name in program["inputs"]:
                stages[stage]["inputs"][name] = program["inputs"][name]
            elif stage_of[name] != stage:
                wanted[stage].add(name)
    updates = {name: parameter for parameter, name in content["specification"].get("updates", {}).items()}
    for required, name in claims.items():
        parameter = required[5:] if required.startswith("grad.") else updates.get(required)
        for stage in range(2):
            if parameter in stages[stage]["inputs"] and stage_of.get(name) != stage:
                wanted[stage].add(name)
    for stage, operator in zip(where, operators):
        stages[stage]["operators"].append(operator)
        for name in names_defined(operator):
            if name in wanted[1 - stage]:
                stages[1 - stage]["operators"].append({"op": "move", "in": f"stage{stage}:{name}", "out": name})
    for k, own in enumerate(stages):
        known = {n for o in own["operators"] for n in names_defined(o)} | set(own["inputs"])
        own["outputs"] = {required: name for required, name in claims.items() if name in known}
        own["lineage"] = {name: claim for name, claim in program.get("lineage", {}).items() if stage_of.get(name) == k}
    for name, relation in program["inputs"].items():  # every slice is held somewhere
        if not any(name in own["inputs"] for own in stages):
            random.choice(stages)["inputs"][name] = relation
    content["plan"]["mesh"] = {"pp": 2, **content["plan"]["mesh"]}
    content["plan"]["programs"] = stages
    return content
