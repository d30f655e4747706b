"""As record_operators.py, the operators of everyday models: activations, losses, statistics, pooling, resampling, attention, optimizers.

    record_everyday_operators.py OUT.json.gz

Functions of pieces are tried at the points where these meet, too."""
import torch

import record_operators
from record_operators import NUMBERS, aten, number, positive, real, shape, strided, whole

Flash = aten._scaled_dot_product_flash_attention_for_cpu


def stepped(*extents):
    """Numbers in halves: many lie where the pieces of a function meet."""
    return torch.round(real(*extents) * 4) / 2


def share(*extents):
    """Numbers between 0 and 1."""
    return torch.sigmoid(real(*extents))


def activation_cases():
    unary = {"hardswish": stepped, "hardsigmoid": stepped, "mish": real, "exp2": real, "log2": positive, "log10": positive, "tan": share,
             "sinh": real, "cosh": real, "asinh": real, "acosh": lambda *x: positive(*x) + 1, "atanh": share, "erfc": real, "floor": stepped,
             "ceil": stepped, "trunc": stepped, "frac": real, "round": real, "asin": share, "acos": share, "atan": real, "lgamma": positive,
             "sinc": real, "logit": share}
    for name, make in unary.items():
        yield name, lambda make=make: [strided(make(*shape()))], getattr(aten, name)
    for name in ("hardswish_backward", "hardsigmoid_backward", "mish_backward"):
        yield name, lambda: [strided(real(3, 4)), strided(stepped(3, 4))], getattr(aten, name)
    yield "hardtanh", lambda: [strided(stepped(*shape()))], lambda x: (aten.hardtanh(x), aten.hardtanh(x, -0.5, 1.5))
    yield "hardtanh_backward", lambda: [real(3, 4), stepped(3, 4)], lambda g, x: aten.hardtanh_backward(g, x, -0.5, 1.5)
    yield "elu", lambda: [strided(stepped(*shape()))], lambda x: (aten.elu(x), aten.elu(x, 0.7, 1.25, 0.5), aten.celu(x, 0.5), aten.celu(x))

    def elu_backward(g, x):
        options = 0.7, 1.25, 0.5
        return aten.elu_backward(g, *options, False, x), aten.elu_backward(g, *options, True, aten.elu(x, *options))
    yield "elu_backward", lambda: [real(3, 4), stepped(3, 4)], elu_backward
    yield "glu", lambda: [strided(real(4, 6))], lambda x: (aten.glu(x), aten.glu(x, 0), aten.glu(x, -2))
    yield "glu_backward", lambda: [real(4, 3), strided(real(4, 6))], lambda g, x: aten.glu_backward(g, x, -1)
    yield "_prelu_kernel", lambda: [strided(stepped(2, 3, 2)), real(1, 3, 1)], aten._prelu_kernel
    yield "_prelu_kernel_backward", lambda: [real(2, 3, 2), stepped(2, 3, 2), real(1, 3, 1)], aten._prelu_kernel_backward
    yield "shrinks", lambda: [strided(stepped(*shape()))], lambda x: (aten.softshrink(x), aten.hardshrink(x, 1.0))
    yield ("shrinks, backward", lambda: [real(3, 4), stepped(3, 4)],
           lambda g, x: (aten.softshrink_backward(g, x, 0.5), aten.hardshrink_backward(g, x, 1.0)))
    yield "threshold", lambda: [strided(stepped(*shape()))], lambda x: aten.threshold(x, 0.5, 2.0)
    yield "logit eps", lambda: [strided(share(*shape()))], lambda x: aten.logit(x, 0.3)
    yield "logit_backward", lambda: [real(3, 4), share(3, 4)], lambda g, x: (aten.logit_backward(g, x), aten.logit_backward(g, x, 0.3))
    for name in ("logaddexp", "logaddexp2", "atan2"):
        yield name, lambda: [strided(real(3, 4)), strided(real(3, number(0, 1) * 3 + 1))], getattr(aten, name)
    yield ("xlogy", lambda: [strided(torch.relu(stepped(3, 4))), positive(3, 4)],
           lambda x, y: (aten.xlogy(x, y), aten.xlogy(x, 2.5), aten.xlogy(0.5, y)))
    yield "pow of numbers", lambda: [positive(3, 4), real(3, 4)], lambda x, y: (aten.pow(x, y), aten.pow(2.5, y), aten.pow(x, y[0]))
    yield "round decimals", lambda: [real(3, 4)], lambda x: aten.round(x, decimals=1)
    yield ("rounded quotients", lambda: [strided(real(3, 4) * 4), positive(3, 4)],
           lambda x, y: (aten.div(x, y, rounding_mode="floor"), aten.div(x, y, rounding_mode="trunc"), aten.fmod(x, y), aten.remainder(x, y),
                         aten.fmod(x, -1.5), aten.remainder(x, -1.5), aten.floor_divide(x, 1.5)))
    yield ("rounded quotients of integers", lambda: [whole(20, 3, 4) - 10],
           lambda x: (aten.div(x, 3, rounding_mode="floor"), aten.floor(x), aten.trunc(x)))


