"""What a sampler knows: the completed trials of a study as arrays."""
