"""Steps that search algorithms are made of: arrays in, arrays out."""
