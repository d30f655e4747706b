"""Whether two programs' results are equal, as torch computes them."""
import torch


def compare(left, right):
    """True or False: equal or not; None where the reference has no real number, or results cannot be compared."""
    if len(left) != len(right):
        return False
    verdicts = []
    for a, b in zip(left, right):
        if a.shape != b.shape or a.is_complex() != b.is_complex():
            verdicts.append(False)
            continue
        narrow = any(each.dtype in (torch.float32, torch.float16, torch.bfloat16, torch.complex64) for each in (a, b))
        a, b = (torch.view_as_real(each.resolve_conj()) if each.is_complex() else each for each in (a, b))
        a, b = a.double(), b.double()
        if not torch.isfinite(a).all():
            return None
        verdicts.append(bool(torch.isfinite(b).all()) and torch.allclose(a, b, rtol=1e-5 if narrow else 1e-9, atol=1e-6 if narrow else 1e-9))
    return all(verdicts)
