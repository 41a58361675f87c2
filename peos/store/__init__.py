"""What a shuffler must not lose: one contract (`base`), kept in SQLite (`sqlite`) or, for tests, in `memory`."""
