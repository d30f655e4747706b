"""Bodies of declared operators with kinks, in groups of equal values: derivatives at ties may differ within a group."""

# Forms of built-in operators.
DISGUISES = {
    "relu": ["max(x, 0)", "max(0, x)", "where(x > 0, x, 0)", "where(x >= 0, x, 0)", "(x + abs(x)) / 2"],
    "abs": ["abs(x)", "max(x, -x)", "max(-x, x)", "where(x > 0, x, -x)", "max(x, 0) + max(-x, 0)"],
    "maximum": ["max(x, y)", "max(y, x)", "where(x > y, x, y)", "where(x >= y, x, y)", "(x + y + abs(x - y)) / 2",
                "y + max(x - y, 0)"],
    "minimum": ["min(x, y)", "where(x < y, x, y)", "where(x <= y, x, y)", "-max(-x, -y)", "x - max(x - y, 0)"],
}
# Of one element {x}.
SINGLE = [
    ["abs({x})", "max({x}, -{x})"], ["max({x}, 0)", "max(max({x}, 0), 0)", "max({x}, 0, 0)", "-min(-{x}, 0)"],
    ["min({x}, 1)", "1 - max(1 - {x}, 0)"], ["max({x}, {x})", "{x}"], ["{x} ^ 2", "{x} * abs({x})"],
    ["where({x} > 0, {x}, 0)", "[{x} > 0] * {x}", "max({x}, 0)"],
    ["max({x}, 1 - {x}, 0)", "max(max({x}, 1 - {x}), 0)", "max({x}, max(1 - {x}, 0))"],
    ["max(min({x}, 1), -1)", "min(max({x}, -1), 1)"],
    ["where({x} >= 1, 2 * {x}, {x})", "{x} + max({x}, 1) * [{x} >= 1]"],
]
# Of a row {x} with the index j, of extent {n}; {y} is the element of the output's own place.
ROWS = [
    ["max(j: {x})", "max(j: max({x}, {x}))", "-min(j: -{x})"],
    ["max(j: max({x}, 0))", "max(max(j: {x}), 0)", "max(0, max(j: {x}))"],
    ["max(j: max({x}, -{x}))", "max(j: abs({x}))", "max(max(j: {x}), max(j: -{x}))"],
    ["min(j: min({x}, 1))", "min(1, min(j: {x}))"], ["sum(j: max({x}, 0))", "sum(j: (abs({x}) + {x}) / 2)"],
    ["max(j, l < 2: where(l == 0, {x}, -{x}))", "max(j: max(l < 2: where(l == 0, {x}, -{x})))", "max(j: abs({x}))"],
    ["max(j: {x} - {y})", "max(j: {x}) - {y}", "max(j: max({x} - {y}, 0))"],
    ["max(j: {x}) * {y}", "max(j: {x}) * max({y}, {y})"],
    ["max(max(j: {x}), {y})", "max(j: max({x}, {y}))", "max({y}, max(j: {x}), {y})"],
]
