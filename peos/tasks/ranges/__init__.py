"""Counts, sums, means and quantiles over ranges of ordered attributes."""
