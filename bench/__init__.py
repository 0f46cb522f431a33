"""forklake's speed beside its rivals'. Run as `python -m bench`; README.md says what each row means."""
