"""Gaussian processes: arrays in, arrays out. What several samplers learn from their trials."""