def loss_cases():
    def reduced(name, *options):
        def both(x, y):
            return [getattr(aten, name)(x, y, reduction, *options) for reduction in (0, 1, 2)]

        def backward(x, y, g):
            back = getattr(aten, name + "_backward")
            return [back(g, x, y, 0, *options), back(g[0, 0], x, y, 1, *options), back(g[0, 0], x, y, 2, *options)]
        return both, backward
    for name, *options in (("smooth_l1_loss", 0.5), ("huber_loss", 0.5), ("soft_margin_loss",)):
        forward, backward = reduced(name, *options)
        yield name, lambda: [strided(stepped(3, 4)), stepped(3, 4)], forward
        yield name + "_backward", lambda: [stepped(3, 4), stepped(3, 4), real(3, 4)], backward

    def entropies(x, y, w, p):
        return [loss for reduction in (0, 1, 2) for loss in (
            aten.binary_cross_entropy(x, y, None, reduction), aten.binary_cross_entropy(x, y, w, reduction),
            aten.binary_cross_entropy_with_logits(x, y, None, None, reduction), aten.binary_cross_entropy_with_logits(x, y, w, p, reduction))]

    def entropies_backward(x, y, w, g):
        return [aten.binary_cross_entropy_backward(g, x, y, None, 0), aten.binary_cross_entropy_backward(g[0, 0], x, y, w, 1),
                aten.binary_cross_entropy_backward(g[0, 0], x, y, w, 2)]
    yield "binary_cross_entropy", lambda: [share(3, 4), share(3, 4), positive(4), positive(4)], entropies
    yield "binary_cross_entropy_backward", lambda: [share(3, 4), share(3, 4), positive(4), real(3, 4)], entropies_backward

    def likelihoods(name, rank):
        space = [2, 3] if rank == 4 else []

        def both(x, target, w, g):
            forward, backward = getattr(aten, name + "_forward"), getattr(aten, name + "_backward")
            out = []
            for weight in (None, w):
                for reduction in (0, 1, 2):
                    y, total = forward(x, target, weight, reduction, 1)
                    out += [y, *([total] if reduction else []),
                            backward(g if reduction == 0 else g.flatten()[0], x, target, weight, reduction, 1, total)]
            return out
        return lambda: [real(3, 4, *space), whole(4, 3, *space) * 3 % 4, positive(4), real(3, *space)], both
    yield ("nll_loss", *likelihoods("nll_loss", 2))
    yield ("nll_loss2d", *likelihoods("nll_loss2d", 4))

    def of_one_row(x, target):
        y, total = aten.nll_loss_forward(x, target, None, 1, -100)
        return y, aten.nll_loss_backward(torch.cos(y), x, target, None, 1, -100, total)
    yield "nll_loss of one row", lambda: [real(4), whole(4, 1)[0]], of_one_row


