"""A hundred everyday programs: layers, losses, optimizers and configurations of frameworks, each distributed over two to four ranks.

judge_everyday.py records and judges them. They were written, and frozen, before the operators that they use were given a meaning."""
