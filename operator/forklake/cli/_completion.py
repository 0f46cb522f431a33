"""Completion scripts."""

from __future__ import annotations

from argparse import Namespace

from argcomplete.shell_integration import shellcode


def completion(options: Namespace) -> None:
    """Prints what the shell has to read: eval "$(forklake completion bash)"."""
    print(shellcode(["forklake"], shell=options.shell))
