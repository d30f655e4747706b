"""Pieces of plans in JSON, for the scripts that write the examples and the soundness cases."""
import json


def op(name, inputs, out, **attrs):
    entry = {"op": name, "in": inputs, "out": out}
    if attrs:
        entry["attrs"] = attrs
    return entry


def over(name, axis, inputs, out, **rest):
    """A collective over a mesh axis."""
    return {"op": name, "over": axis, "in": inputs, "out": out, **rest}


def layout(value, indent=0):
    """JSON with short objects on one line."""
    flat = json.dumps(value)
    if len(flat) + indent <= 110 or not isinstance(value, (dict, list)) or not value:
        return flat
    pad = " " * (indent + 2)
    if isinstance(value, dict):
        parts = [f"{pad}{json.dumps(k)}: {layout(v, indent + 2)}" for k, v in value.items()]
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    return "[\n" + ",\n".join(pad + layout(v, indent + 2) for v in value) + "\n" + " " * indent + "]"


def write(path, content):
    with open(path, "w", encoding="utf-8") as out:
        out.write(layout(content) + "\n")
