"""Generators of what is kept in the repository and follows from the code."""