def statistics_cases():
    def variances(x):
        correction = number(0, 1)
        return (*aten.var_mean(x, [1], correction=correction), *aten.std_mean(x, [0, 2], correction=0.5, keepdim=True), aten.var(x), aten.std(x),
                aten.var(x, [0, 1], False), aten.std(x, [-1], correction=correction), aten.var(x, None, correction=2))
    yield "variances", lambda: [strided(real(3, 2, 4))], variances

    def norms(x):
        dim = number(-1, 1)
        orders = (0, 1, 2, 3, 1.5, float("inf"), float("-inf"))
        return [aten.linalg_vector_norm(x, order, [dim]) for order in orders] + [aten.linalg_vector_norm(x, order) for order in orders] + [
            aten.norm(x, 1), aten.norm(x, 3, [dim], True), aten.norm(x, float("inf"), [0, 1]), aten.norm(x, None, [dim])]
    yield "norms", lambda: [strided(real(3, 4))], norms
    yield ("norms of each", lambda: [strided(real(3, 4)), real(2)],
           lambda x, y: [norm for order in (1, 2, float("inf")) for norm in aten._foreach_norm([x, y], order)])
    yield ("prod", lambda: [strided(real(2, 3, 2))],
           lambda x: (aten.prod(x, 1), aten.prod(x, -1, True), aten.prod(x), aten.cumprod(x, 1), aten.cumprod(x, -1)))
    yield "logcumsumexp", lambda: [strided(real(3, 4))], lambda x: (aten.logcumsumexp(x, 0), aten.logcumsumexp(x, -1))
    yield ("made", lambda: [real(3)],
           lambda x: (aten.linspace(-1, 2.5, 5, dtype=torch.float64), aten.linspace(1, 2, 1, dtype=torch.float64),
                      aten.eye(3, dtype=torch.float64), aten.eye(2, 4, dtype=torch.float64)))
    yield ("diagonal_backward", lambda: [strided(real(2, 3))],
           lambda g: (aten.diagonal_backward(g, [2, 3, 4], 0, 1, 2), aten.diagonal_backward(g, [4, 2, 4], 1, 0, -1),
                      aten.diagonal_backward(g, [5, 2, 3], -2, 0, 2)))
    yield "pixels", lambda: [strided(real(2, 8, 2, 4))], lambda x: (aten.pixel_shuffle(x, 2), aten.pixel_unshuffle(x, 2))
    yield "constant_pad_nd, cut", lambda: [strided(real(3, 5))], lambda x: (aten.constant_pad_nd(x, [-1, -2]), aten.constant_pad_nd(x, [0, -1, -1, 0]))

    def layer_norm(x, w, b, g):
        y, mean, rstd = aten.native_layer_norm(x, [2, 3], w, b, 1e-3)
        return y, mean, rstd, *aten.native_layer_norm_backward(g, x, [2, 3], mean, rstd, w, b, [True, True, True])
    yield "layer norm of two dimensions", lambda: [real(4, 2, 3), real(2, 3), real(2, 3), real(4, 2, 3)], layer_norm
    yield ("embedding", lambda: [strided(real(4, 3)), whole(4, 2, 3)], lambda w, index: aten.embedding(w, index, 1, True))
    yield ("embedding_dense_backward by frequency", lambda: [real(2, 3, 2), whole(4, 2, 3)],
           lambda g, index: aten.embedding_dense_backward(g, index, 5, number(-1, 3), True))


def batch_norm_cases():
    def forward(x, w, b, mean, var):
        # The running statistics are results, since the operator changes them.
        return *aten.native_batch_norm(x, w, b, mean, var, True, 0.25, 1e-3), mean, var, *aten.native_batch_norm(x, None, b, None, None, True, 0.1, 1e-3)

    def backward(x, w, g):
        _, mean, invstd = aten.native_batch_norm(x, w, None, None, None, True, 0.1, 1e-3)
        return aten.native_batch_norm_backward(g, x, w, None, None, mean, invstd, True, 1e-3, [True, True, True])
    for space in ([], [3], [2, 2]):
        yield (f"native_batch_norm in training, {len(space)} dimensions",
               lambda space=space: [real(4, 3, *space), real(3), real(3), real(3), positive(3)], forward)
        yield (f"native_batch_norm_backward in training, {len(space)} dimensions",
               lambda space=space: [real(4, 3, *space), real(3), real(4, 3, *space)], backward)


def convolution_cases():
    def transposed(space):
        chosen = {}

        def make():
            groups = number(1, 2)
            stride, padding, dilation = ([number(least, 2) for _ in range(space)] for least in (1, 0, 1))
            extra = [number(0, max(stride[d], dilation[d]) - 1) for d in range(space)]
            chosen["rest"] = stride, padding, dilation, True, extra, groups
            return [strided(real(2, 2 * groups, *[number(3, 4) for _ in range(space)])), strided(real(2 * groups, 2, *[3] * space)), real(2 * groups)]

        def both(x, w, b):
            y = aten.convolution(x, w, b, *chosen["rest"])
            return y, *aten.convolution_backward(torch.cos(y), x, w, [b.size(0)], *chosen["rest"], [True, True, True])
        return make, both
    for space in (1, 2, 3):
        yield (f"transposed convolution {space}d", *transposed(space))


