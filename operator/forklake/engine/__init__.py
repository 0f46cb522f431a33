"""forklake's own reader and writer of catalogs: a DuckLake client in Python."""
