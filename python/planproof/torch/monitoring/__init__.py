"""What `planproof.torch.monitor` consists of: the journal's frames, numbers of tensors, and the hooks that see a run."""