def pooling_cases():
    def windows(space):
        size = [number(2, 3) for _ in range(space)]
        return size, [number(1, 2) for _ in range(space)], [number(0, 1) for _ in range(space)]

    def largest(space):
        def both(x):
            size, stride, padding = windows(space)
            options = size, stride, padding, [number(1, 2) if space == 2 else 1 for _ in range(space)], bool(number(0, 1))
            y, places = getattr(aten, f"max_pool{space}d_with_indices")(x, *options)
            return y, places, getattr(aten, f"max_pool{space}d_with_indices_backward")(torch.cos(y), x, *options, places)
        return both

    def means(space):
        def both(x):
            size, stride, padding = windows(space)
            options = size, stride, padding, bool(number(0, 1)), bool(number(0, 1)), NUMBERS.choice([None, 3])
            y = getattr(aten, f"avg_pool{space}d")(x, *options)
            return y, getattr(aten, f"avg_pool{space}d_backward")(torch.cos(y), x, *options)
        return both

    def adaptive(space):
        def both(x):
            size = [number(1, 4) for _ in range(space)]
            y = getattr(aten, f"_adaptive_avg_pool{space}d")(x, size)
            z, places = getattr(aten, f"adaptive_max_pool{space}d")(x, size)
            return (y, getattr(aten, f"_adaptive_avg_pool{space}d_backward")(torch.cos(y), x), z, places,
                    getattr(aten, f"adaptive_max_pool{space}d_backward")(torch.sin(z), x, places))
        return both
    for space in (2, 3):
        def picture(space=space):
            return [strided(real(2, 2, *[number(5, 6) for _ in range(space)]))]
        yield f"max_pool{space}d", picture, largest(space)
        yield f"avg_pool{space}d", picture, means(space)
        yield f"adaptive pooling {space}d", picture, adaptive(space)


def resampling_cases():
    def resampled(name, space, *corners):
        def both(x):
            extents = list(x.shape[2:])
            factors = [NUMBERS.choice([2.0, 3.0, 1.5, 0.5, 1.3, None]) for _ in extents]
            size = [int(e * f) if f else number(2, 8) for e, f in zip(extents, factors)]
            if name.startswith("upsample_nearest"):  # kernels differ in what they make of another factor
                factors = [s / e if s in (e, 2 * e) else f for e, s, f in zip(extents, size, factors)]
            y = getattr(aten, name)(x, size, *corners, *factors)
            return y, getattr(aten, name + "_backward")(torch.cos(y), size, list(x.shape), *corners, *factors)
        return both
    for space in (1, 2, 3):
        def picture(space=space):
            return [real(2, 2, *[number(2, 5) for _ in range(space)])]
        for name in (f"upsample_nearest{space}d", f"_upsample_nearest_exact{space}d"):
            yield name, picture, resampled(name, space)
        linear = ("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")[space - 1]
        for corners in (False, True):
            yield f"{linear} {corners}", picture, resampled(linear, space, corners)
            if space == 2:
                yield f"upsample_bicubic2d {corners}", picture, resampled("upsample_bicubic2d", space, corners)

        def padded(x, space=space):
            out = []
            for name in (f"reflection_pad{space}d", f"replication_pad{space}d"):
                pad = [number(0, 1) for _ in range(2 * space)]
                y = getattr(aten, name)(x, pad)
                out += [y, getattr(aten, name + "_backward")(torch.cos(y), x, pad)]
            return out
        yield f"padding from within {space}d", picture, padded


def attention_cases():
    def both(heads, shared, masked):
        def run(q, k, v, mask):
            causal = not masked and bool(number(0, 1))
            options = {"attn_mask": mask if masked else None, "scale": NUMBERS.choice([None, 0.3])}
            y, lse = Flash(q, k, v, 0.0, causal, **options)
            grads = aten._scaled_dot_product_flash_attention_for_cpu_backward(torch.cos(y), q, k, v, y, lse, 0.0, causal, **options)
            return y, lse, *grads
        return lambda: [real(2, heads, 3, 4), real(2, shared, 3, 4), real(2, shared, 3, 4), real(3, 3)], run
    for heads, shared in ((2, 2), (4, 2), (3, 1)):
        for masked in (False, True):
            yield (f"attention of {heads} heads and {shared} {masked}", *both(heads, shared, masked))


