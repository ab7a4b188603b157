"""Kills the bridge at every point where it touches the outside, and checks what is left. `python -m tests.crash`."""
