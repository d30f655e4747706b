"""As record_operators.py, the operators of networks for images and the logistic function's logarithm.

    record_image_operators.py OUT.json.gz"""
import torch

import record_operators
from record_operators import aten, number, positive, real, shape, strided


def logistic_cases():
    yield "log_sigmoid_forward", lambda: [strided(real(*shape()))], lambda x: aten.log_sigmoid_forward(x)

    def backward(g, x):
        return aten.log_sigmoid_backward(g, x, aten.log_sigmoid_forward(x)[1])
    yield "log_sigmoid_backward", lambda: [strided(real(3, 4)), real(3, 4)], backward
    # The kept numbers of another tensor.
    yield "log_sigmoid_backward of another", lambda: [real(3, 4), real(3, 4), positive(3, 4)], lambda g, x, kept: aten.log_sigmoid_backward(g, x, kept)
    yield "pad", lambda: [strided(real(2, 3))], lambda x: (aten.pad(x, [1, 2, 0, 1], "constant", 0.5), aten.pad(x, [0, 1]))
    yield "leaky_relu", lambda: [strided(real(*shape()))], lambda x: aten.leaky_relu(x, 0.25)
    yield "leaky_relu_backward", lambda: [strided(real(3, 4)), real(3, 4)], lambda g, x: aten.leaky_relu_backward(g, x, 0.25, bool(number(0, 1)))


def convolution(space):
    """Operand shapes and the arguments after them."""
    groups = number(1, 2)
    extents = [number(3, 5) for _ in range(space)]
    window = [number(1, 3) for _ in range(space)]
    stride, padding, dilation = ([number(least, 2) for _ in range(space)] for least in (1, 0, 1))
    for d in range(space):
        if (window[d] - 1) * dilation[d] + 1 > extents[d] + 2 * padding[d]:
            dilation[d] = 1
    x, w = [2, 2 * groups, *extents], [3 * groups, 2, *window]
    return x, w, (stride, padding, dilation, False, [0] * space, groups)


def convolution_cases():
    chosen = {}

    def operands(space):
        def make():
            x, w, chosen["rest"] = convolution(space)
            return [strided(real(*x)), strided(real(*w)), real(w[0])]
        return make

    def forward(x, w, b):
        return aten.convolution(x, w, b, *chosen["rest"]), aten.convolution(x, w, None, *chosen["rest"])

    def backward(x, w, b):
        g = torch.cos(aten.convolution(x, w, b, *chosen["rest"]))
        return aten.convolution_backward(g, x, w, [w.size(0)], *chosen["rest"], [True, True, True])

    def one_gradient(x, w, b):
        g = aten.convolution(x, w, b, *chosen["rest"])
        wanted = number(0, 2)
        return aten.convolution_backward(g, x, w, [w.size(0)], *chosen["rest"], [each == wanted for each in range(3)])[wanted]
    for space in (1, 2, 3):
        yield f"convolution {space}d", operands(space), forward
        yield f"convolution_backward {space}d", operands(space), backward
    yield "convolution_backward, one gradient", operands(2), one_gradient


def norm_cases():
    def batch_norm(x, w, b, mean, var):
        return aten.native_batch_norm(x, w, b, mean, var, False, 0.1, 1e-3)[0], aten.native_batch_norm(x, None, None, mean, var, False, 0.1, 1e-3)[0]

    def batch_norm_backward(x, w, g, mean, var):
        empty = x.new_empty(0)
        return aten.native_batch_norm_backward(g, x, w, mean, var, empty, empty, False, 1e-3, [True, True, True])
    yield "native_batch_norm", lambda: [strided(real(2, 3, 2, 2)), real(3), real(3), real(3), positive(3)], batch_norm
    yield "native_batch_norm_backward", lambda: [strided(real(2, 3, 2, 2)), real(3), strided(real(2, 3, 2, 2)), real(3), positive(3)], batch_norm_backward

    def group_norm(x, w, b):
        return (*aten.native_group_norm(x, w, b, 2, 4, 6, 2, 1e-3), *aten.native_group_norm(x, None, None, 2, 4, 6, 2, 1e-3))

    def group_norm_backward(g, x, w, mean, rstd):
        return aten.native_group_norm_backward(g, x, mean, rstd, w, 2, 4, 6, 2, [True, True, True])
    # The kernels ask for contiguous memory.
    yield "native_group_norm", lambda: [real(2, 4, 2, 3), real(4), real(4)], group_norm
    yield "native_group_norm_backward", lambda: [real(2, 4, 2, 3), real(2, 4, 2, 3), real(4), real(2, 2), positive(2, 2)], group_norm_backward


def pooling_cases():
    def pooled(x):
        return aten.max_pool2d_with_indices(x, [2, number(1, 2)], [number(1, 2), 2], [0, 0], [1, number(1, 2)])

    def padded(x):
        return aten.max_pool2d_with_indices(x, [3, 3], [2, 2], [1, 1])[0]

    def backward(x):
        options = [2, 2], [1, 2], [0, 0], [1, 1], False
        y, places = aten.max_pool2d_with_indices(x, *options)
        return aten.max_pool2d_with_indices_backward(torch.cos(y), x, *options, places)
    yield "max_pool2d_with_indices", lambda: [strided(real(2, 3, 5, 6))], pooled
    yield "max_pool2d_with_indices of a picture", lambda: [strided(real(3, 5, 6))], pooled
    yield "max_pool2d_with_indices, padded", lambda: [strided(real(2, 3, 5, 6))], padded
    yield "max_pool2d_with_indices_backward", lambda: [strided(real(2, 3, 5, 6))], backward


def cases():
    yield from logistic_cases()
    yield from convolution_cases()
    yield from norm_cases()
    yield from pooling_cases()


if __name__ == "__main__":
    record_operators.cases = cases
    record_operators.CASES = 6
    record_operators.main()