def optimizer_cases():
    def operands(count):
        def make():
            return [*(real(2, 3) for _ in range(3)), positive(2, 3), positive(2, 3), positive(1)[0] * 10,
                    *(real(4) for _ in range(3)), positive(4), positive(4), torch.tensor(3.0, dtype=torch.float64),
                    torch.tensor(4.0), torch.tensor(float(number(0, 1)))][:count]
        return make

    def adam(name, **options):
        def run(*x):
            lists = [list(each) for each in zip(x[0:6], x[6:12])]
            step = dict(lr=0.1, beta1=0.9, beta2=0.95, weight_decay=0.1, eps=1e-3, amsgrad=False, maximize=False) | options
            lists = [[each.clone() for each in every] for every in lists]
            getattr(aten, name)(*lists[:4], lists[4] if step["amsgrad"] else [], lists[5], **step)
            return [each for every in lists[:5] for each in every]
        return run

    def scaled(name, **options):
        def run(*x):
            return adam(name, grad_scale=x[12], found_inf=x[13], **options)(*x)
        return run
    for name in ("_fused_adam_", "_fused_adamw_"):
        yield name, operands(12), adam(name)
        yield name + " amsgrad", operands(12), adam(name, amsgrad=True, maximize=True, beta1=0.0)
        yield name + " scaled", operands(14), scaled(name, weight_decay=0.0)

    def sgd(**options):
        def run(p, g, buffer, *rest):
            lists = [[each.clone()] for each in (p, g, buffer)]
            step = dict(weight_decay=0.1, momentum=0.9, lr=0.1, dampening=0.25, nesterov=False, maximize=False, is_first_step=False) | options
            aten._fused_sgd_(*lists[:2], lists[2] if step["momentum"] else [], **step)
            return [each for (each,) in lists]
        return run
    yield "_fused_sgd_", operands(3), sgd()
    yield "_fused_sgd_ nesterov", operands(3), sgd(nesterov=True, maximize=True, dampening=0.0)
    yield "_fused_sgd_ first", operands(3), sgd(is_first_step=True)
    yield "_fused_sgd_ plain", operands(3), sgd(momentum=0.0, dampening=0.0)

    def unscaled(x, y, found, inverse):
        grads = [x.clone(), y.clone()]
        found = found.clone()
        aten._amp_foreach_non_finite_check_and_unscale_(grads, found, inverse)
        return *grads, found
    yield "unscale", lambda: [real(2, 3).float(), real(4).float(), torch.tensor(float(number(0, 1))), torch.tensor(0.25)], unscaled

    def updated(scale, tracker, found):
        scale, tracker = scale.clone(), tracker.clone()
        aten._amp_update_scale_(scale, tracker, found, 2.0, 0.5, 3)
        return scale, tracker
    yield ("_amp_update_scale_", lambda: [torch.tensor(8.0), torch.tensor(number(0, 3), dtype=torch.int32), torch.tensor(float(number(0, 1)))],
           updated)
    yield ("foreach", lambda: [strided(positive(2, 3)), positive(4)],
           lambda x, y: [each for name in ("abs", "exp", "log", "rsqrt", "tanh", "sigmoid", "sin", "cos", "erf", "sign", "expm1", "log1p")
                         for each in getattr(aten, "_foreach_" + name)([x, y])])
    yield ("foreach limits", lambda: [strided(real(2, 3)), real(4), real(2, 3), real(4)],
           lambda x, y, a, b: [each for name in ("clamp_min", "clamp_max", "maximum", "minimum")
                               for limit in (0.25, [0.5, -0.5], [a, b]) for each in getattr(aten, "_foreach_" + name)([x, y], limit)])


def cases():
    for each in (activation_cases, loss_cases, statistics_cases, batch_norm_cases, convolution_cases, pooling_cases, resampling_cases,
                 attention_cases, optimizer_cases):
        yield from each()


if __name__ == "__main__":
    record_operators.cases = cases
    record_operators.CASES = 20
    record_operators.main()
